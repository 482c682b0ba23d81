"""Secrets at rest (seed 2.5.2): keys, what is sealed, rotation."""
import base64
import json
import os
import re
import sqlite3
import stat
import time

import hk
from hk import check, same, until

RAW = base64.b64encode(bytes(range(32))).decode()
NAME = "NEMAKI_WEBHOOK_ENCRYPTION_KEY"


def stored(srv):
    """kid and text of every sealed value, from the store itself."""
    sql = "SELECT webhook_secret FROM api_key WHERE webhook_secret IS NOT NULL ORDER BY id"
    if srv.url:
        found = hk.psql(srv.url, sql).split("\n")
    else:
        db = sqlite3.connect(srv.data + "/hikyaku.db", timeout=10)
        found = [r[0] for r in db.execute(sql)]
        db.close()
    return [json.loads(text) for text in found if text]


def active(srv):
    return json.loads(srv.cli("seal", "status", "--json").want(0).out)["active"]


def refused(srv, *says, **settings):
    """It does not start, and says why in its last line."""
    was, srv.settings = srv.settings, {**srv.settings, **settings}
    srv.spawn()
    code, srv.proc = srv.ended(), None
    srv.settings = was
    check(code == 1, "it does not start", code)
    text = srv.tail()
    for word in says:
        check(word in text, f"it says {word!r}", text)
    return text


def test_webhook_secret(t):
    """Shown once, 32 bytes, sealed in the seed's form; never listed."""
    srv = t.server()
    c = srv.admin()
    k = c.post("/v1/keys", {"name": "k", "scopes": ["submit"]}).want(201).json
    word = k["webhookSecret"]
    check(word.startswith("whsec_"), "its form", word)
    same(len(base64.b64decode(word[6:])), 32, "its bytes")
    for path in ("/v1/keys", "/v1/keys/" + k["id"], "/v1/audit"):
        a = c.get(path).want(200)
        check(word.encode() not in a.body and b"webhookSecret" not in a.body, f"not in {path}", a)
    got = stored(srv)[-1]
    same(sorted(got), ["ct", "iv", "kid", "tag", "v"], "the stored form")
    same((got["v"], len(base64.b64decode(got["iv"])), len(base64.b64decode(got["tag"]))),
         (1, 12, 16), "its parts")
    same(got["kid"], active(srv), "its key")


def test_key_file(t):
    srv = t.server()
    path = srv.data + "/seal.key"
    same(stat.S_IMODE(os.stat(path).st_mode), 0o600, "its mode")
    with open(path) as f:
        line = f.readline().strip()
    check(re.fullmatch(r"key-\d{4}-\d\d-[0-9a-f]{4}:[A-Za-z0-9+/]{43}=", line), "id:key")
    srv.restart()
    same(active(srv), line.split(":")[0], "the same after a restart")


def test_wrong_keys_stop_the_start(t):
    srv = t.server()
    srv.new_key("read")
    srv.stop()
    path = srv.data + "/seal.key"
    os.chmod(path, 0o640)
    refused(srv, "chmod 600")
    os.chmod(path, 0o600)
    os.rename(path, path + ".away")
    refused(srv, "seal.key is not there", "put back")
    check(not os.path.exists(path), "no other is made")
    with open(path, "w") as f:
        f.write("hunter2-short"[:9] + "\n")
    os.chmod(path, 0o600)
    text = refused(srv, "too short")
    check("hunter2-s" not in text, "the key is not shown")
    with open(path, "w") as f:
        f.write("other:" + RAW + "\n")
    text = refused(srv, "wrong key")
    check(RAW not in text, "the key is not shown")
    os.rename(path + ".away", path)
    refused(srv, NAME, "not set", WEBHOOK_ENCRYPTION_KEY_SOURCE="env")
    refused(srv, "wrong key", WEBHOOK_ENCRYPTION_KEY_SOURCE="env", **{NAME: RAW})
    refused(srv, "never stored in the clear", WEBHOOK_ENCRYPTION_ENABLED="false")
    refused(srv, "is not there", WEBHOOK_ENCRYPTION_KEY_FILE=t.path("none"))
    srv.start()


def test_own_file(t):
    """A file of the operator's, several keys, a passphrase among them."""
    path = t.path("keys")
    with open(path, "w") as f:
        f.write("# ours\nnew:" + RAW + "\nold:correct horse battery staple\n")
    os.chmod(path, 0o600)
    srv = t.server(WEBHOOK_ENCRYPTION_KEY_FILE=path)
    srv.new_key("read")
    same(stored(srv)[-1]["kid"], "new", "the first is active")
    check(not os.path.exists(srv.data + "/seal.key"), "no file of our own")
    srv.stop()
    with open(path, "w") as f:
        f.write("old:correct horse battery staple\nnew:" + RAW + "\n")
    srv.start()
    srv.new_key("read")
    got = stored(srv)[-1]
    same((got["kid"], len(base64.b64decode(got["s"]))), ("old", 16), "a passphrase has a salt")
    until(lambda: {v["kid"] for v in stored(srv)} == {"old"}, "the start moved the others on")


def test_env(t):
    """The key from a variable; a new one with the old beside it."""
    srv = t.server(WEBHOOK_ENCRYPTION_KEY_SOURCE="env", **{NAME: "a long enough passphrase"})
    for _ in range(3):
        srv.new_key("read")
    same({v["kid"] for v in stored(srv)}, {"env"}, "sealed by it")
    srv.cli("seal", "rotate").want(1, says="environment")
    srv.stop()
    refused(srv, "both need an id", **{NAME: RAW, NAME + "_OLD": "a long enough passphrase"})
    srv.settings.update({NAME: "2026:" + RAW, NAME + "_OLD": "env:a long enough passphrase"})
    srv.start()
    until(lambda: {v["kid"] for v in stored(srv)} == {"2026"}, "the start moves all on")
    until(lambda: not json.loads(srv.cli("seal", "status", "--json").out)["running"], "done")
    srv.cli("seal", "status").want(0, says="the key env can go")
    srv.stop()
    del srv.settings[NAME + "_OLD"]
    srv.start()
    check(os.path.exists(srv.data + "/seal.salt"), "a salt is kept")
    check(RAW not in srv.all_logs().decode(errors="replace"), "the key is in no log")


def test_rotate(t):
    """With a server and without: one new key each, and what can go is told."""
    srv = t.server()
    for _ in range(5):
        srv.new_key("read")
    first = active(srv)
    r = srv.cli("seal", "rotate").want(0, says=f"the key {first} can go")
    second = r.out.strip()
    check(second != first and active(srv) == second, "another is active", r)
    same({v["kid"] for v in stored(srv)}, {second}, "all are sealed anew")
    srv.new_key("read")
    same(stored(srv)[-1]["kid"], second, "and new ones too")
    srv.stop()
    third = srv.cli("seal", "rotate").want(0, says=f"the key {second} can go").out.strip()
    same({v["kid"] for v in stored(srv)}, {third}, "without a server")
    with open(srv.data + "/seal.key") as f:
        keep = [l for l in f if l.startswith((third, "#"))]
    with open(srv.data + "/seal.key", "w") as f:
        f.writelines(keep)
    srv.start()
    j = srv.admin().get("/v1/seal").want(200).json
    same([(k["id"], k["values"]) for k in j["keys"]], [(third, 7)], "the old ones are gone, six keys and the session secret have it")
    told = srv.admin().get("/v1/audit", category="SECRET_ROTATED").want(200).json["data"]
    same([r["target"]["objectId"] for r in told], [third, second], "and the audit tells")


def test_rotate_over_http(t):
    srv = t.server()
    srv.new_key("read")
    c = srv.admin()
    j = c.post("/v1/seal/rotate").want(202).json
    same(j["made"], True, "a new key")
    until(lambda: not c.get("/v1/seal").want(200).json["running"], "it ends")
    j2 = c.get("/v1/seal").json
    same((j2["active"], j2["failed"], j2["missing"], j2["broken"]), (j["active"], False, 0, 0),
         "how it ended")
    check("key" not in j2["keys"][0], "no key is shown", j2)


def test_rotate_killed(t):
    """Killed at each commit on the way: every value stays readable, and the next start or
    the next rotate finishes it."""
    srv = t.server()
    c = srv.client()
    for _ in range(450):
        c.post("/v1/keys", {"name": "n", "scopes": ["read"]}).want(201)
    crashed = 0
    for point in ("crash-before-commit", "crash-after-commit"):
        for nth in (1, 2, 3, 4, 5):
            srv.stop()
            try:  # on PostgreSQL the start itself commits
                srv.start("--fault", f"{point}:{nth}")
                srv.admin().post("/v1/seal/rotate")
                while srv.alive() and srv.admin().get("/v1/seal").json["running"]:
                    time.sleep(0.05)
            except (hk.Failed, OSError, hk.http.client.HTTPException):
                pass
            crashed += not srv.alive()
            srv.kill9()
            kids = {v["kid"] for v in stored(srv)}
            srv.start()
            until(lambda: not srv.admin().get("/v1/seal").json["running"], "the start finishes it")
            j = srv.admin().get("/v1/seal").json
            same((j["missing"], j["broken"]), (0, 0), f"all are readable after {point}:{nth}")
            same(j["keys"][0]["values"], 452, f"all have the active key, were {len(kids)}")
    check(crashed >= 4, "it did crash on the way", crashed)
    srv.stop()
    srv.cli("audit", "verify").want(0)


def test_changed_value(t):
    """A value that somebody moved to another row is no secret any more."""
    srv = t.server()
    srv.new_key("read")
    srv.new_key("read")
    srv.stop()
    sql = ("UPDATE api_key SET webhook_secret = (SELECT webhook_secret FROM api_key b"
           " WHERE b.id = (SELECT max(id) FROM api_key)) WHERE id = (SELECT min(id) FROM api_key)")
    if srv.url:
        hk.psql(srv.url, sql)
    else:
        db = sqlite3.connect(srv.data + "/hikyaku.db")
        with db:
            db.execute(sql)
        db.close()
    r = srv.cli("seal", "rotate").want(0)
    check("can't be read" in r.err and "still needed" in r.err, "it is told", r)
