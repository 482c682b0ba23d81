"""Presets of one's own: checked when saved, in force at once, kept while used."""
import receiver
from hk import check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
MINE = {"description": "mine", "body": "payload",
        "headers": [{"name": "X-Mine", "value": "one"}],
        "verdicts": [{"status": "200-299", "verdict": "success"}]}


def put(c, name, body):
    return c("PUT", "/v1/presets/" + name, body)


def name():
    return "p" + new_id()[:8]


def test_builtin(t):
    c = t.srv.client()
    j = c.get("/v1/presets").want(200).json
    got = {p["name"]: p for p in j["data"]}
    for p in ("standard", "cloudevents", "repository", "task", "hub"):
        check(got[p]["builtin"], f"{p} is there", got.keys())
    same(got["standard"], c.get("/v1/presets/standard").want(200).json, "one")
    check(got["standard"]["definition"]["signatures"], "its definition", got["standard"])
    put(c, "standard", MINE).want(409)
    c.delete("/v1/presets/standard").want(409)
    c.get("/v1/presets/nope").want(404)
    c.delete("/v1/presets/nope").want(404)
    c.get("/v1/presets?x=1").want(422)


def test_life(t):
    c, n = t.srv.client(), name()
    same(put(c, n, MINE).want(201).json["definition"], MINE, "as it was given")
    same(put(c, n, {**MINE, "description": "two"}).want(200).json["description"], "two", "changed")
    check(not c.get("/v1/presets/" + n).want(200).json["builtin"], "not built in")
    check(n in [p["name"] for p in c.get("/v1/presets").want(200).json["data"]], "listed")
    c.delete("/v1/presets/" + n).want(204)
    c.get("/v1/presets/" + n).want(404)


def test_errors(t):
    c = t.srv.client()
    put(c, name(), b"{").want(400)
    for more, pointer in (({"bdoy": 1}, "/bdoy"), ({"body": "{nope}"}, "/body"),
                          ({"verdicts": []}, "/verdicts"),
                          ({"verdicts": [{"status": "x", "verdict": "success"}]},
                           "/verdicts/0/status"),
                          ({"concurrency": 0}, "/concurrency")):
        a = put(c, name(), {**MINE, **more}).want(422)
        same(a.json["error"].get("pointer"), pointer, f"{more}")
    put(c, "Bad%20Name", MINE).want(422)


def test_in_force_at_once(t):
    """Those who use it follow, in the order of the log."""
    c, r, n = t.srv.client(), Receiver(t), name()
    put(c, n, MINE).want(201)
    s = c.post("/v1/subscriptions", {"name": "s", "url": r.url("/p"), "preset": n}).want(201).json
    same((s["secret"], s["preset"]), (None, n), "it signs nothing")
    for i in range(5):
        value = f"v{i}"
        put(c, n, {**MINE, "headers": [{"name": "X-Mine", "value": value}]}).want(200)
        ev = envelope()
        c.publish(ev).want(202)
        got = r.wait_for(i + 1, "/p")[i]
        same((got.headers["X-Mine"], got.json), (value, ev["payload"]), "the new preset")
    c.delete("/v1/presets/" + n).want(409, says="uses it")
    c.delete("/v1/subscriptions/" + s["id"]).want(204)
    c.delete("/v1/presets/" + n).want(204)
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/p"), "preset": n}).want(
        422, pointer="/preset")


def test_users_must_be_able_to(t):
    c, r, n = t.srv.client(), Receiver(t), name()
    sign = [{"header": "X-Sig", "algorithm": "hmac-sha256", "encoding": "hex",
             "content": "{body}", "key": "text"}]
    put(c, n, {**MINE, "signatures": sign, "secret": "text"}).want(201)
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/u"), "preset": n,
                                 "secret": "just a text"}).want(201)
    put(c, n, {**MINE, "signatures": sign, "secret": "standard"}).want(409)
    put(c, n, {**MINE, "signatures": sign, "secret": "text", "concurrency": 3}).want(200)


def test_survives_a_restart(t):
    srv, r, n = t.server(), Receiver(t), name()
    c = srv.client()
    put(c, n, MINE).want(201)
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/q"), "preset": n}).want(201)
    srv.restart()
    srv.client().publish(envelope()).want(202)
    same(r.wait_for(1, "/q")[0].headers["X-Mine"], "one", "its header")


def test_who(t):
    srv, n = t.srv, name()
    read = srv.client(srv.new_key("read")["key"])
    read.get("/v1/presets").want(200)
    put(read, n, MINE).want(403)
    limited = srv.client(srv.new_key("manage", "read", tenants=[new_id()])["key"])
    limited.get("/v1/presets").want(200)
    put(limited, n, MINE).want(403)
    manage = srv.new_key("manage")
    put(srv.client(manage["key"]), n, MINE).want(201)
    rows = srv.admin().get("/v1/audit", category="PRESET_CHANGED", limit=5).want(200).json["data"]
    check(any(n in str(row) and manage["name"] in str(row) for row in rows), "audited", rows)
