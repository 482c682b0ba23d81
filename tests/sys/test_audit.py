"""The audit (seed 6.6): rows, list, CSV, and that an edit shows."""
import csv
import io
import re
import sqlite3
import time

import hk
from hk import basic, check, same, until


def edit(srv, sql):
    """Behind the server's back."""
    if srv.url:
        hk.psql(srv.url, sql)
        return
    db = sqlite3.connect(srv.data + "/hikyaku.db", timeout=10)
    with db:
        db.execute(sql)
    db.close()


def rows(c, **query):
    out = []
    while True:
        j = c.get("/v1/audit", **query).want(200).json
        out += j["data"]
        if j["next"] is None:
            return out
        query["after"] = j["next"]


def test_keys_and_users(t):
    """Who made and took away access, newest first."""
    srv = t.server()
    c = srv.admin()
    k = c.post("/v1/keys", {"name": "shop", "scopes": ["admin"]}).want(201).json
    c.post("/v1/users", {"name": "anna", "password": "long-enough-pw"}).want(201)
    by_key = srv.client(k["key"])
    by_key("PUT", "/v1/users/anna/password", {"password": "another-long-pw"}).want(204)
    by_key.delete("/v1/users/anna").want(204)
    c.delete("/v1/keys/" + k["id"]).want(204)
    got = rows(c)
    same([r["category"] for r in got],
         ["KEY_REVOKED", "USER_REMOVED", "USER_PASSWORD_CHANGED", "USER_CREATED",
          "KEY_CREATED", "USER_CREATED"], "the rows")
    same(got[0]["actor"], {"type": "USER", "name": "admin"}, "a user did it")
    same(got[1]["actor"], {"type": "KEY", "name": "shop"}, "a key did it")
    same(got[5]["actor"], {"type": "SYSTEM"}, "the first run did it")
    same(got[4]["target"], {"type": "key", "objectId": k["id"], "objectName": "shop"}, "to what")
    same(got[1]["target"], {"type": "user", "objectId": "anna"}, "to whom")
    check(all(re.fullmatch(r"[0-9a-f-]{36}", r["id"]) for r in got), "ids")


def test_refused_is_not_told(t):
    """What did not happen leaves no row."""
    srv = t.server()
    c = srv.admin()
    before = len(rows(c))
    c.post("/v1/users", {"name": "admin", "password": "long-enough-pw"}).want(409)
    c.delete("/v1/users/admin").want(409)
    c.delete("/v1/keys/" + hk.new_id()).want(404)
    same(len(rows(c)), before, "rows")


def test_pages_times_categories(t):
    srv = t.server()
    c = srv.admin()
    for i in range(12):
        srv.new_key("read")
    mid = rows(c)[5]["timestamp"]
    all_ = rows(c)
    same(len(all_), 13, "all")
    for limit in (1, 5, 12, 13, 1000):
        same(rows(c, limit=limit), all_, f"in pages of {limit}")
    same([r["category"] for r in rows(c, category="USER_CREATED")], ["USER_CREATED"], "one category")
    same(rows(c, category="KEY_CREATED", limit=5), all_[:12], "in pages")
    newer, older = rows(c, **{"from": mid}), rows(c, to=mid)
    same(newer + older, all_, "split at a time")
    check(all(r["timestamp"] >= mid for r in newer) and newer, "from")
    same(rows(c, category="REPLAY_STARTED"), [], "none")


def test_bad_questions(t):
    c = t.srv.admin()
    for query, says in (({"from": "yesterday"}, "from"), ({"to": "1"}, "to"),
                        ({"category": "key_created"}, "category"), ({"limit": 0}, "limit"),
                        ({"after": "x"}, "after"), ({"after": "5"}, "after"),
                        ({"after": "-1-2"}, "after"), ({"form": "x"}, "form")):
        c.get("/v1/audit", **query).want(422, says=says)
    for query, says in (({"hash": "xyz"}, "hash"), ({"hash": "g" * 64}, "hash"),
                        ({"after": "x"}, "after")):
        c.get("/v1/audit/verify", **query).want(422, says=says)


def test_admins_only(t):
    srv = t.srv
    for scope in ("read", "manage", "publish"):
        c = srv.client(srv.new_key(scope)["key"])
        c.get("/v1/audit").want(403)
        c.get("/v1/audit/verify").want(403)
        c.get("/v1/seal").want(403)
        c.post("/v1/seal/rotate").want(403)
    c = srv.client(srv.new_key("admin", tenants=[hk.new_id()])["key"])
    c.get("/v1/audit").want(403)
    c.get("/v1/seal").want(403)
    c.post("/v1/seal/rotate").want(403)


def test_csv(t):
    """RFC 4180, and no cell that a spreadsheet would work out."""
    srv = t.server()
    c = srv.admin()
    names = ["=1+2", "+x", "-x", "@x", 'say "hi", you', "plain", "ünï"]
    for name in names:
        c.post("/v1/keys", {"name": name, "scopes": ["read"]}).want(201)
    a = c.get("/v1/audit", {"Accept": "text/csv"}, limit=5).want(200)
    check(a.headers["Content-Type"].startswith("text/csv"), "its type", a.headers)
    text = a.body
    a = c.get("/v1/audit", {"Accept": "text/csv"}, after=a.headers["X-Next-Cursor"]).want(200)
    check(a.headers["X-Next-Cursor"] is None, "the last page")
    check(b"\n" not in text.replace(b"\r\n", b""), "lines end in CRLF", text)
    got = list(csv.DictReader(io.StringIO(text.decode(), newline=""))) \
        + list(csv.DictReader(io.StringIO(a.body.decode(), newline="")))
    same([r["objectName"] for r in got],
         [("'" if n[0] in "=+-@" else "") + n for n in reversed(names)] + [""], "names")
    same(got[0]["category"], "KEY_CREATED", "category")
    same({len(r) for r in got}, {21}, "columns")
    same(c.get("/v1/audit", {"Accept": "application/json, text/csv;q=0.1"}).json["next"], None,
         "JSON when it is asked for first")


def test_verify(t):
    """An edited, a removed row: named, by the server and without one."""
    srv = t.server()
    for _ in range(5):
        srv.new_key("read")
    r = srv.cli("audit", "verify").want(0, says="6 rows are good, up to row 6; hash ")
    head = r.out.split()[-1]
    srv.stop()
    same(srv.cli("audit", "verify").want(0).out.split()[-1], head, "the same without a server")
    edit(srv, "UPDATE audit SET row = replace(row, 'KEY_CREATED', 'KEY_REVOKED') WHERE n = 4")
    srv.cli("audit", "verify").want(1, says="broken at row 4")
    srv.start()
    srv.cli("audit", "verify").want(1, says="broken at row 4")
    j = srv.admin().get("/v1/audit/verify").want(200).json
    same(j["broken"]["n"], 4, "named")
    edit(srv, "UPDATE audit SET row = replace(row, 'KEY_REVOKED', 'KEY_CREATED') WHERE n = 4")
    srv.cli("audit", "verify").want(0)
    edit(srv, "DELETE FROM audit WHERE n = 6")
    srv.cli("audit", "verify").want(1, says="row 6: it is missing")
    srv.new_key("read")
    srv.cli("audit", "verify").want(1, says="row 6: it is missing")


def test_broken_text_is_still_listed(t):
    srv = t.server()
    srv.new_key("read")
    edit(srv, "UPDATE audit SET row = 'no JSON, =1' WHERE n = 2")
    a = srv.admin().get("/v1/audit", {"Accept": "text/csv"}).want(200)
    check(b'"no JSON, =1"\r\n' in a.body, "shown as it is", a)
    same([r for r in rows(srv.admin()) if "broken" in r], [{"broken": "no JSON, =1"}],
         "and the page is still JSON")


def test_long_chain(t):
    """More rows than one step of verify takes: over HTTP, step by step."""
    srv = t.server()
    c = srv.client()
    for _ in range(1100):
        c.post("/v1/keys", {"name": "n", "scopes": ["read"]}).want(201)
    first = c.get("/v1/audit/verify").want(200).json
    same((first["rows"], first["done"], first["broken"]), (1000, False, None), "one step")
    srv.cli("audit", "verify").want(0, says="1102 rows are good")
    edit(srv, "UPDATE audit SET at = at + 1 WHERE n = 1050")
    srv.cli("audit", "verify").want(1, says="broken at row 1050")
    srv.stop()
    srv.cli("audit", "verify").want(1, says="broken at row 1050")


def test_retention(t):
    """Old rows go, and what is left is still a chain."""
    srv = t.server(AUDIT_RETENTION_DAYS="2s")
    c = srv.admin()
    for _ in range(5):
        srv.new_key("read")
    time.sleep(2.2)
    last = srv.new_key("read")
    until(lambda: [r["target"]["objectId"] for r in rows(c)] == [last["id"]],
          "only the newest is left", 10, 0.2)
    srv.cli("audit", "verify").want(0, says="1 rows are good, up to row 7")
    until(lambda: rows(c) == [], "in the end none", 10, 0.2)
    srv.cli("audit", "verify").want(0, says="0 rows are good, up to row 7")
    srv.new_key("read")
    srv.cli("audit", "verify").want(0, says="1 rows are good, up to row 8")


def test_survives_kill(t):
    """Row and change are there together, and the chain holds."""
    srv = t.server()
    made = []
    for _ in range(3):
        for _ in range(10):
            made.append(srv.new_key("read")["id"])
        srv.kill9()
        srv.start()
    told = [r["target"]["objectId"] for r in rows(srv.admin(), category="KEY_CREATED")]
    same(sorted(told), sorted(made), "each key has its row")
    srv.cli("audit", "verify").want(0, says="31 rows are good")


def test_without_a_server(t):
    """What the command line does to the store itself is told too."""
    srv = t.server()
    srv.stop()
    srv.cli("key", "create", "cli").want(0)
    srv.cli("user", "add", "bert", stdin=b"long-enough-password\n").want(0)
    srv.cli("user", "passwd", "bert", stdin=b"long-enough-passw0rd\n").want(0)
    srv.cli("user", "remove", "bert").want(0)
    srv.cli("audit", "verify").want(0, says="5 rows are good")
    srv.start()
    got = rows(srv.connect(basic("admin", hk.PASSWORD)))
    same([r["category"] for r in got[:4]],
         ["USER_REMOVED", "USER_PASSWORD_CHANGED", "USER_CREATED", "KEY_CREATED"], "rows")
    same(got[0]["actor"], {"type": "LOCAL", "name": "local"}, "by whom")
