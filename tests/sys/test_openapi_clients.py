"""/openapi.json is valid, and a client that is generated from it works: TypeScript.

`./dev` installs what it takes to tests/npm/node_modules, in the versions of the lock.
"""
import json
import os
import shutil
import subprocess

import hk
import receiver
from hk import Skip, check, same
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
NPM = os.path.join(hk.ROOT, "tests", "npm")
MODULES = os.path.join(NPM, "node_modules")


def node(t, *argv, stdin=b""):
    if not shutil.which("node"):
        raise Skip("no node; ./dev setup installs it")
    if not os.path.isdir(os.path.join(MODULES, "openapi-typescript")):
        raise Skip("no tests/npm/node_modules; ./dev setup installs them")
    r = subprocess.run(["node", *argv], input=stdin, capture_output=True, cwd=t.folder,
                       timeout=120 * hk.SLOW)
    check(r.returncode == 0, f"node {argv[0]}", r.stdout.decode()[-1500:], r.stderr.decode()[-1500:])
    return r.stdout.decode()


def document(t):
    return t.srv.client().get("/openapi.json").want(200).body


def test_valid(t):
    told = json.loads(node(t, os.path.join(NPM, "openapi.mjs"), stdin=document(t)))
    check(told["valid"] and told["version"] == "3.1", "valid OpenAPI 3.1", told)


def test_page(t):
    """The page at /docs shows every operation, and opens all there is."""
    j = json.loads(document(t))
    told = json.loads(node(t, os.path.join(NPM, "docs.js"), stdin=document(t)))
    same(told["operations"], sum(len(ops) for ops in j["paths"].values()), "operations")
    check(told["opened"] > told["operations"] and told["odd"] is None, "all opens", told)
    check("Nothing" in told["none"], "what is not there is not found", told)


def test_typescript(t):
    """Types by openapi-typescript, a program over them by tsc, run by node."""
    if hk.STORE != "sqlite":
        raise Skip("what is generated is the same on every store")
    r = Receiver(t)
    for name in ("openapi.json", "package.json", "client.ts"):
        with open(t.path(name), "wb") as f:
            f.write({"openapi.json": document(t), "package.json": b'{"type":"module"}'}.get(name)
                    or open(os.path.join(NPM, name), "rb").read())
    os.symlink(MODULES, t.path("node_modules"))
    t.later(lambda: os.unlink(t.path("node_modules")))
    node(t, os.path.join(MODULES, "openapi-typescript", "bin", "cli.js"), "openapi.json", "-o", "api.d.ts")
    node(t, os.path.join(MODULES, "typescript", "bin", "tsc"), "--strict", "--target", "es2022",
         "--module", "nodenext", "--skipLibCheck", "--types", "node", "client.ts")
    did = json.loads(node(t, "client.js", t.srv.base, t.srv.key(), r.url("/ts")))
    same((did["published"], did["paged"], did["acked"]), (20, 20, 20), "published, paged, acked")
    same(did["pointer"], "/url", "an error's pointer")
    check(did["seqs"] == sorted(did["seqs"]), "in the order of the log", did)
    r.wait_for(20, "/ts")
