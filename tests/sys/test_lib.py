"""libhikyaku as others meet it: installed, linked, and talking to a server."""
import json
import os
import re
import shutil
import socket
import subprocess
import threading
import time

import test_tls
from hk import ROOT, SLOW, Skip, check, envelope, new_id, now, same, until

SETTINGS = {"TIME_SCALE": "1000"}
EXAMPLES = os.path.join(ROOT, "build", "release", "example")
LIBS = ("libhikyaku", "libhikyaku-sqlite", "libhikyaku-pq")


def run(*args, code=0, env=None, stdin=None, cwd=None):
    r = subprocess.run(args, env={**os.environ, **(env or {})}, input=stdin, text=True, cwd=cwd,
                       capture_output=True, timeout=120 * SLOW)
    check(r.returncode == code, f"{args[0]} ended with {r.returncode}, not {code}", r.stdout, r.stderr)
    return r.stdout


def installed(t):
    prefix = t.path("usr")
    run("make", "-C", ROOT, "V=release", f"PREFIX={prefix}", "install-lib")
    return prefix


def flags(prefix, *what):
    env = {"PKG_CONFIG_PATH": f"{prefix}/lib/pkgconfig"}
    return run("pkg-config", *what, env=env).split()


def test_installed(t):
    prefix = installed(t)
    # The headers, in C and C++, by themselves.
    for header in ("hikyaku.h", "hikyaku_sqlite.h", "hikyaku_pq.h"):
        text = f"#include <{header}>\nint main(void) {{ return hk_version() == 0; }}\n"
        for compiler, lang, std in (("cc", "c", "c99"), ("cc", "c", "c17"), ("clang", "c", "c99"),
                                    ("clang++", "c++", "c++11"), ("clang++", "c++", "c++17"),
                                    ("g++", "c++", "c++17")):
            if not shutil.which(compiler):
                continue
            run(compiler, "-x", lang, f"-std={std}", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                "-fsyntax-only", *flags(prefix, "--cflags", "hikyaku-pq"), "-", stdin=text)
    # By pkg-config, shared and static.
    example = os.path.join(ROOT, "lib", "example")
    for package, source in (("hikyaku", ["publish.c"]),
                            ("hikyaku-sqlite", ["consume.c", "counter_sqlite.c"]),
                            ("hikyaku-pq", ["consume.c", "counter_pq.c"])):
        files = [os.path.join(example, f) for f in source]
        out = t.path(package)
        run("cc", "-D_GNU_SOURCE", "-o", out, *files, *flags(prefix, "--cflags", "--libs", package))
        said = subprocess.run([out], env={"LD_LIBRARY_PATH": f"{prefix}/lib"}, capture_output=True,
                              text=True)
        check(said.returncode == 2 and said.stderr.startswith("usage:"), "it runs", said)
    run("cc", "-D_GNU_SOURCE", "-o", t.path("static"), os.path.join(example, "publish.c"),
        *flags(prefix, "--cflags", "hikyaku"), f"{prefix}/lib/libhikyaku.a",
        "-lcurl", "-lcrypto", "-pthread")
    same(subprocess.run([t.path("static")], capture_output=True).returncode, 2, "static")
    for page in ("share/man/man3/libhikyaku.3", "share/hikyaku/sqlite.sql", "share/hikyaku/postgres.sql"):
        check(os.path.getsize(os.path.join(prefix, page)) > 0, "installed", page)


def test_symbols(t):
    """Nothing is seen but hk_*, and the core needs no database."""
    prefix = installed(t)
    for lib in LIBS:
        shared = run("nm", "-D", "--defined-only", f"{prefix}/lib/{lib}.so.0")
        names = [re.sub("@.*", "", l.split()[-1]) for l in shared.split("\n") if l]
        odd = [n for n in names if not n.startswith("hk_") and n != "HIKYAKU_0"]
        same(odd, [], f"what {lib}.so.0 exports")
        static = run("nm", "-g", "--defined-only", f"{prefix}/lib/{lib}.a")
        odd = [l for l in static.split("\n") if len(l.split()) == 3 and not l.split()[2].startswith("hk_")]
        same(odd, [], f"what {lib}.a exports")
        needed = run("readelf", "-d", f"{prefix}/lib/{lib}.so.0")
        same("libsqlite3" in needed, lib == "libhikyaku-sqlite", f"{lib} and SQLite")
        same("libpq" in needed, lib == "libhikyaku-pq", f"{lib} and PostgreSQL")
        check(f"[{lib}.so.0]" in needed, "soname", needed)
    # Every function of the headers is there.
    want = set()
    for header in ("hikyaku.h", "hikyaku_sqlite.h", "hikyaku_pq.h"):
        with open(os.path.join(ROOT, "lib", header)) as f:
            want |= set(re.findall(r"HK_API[^;(]*?\b(hk_\w+)\(", f.read()))
    have = set()
    for lib in LIBS:
        have |= set(re.findall(r"\b(hk_\w+)", run("nm", "-D", "--defined-only", f"{prefix}/lib/{lib}.so.0")))
    same(have, want, "functions of the headers and of the libraries")


def publish(srv, events, key=None, code=0):
    text = "".join(e if isinstance(e, str) else json.dumps(e) + "\n" for e in events)
    return run(os.path.join(EXAMPLES, "publish"), srv.base, stdin=text, code=code,
               env={"HIKYAKU_KEY": key or srv.key()})


def test_publish(t):
    c = t.srv.client()
    kind = "Lib" + new_id()[:8]
    events = [envelope(type=kind, payload={"n": i}) for i in range(1200)]
    said = publish(t.srv, events)
    same(said, "1200 published, 0 of them known before, 0 failed\n", "said")
    same([e["payload"]["n"] for e in c.events(type=kind)], list(range(1200)), "all, in order")
    same(publish(t.srv, events[:300]), "300 published, 300 of them known before, 0 failed\n", "again")
    # An id is made where there is none; what is wrong is told by itself.
    bad = [envelope(type=kind, eventId=..., occurredAt=...), "{\n", envelope(type=kind, tenantId="a b"),
           envelope(type=kind)]
    same(publish(t.srv, bad, code=1), "2 published, 0 of them known before, 2 failed\n", "mixed")
    same(publish(t.srv, [envelope(type=kind)], key="hk_nobody", code=1),
         "0 published, 0 of them known before, 1 failed\n", "no such key")
    same(len(c.events(type=kind)), 1202, "in the log")


def test_tls_and_socket(t):
    """Over TLS it wants to know the certificate; over the socket it needs no key."""
    srv = test_tls.serve(t)
    base, said = srv.base.replace("127.0.0.1", "localhost"), "1 published, 0 of them known before, 0 failed\n"
    cmd = [os.path.join(EXAMPLES, "publish"), base]
    event = lambda: json.dumps(envelope())  # noqa: E731
    same(run(*cmd, stdin=event(), env={"HIKYAKU_KEY": srv.key(), "HIKYAKU_CA": srv.tls}), said, "TLS")
    run("timeout", "3", *cmd, stdin=event(), env={"HIKYAKU_KEY": srv.key()}, code=124)
    same(len(srv.client().events()), 1, "nobody else's certificate is trusted")
    same(run(cmd[0], "http://localhost", stdin=event(),
             env={"HIKYAKU_SOCKET": os.path.join(srv.data, "hikyaku.sock")}), said, "the socket")


def test_publish_while_it_is_away(t):
    """The server is killed in the middle; what was not answered is sent again."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    srv = t.server(args=("--listen", f"127.0.0.1:{port}"))
    key, kind, out = srv.key(), "Away", []
    events = [envelope(type=kind, payload={"n": i, "pad": "x" * 300}) for i in range(20000)]
    w = threading.Thread(target=lambda: out.append(publish(srv, events)))
    w.start()
    for _ in range(3):
        time.sleep(0.3)
        srv.kill9()
        time.sleep(0.2)
        srv.start()
    w.join(120 * SLOW)
    check(out, "it ended well")
    check(re.match(r"20000 published, \d+ of them known before, 0 failed", out[0]), "told", out[0])
    got = [e["payload"]["n"] for e in srv.client(key).events(type=kind)]
    same(len(got), 20000, "each once")
    same(sorted(got), list(range(20000)), "each")


def test_consume(t):
    if not shutil.which("sqlite3") and not os.path.exists(os.path.join(EXAMPLES, "consume-sqlite")):
        raise Skip("the example is not built")
    c = t.srv.client()
    name, db = "lib-" + new_id()[:8], t.path("consumer.db")
    key = f"Account:{envelope()['tenantId']}:r1"

    def consume():
        return run(os.path.join(EXAMPLES, "consume-sqlite"), db, t.srv.base, name, "1000",
                   env={"HIKYAKU_KEY": t.srv.key(), "CONSUMER": json.dumps({"types": [name], "order": "key"})})

    def event(version, **payload):
        e = envelope(type=name, key=key, payload=payload)
        e["sequence"]["recordVersion"] = version
        return e
    same(consume(), "0 events: 0 applied, 0 seen before, 0 stale, 0 failed, 0 dead\n", "nothing yet")
    c.publish([event("2026-01-10T12:00:02Z", n=2), event("2026-01-10T12:00:01Z", n=1),
               event("2026-01-10T13:00:03+01:00", n=3), event("2026-01-10T12:00:04Z", deleted=True),
               event("2026-01-10T12:00:03.999Z", n=4)]).want(200)
    same(consume(), "5 events: 3 applied, 0 seen before, 2 stale, 0 failed, 0 dead\n", "applied")
    lag = until(lambda: c.get(f"/v1/consumers/{name}").want(200).json["lag"]["events"] == 0, "no lag")
    check(lag and now(), "acknowledged")
    same(consume(), "0 events: 0 applied, 0 seen before, 0 stale, 0 failed, 0 dead\n", "and done")
