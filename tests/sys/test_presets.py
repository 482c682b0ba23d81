"""Presets of one's own: checked when saved, in force at once, kept while used."""
import time

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


def essence(request):
    """A request without what differs from one delivery to the next."""
    text = request.body.decode()
    heads = {k: v for k, v in request.headers.items() if k.lower() != "host"}
    ids = {v for k, v in heads.items() if k.lower() in (
        "webhook-id", "x-webhook-id")}
    for k, v in heads.items():
        if v in ids:
            heads[k] = "its id"
        elif any(w in k.lower() for w in ("signature", "timestamp", "authorization")):
            heads[k] = len(v)
    for i in ids:
        text = text.replace(i, "its id")
    return request.method, heads, text


def test_copies(t):
    """A copy of a built-in preset under another name behaves the same, whatever it is called."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    r.answer("/health", 200, {"Content-Type": "application/json"}, b'{"Status":2}')
    hub = {"tenant": "tenant1", "domain": "hub.example", "healthUrl": r.url("/health"),
           "organizationId": "o", "servicePartition": "p", "sender": "s", "eventApiKey": "k",
           "sharedInternalKey": "i", "otp": {"secret": "hush-otp-12345678901"}}
    children = [envelope("cmis.child_created", key="f", payload={
        "repository": {"id": "b"}, "object": {"id": f"d{n}"}, "parentFolder": {"id": "f"}})
        for n in range(3)]
    framed = envelope("cmis.updated", payload={
        "event": 1, "webhookConfig": 2, "object": {"id": "o"},
        "changes": {"properties": {"p": {"newValue": "x"}}}})
    user = envelope("user.created", payload={"user": {"accountId": "a"}})
    paths = {}
    for p in c.get("/v1/presets").want(200).json["data"]:
        if not p["builtin"]:
            continue
        paths[p["name"]] = []
        for preset in (p["name"], "copy-of-" + p["name"]):
            if preset != p["name"]:
                put(c, preset, p["definition"]).want(201)
                same(c.get("/v1/presets/" + preset).want(200).json["definition"],
                     p["definition"], "as the built-in one is shown")
            path = "/c/" + preset
            paths[p["name"]].append(path)
            secret = p["definition"].get("secret") != "none"
            c.post("/v1/subscriptions", {
                "name": preset, "url": r.url(path), "preset": preset,
                **({"secret": "whsec_" + "A" * 43 + "="} if secret else {"hub": hub}),
                **({"batch": {"mode": "batched", "windowSeconds": 60}}
                   if p["definition"].get("gathers") == "child" else {})}).want(201)
            for at in (path, path + "/user-events"):
                r.answer(at, 503, times=2)
    c.publish_ndjson([framed, user, *children]).want(200)
    want = {"hub": 1, "repository": 3}
    for name, (one, other) in paths.items():
        sub = "/user-events" if name == "hub" else ""
        n = want.get(name, 5) + 2  # two were refused and came again
        got = [{str(essence(x)) for x in r.wait_for(n, path + sub)} for path in (one, other)]
        same(sorted(got[0]), sorted(got[1]), name)
    r.quiet(1)
    for name, both in paths.items():
        sub = "/user-events" if name == "hub" else ""
        same([r.count(path + sub) for path in both], [want.get(name, 5) + 2] * 2, name)


def test_gathers_stays(t):
    """What is gathered has its place in the log, so a preset can't change it."""
    c, n = t.srv.client(), name()
    put(c, n, MINE).want(201)
    a = put(c, n, {**MINE, "gathers": "child"}).want(409)
    same(a.json["error"].get("pointer"), "/gathers", "which member")
    put(c, n, {**MINE, "gathers": "mode"}).want(200)


def failing(t, c, path, preset, times=1, **more):
    """A receiver that fails and a subscription by a preset of its own."""
    r, n = Receiver(t), name()
    put(c, n, {**MINE, **preset}).want(201)
    r.answer(path, 500)
    sub = c.post("/v1/subscriptions", {"name": n, "url": r.url(path), "preset": n,
                                       **more}).want(201).json
    c.publish_ndjson([envelope() for _ in range(times)]).want(200)
    return r, sub


def test_breaker_terms(t):
    """A preset's own failures and openMs; those without one never stop."""
    c = t.srv.client()
    verdicts = MINE["verdicts"] + [{"status": "500-599", "verdict": "retry"}]
    retry = {"delaysMs": [30000] * 60}  # 300 ms each at this scale: all six go before
    slow, _ = failing(t, c, "/two", {"verdicts": verdicts, "retry": retry, "concurrency": 1,
                                     "breaker": {"failures": 2, "openMs": 3600 * 1000}}, 6)
    short, _ = failing(t, c, "/short", {"verdicts": verdicts, "retry": retry, "concurrency": 1,
                                        "breaker": {"failures": 3, "openMs": 100 * 1000}}, 6)
    none, _ = failing(t, c, "/none", {"verdicts": verdicts, "retry": retry, "concurrency": 1,
                                      "breaker": None}, 6)
    none.wait_for(12, "/none")
    # The breaker of one opens after 3 and lets a probe through each second.
    got = short.wait_for(5, "/short")
    check(got[3].at - got[2].at >= 0.9, "it is open for openMs",
          [round(g.at - got[0].at, 2) for g in got])
    check(got[4].at - got[3].at >= 0.9, "and again after a probe",
          [round(g.at - got[0].at, 2) for g in got])
    same(len(slow.at("/two")), 2, "calls before a breaker of 2 failures opened for long")
    short.answer_as_usual("/short")
    short.wait_for(5 + 6, "/short")


def test_preflight_opens_no_breaker(t):
    """A health check that fails, or asks for a rest, is not the URL's fault: nor is a token's."""
    c, h, r = t.srv.client(), Receiver(t), Receiver(t)
    up = (200, {"Content-Type": "application/json"}, b'{"status":"UP"}')
    ill = (503, {"Retry-After": "3600"}, b"")
    h.answer("/health", lambda q: up if r.up else ill)
    h.answer("/token", lambda q: (200, {"Content-Type": "application/json"},
                                  b'{"access_token":"x","token_type":"Bearer"}') if r.up else (500, {}, b""))
    r.up = False
    c("PUT", "/v1/presets/careful", {**MINE, "retry": {"delaysMs": [30 * 1000] * 60, "retryAfter": False},
      "preflight": {"url": h.url("/health"), "pointer": "/status", "equals": "UP", "fail": "retry"},
      "breaker": {"failures": 2, "openMs": 600 * 1000}}).want(201)
    c("PUT", "/v1/presets/token", {**MINE, "retry": {"delaysMs": [30 * 1000] * 60},
      "breaker": {"failures": 2, "openMs": 600 * 1000}}).want(201)
    subs = [c.post("/v1/subscriptions", {"name": "s", "url": r.url(path), "types": ["careful.*"], "preset": preset,
                                         **more}).want(201).json
            for path, preset, more in (("/checked", "careful", {}), ("/token-first", "token", {
                "auth": {"type": "oauth2", "tokenUrl": h.url("/token"), "clientId": "c", "clientSecret": "s"}}))]
    for i in range(6):
        c.publish(envelope("careful.x", key=str(i))).want(202)
    h.wait_for(6 * 3, "/health")
    for s in subs:
        same(c.get("/v1/subscriptions/" + s["id"]).want(200).json["delivery"]["openUntil"], None, "shut")
    began = time.monotonic()
    r.up = True
    for path in ("/checked", "/token-first"):
        r.wait_for(6, path)
    check(time.monotonic() - began < 5, "each came at its own time", time.monotonic() - began)


def test_preflight_closes_no_breaker(t):
    """A health check that fails for good says nothing of the URL itself."""
    c, h = t.srv.client(), Receiver(t)
    h.answer("/health", 200, {"Content-Type": "application/json"}, b'{"status":"UP"}')
    r, _ = failing(t, c, "/flown", {
        "verdicts": MINE["verdicts"] + [{"status": "500-599", "verdict": "retry"}],
        "retry": {"delaysMs": [100] * 60}, "concurrency": 1,
        "preflight": {"url": h.url("/health"), "pointer": "/status", "equals": "UP",
                      "fail": "dead_letter"},
        "breaker": {"failures": 2, "openMs": 200 * 1000}}, 8)
    r.wait_for(2, "/flown")
    h.answer("/health", 503)
    n = len(h.at("/health"))
    # Open: one health check at a time, each a dead letter, and no call.
    h.wait_for(n + 3, "/health")
    same(len(r.at("/flown")), 2, "calls while the check fails")
    h.answer_as_usual("/health")
    h.answer("/health", 200, {"Content-Type": "application/json"}, b'{"status":"UP"}')
    # Were it closed now, two would fail before it opens: the first is a probe.
    for _ in range(4):
        c.publish(envelope()).want(202)
    r.wait_for(3, "/flown")
    got = r.at("/flown")
    check(got[2].at - got[1].at >= 1.8, "it was open all the time", got)
    r.wait_for(4, "/flown")
    got = r.at("/flown")
    check(got[3].at - got[2].at >= 1.8, "the probe failed: open again",
          [round(g.at - got[0].at, 2) for g in got])
