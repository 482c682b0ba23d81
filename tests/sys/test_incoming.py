"""Incoming webhooks: POST /in/{name} becomes events, when its provider sent it."""
import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import time
import urllib.parse

import hk
import receiver
from hk import TENANT, Skip, basic, check, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
SECRET = "It's a Secret to Everybody"
DEFAULTS = {"tenantId": TENANT, "eventType": "shop.hook"}
PUSH = {"ref": "refs/heads/main", "repository": {"id": 1, "full_name": "octo/hello"},
        "head_commit": {"id": "7fd1a60b01f91b314f59955a4e4d4e80d8edf11d", "message": "Grüße"},
        "pusher": {"name": "octo"}, "size": 1.50}


def name():
    return "s" + new_id()[:8]


def put(c, n, want=201, **conf):
    conf = {"scheme": "none", "unsafe": True, "defaults": DEFAULTS, **conf}
    if conf["scheme"] != "none":
        del conf["unsafe"]
    return c("PUT", "/v1/sources/" + n, {k: v for k, v in conf.items() if v is not ...}).want(want).json


def mac(secret, *parts):
    key = secret if isinstance(secret, bytes) else secret.encode()
    return hmac.new(key, b"".join(parts), hashlib.sha256)


def github(body, event="push", secret=SECRET, delivery=None):
    return {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery or new_id(),
            "Content-Type": "application/json",
            "X-Hub-Signature-256": "sha256=" + mac(secret, body).hexdigest()}


def stripe(body, secret, at=None, more=""):
    t = str(int(at or time.time()))
    return {"Content-Type": "application/json", "Stripe-Signature":
            f"t={t},v0=00{more},v1={mac(secret, t.encode(), b'.', body).hexdigest()}"}


def standard(body, secret, id=None, at=None, prefix="webhook-"):
    id, t = id or "msg_" + new_id(), str(int(at or time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    sig = base64.b64encode(mac(key, f"{id}.{t}.".encode(), body).digest()).decode()
    return {prefix + "id": id, prefix + "timestamp": t, prefix + "signature": "v1,AAAA v2,x v1," + sig,
            "Content-Type": "application/json"}


def event(c, id):
    return c.get("/v1/events/" + id).want(200).json


def count(c):
    return len(c.events())


def test_github_push_is_delivered(t):
    """A push at GitHub is an event here and a webhook at the receiver."""
    c, r, n, path = t.srv.client(), Receiver(t), name(), "/gh" + new_id()[:6]
    s = put(c, n, scheme="github", secret=SECRET, defaults={"tenantId": TENANT})
    same((s["path"], s["secret"]), ("/in/" + n, SECRET), "shown once")
    same(c.get("/v1/sources/" + n).want(200).json["secret"], "********", "then masked")
    c.post("/v1/subscriptions", {"name": n, "url": r.url(path), "types": ["github.push"]}).want(201)
    anybody = t.srv.connect()
    body = json.dumps(PUSH, ensure_ascii=False).encode()
    head = github(body)
    a = anybody.post("/in/" + n, body, head).want(202).json
    same(a["duplicate"], False, "new")
    got = c.get("/v1/events/" + a["eventId"]).want(200)
    check(b'"payload":' + body in got.body, "its bytes", got)
    j = got.json
    same((j["eventType"], j["tenantId"], j["producer"]["service"], j["sequence"]["partitionKey"]),
         ("github.push", TENANT, n, "octo/hello"), "its fields")
    again = anybody.post("/in/" + n, body, head).want(202).json
    same((again["eventId"], again["duplicate"]), (a["eventId"], True), "GitHub's retry")
    hook, = r.wait_for(1, path)
    same(hook.json["payload"], PUSH, "delivered")
    other = anybody.post("/in/" + n, body, github(body)).want(202).json
    check(other["eventId"] != a["eventId"], "another delivery is another event")


def test_github_quirks(t):
    c, n = t.srv.client(), name()
    put(c, n, scheme="github", secret=SECRET, defaults={"tenantId": TENANT})
    body = b'{"zen":"Keep it logically awesome."}'
    same(c.post("/in/" + n, body, github(body, "ping")).want(202).json, {"ignored": "a ping"}, "ping")
    form = b"payload=" + urllib.parse.quote_plus(json.dumps(PUSH)).encode()
    head = {**github(form), "Content-Type": "application/x-www-form-urlencoded"}
    a = c.post("/in/" + n, form, head).want(202).json
    same(event(c, a["eventId"])["payload"], PUSH, "a form's payload")


def test_not_verified(t):
    """401 and no reason; nothing is written."""
    c, n = t.srv.client(), name()
    put(c, n, scheme="github", secret=SECRET, defaults={"tenantId": TENANT})
    before, body = count(c), b'{"a":1}'
    good = github(body)
    sig = good["X-Hub-Signature-256"]
    answers = set()
    for head in (github(body, secret="another secret"), {**good, "X-Hub-Signature-256": None},
                 {**good, "X-Hub-Signature-256": ""}, {**good, "X-Hub-Signature-256": sig[:-1]},
                 {**good, "X-Hub-Signature-256": "sha256="}, {**good, "X-Hub-Signature-256": sig + "00"},
                 {**good, "X-Hub-Signature-256": "sha1=" + sig[7:]},
                 {**good, "X-Hub-Signature-256": "sha256=" + "g" * 64}):
        a = t.srv.connect().post("/in/" + n, body, head).want(401, "UNAUTHORIZED")
        answers.add(a.json["error"]["message"])
    t.srv.connect().post("/in/" + n, b'{"a":2}', good).want(401)
    # the session's right to publish is none here
    c.post("/in/" + n, b'{"a":2}', good).want(401)
    same(len(answers), 1, "one answer for all")
    t.srv.connect().post("/in/nothing-here", body, good).want(404)
    same(count(c), before, "nothing was written")
    t.srv.connect().post("/in/" + n, body, good).want(202)
    lines = [l for l in t.srv.log() if l.get("msg") == "hook not verified" and l.get("source") == n]
    check(len(lines) >= 9 and all(l["reason"] for l in lines), "the log says why", lines)
    check(SECRET not in t.srv.all_logs().decode(), "no secret in the log")


def test_stripe(t):
    c, n, secret = t.srv.client(), name(), "whsec_" + new_id()
    c("PUT", "/v1/sources/" + n, {"scheme": "stripe", "defaults": {"tenantId": TENANT}}).want(
        422, pointer="/secret")
    put(c, n, scheme="stripe", secret=secret, defaults={"tenantId": TENANT})
    ev = {"id": "evt_" + new_id(), "object": "event", "type": "payment_intent.succeeded",
          "data": {"object": {"id": "pi_1", "amount": 2000}}, "pending_webhooks": 1}
    body = json.dumps(ev).encode()
    a = c.post("/in/" + n, body, stripe(body, secret, more=",v1=" + "0" * 64)).want(202).json
    j = event(c, a["eventId"])
    same((j["eventType"], j["sequence"]["partitionKey"], j["payload"]),
         ("stripe.payment_intent.succeeded", "pi_1", ev), "its fields")
    # a retry says another number of pending webhooks, and is the same event
    ev["pending_webhooks"] = 0
    body = json.dumps(ev).encode()
    again = c.post("/in/" + n, body, stripe(body, secret)).want(202).json
    same((again["eventId"], again["duplicate"]), (a["eventId"], True), "one event")
    now = time.time()
    c.post("/in/" + n, body, stripe(body, secret, now - 299 + 20 * hk.SLOW)).want(202)
    for at in (now - 330, now + 330):
        c.post("/in/" + n, body, stripe(body, secret, at)).want(401)
    for value in ("", "t=1", "v1=00", f"t={int(now)},v0=" + "0" * 64, "t=x,v1=" + "0" * 64, "=,=,,"):
        c.post("/in/" + n, body, {"Stripe-Signature": value}).want(401)
    put(c, n, 200, scheme="stripe", toleranceSeconds=600, defaults={"tenantId": TENANT})
    c.post("/in/" + n, body, stripe(body, secret, now - 330)).want(202)


def test_standard(t):
    c, n = t.srv.client(), name()
    secret = put(c, n, scheme="standard")["secret"]
    check(secret.startswith("whsec_"), "made", secret)
    body = b'{"x": 1.50}'
    head = standard(body, secret)
    a = c.post("/in/" + n, body, head).want(202).json
    same(c.post("/in/" + n, body, head).want(202).json["duplicate"], True, "a repeat")
    check(b'"payload":{"x": 1.50}' in c.get("/v1/events/" + a["eventId"]).body, "bytes")
    c.post("/in/" + n, body, standard(body, secret, prefix="svix-")).want(202)
    c.post("/in/" + n, body, standard(body, secret, at=time.time() - 400)).want(401)
    c.post("/in/" + n, body, standard(b"{}", secret)).want(401)
    c.post("/in/" + n, body, {**head, "webhook-id": "other"}).want(401)
    c.post("/in/" + n, body).want(401)


def test_rotation(t):
    c, n = t.srv.client(), name()
    old = put(c, n, scheme="standard")["secret"]
    body = b"{}"
    new = c.post(f"/v1/sources/{n}/rotate-secret", {"overlapSeconds": 600}).want(200).json
    check(new["secret"] != old and len(new["secrets"]) == 2, "a new one, shown once", new)
    for s in (old, new["secret"]):
        c.post("/in/" + n, body, standard(body, s)).want(202)
    last = c.post(f"/v1/sources/{n}/rotate-secret", {"overlapSeconds": 0}).want(200).json
    c.post("/in/" + n, body, standard(body, new["secret"])).want(401)
    # the first old one is still within its overlap
    c.post("/in/" + n, body, standard(body, old)).want(202)
    c.post("/in/" + n, body, standard(body, last["secret"])).want(202)
    mine = "whsec_" + base64.b64encode(b"m" * 32).decode()
    c.post(f"/v1/sources/{n}/rotate-secret", {"secret": mine, "overlapSeconds": 0}).want(200)
    c.post("/in/" + n, body, standard(body, mine)).want(202)
    c.post(f"/v1/sources/{n}/rotate-secret", {"secret": "short"}).want(422, pointer="/secret")
    c.post(f"/v1/sources/{n}/rotate-secret", {"overlapSeconds": -1}).want(422, pointer="/overlapSeconds")
    # a change without a secret, or with the mask, keeps it
    put(c, n, 200, scheme="standard", secret="********", description="kept")
    c.post("/in/" + n, body, standard(body, mine)).want(202)


def test_tokens(t):
    c, n = t.srv.client(), name()
    a = t.srv.connect()
    put(c, n, scheme="bearer", secret="token-12345")
    a.post("/in/" + n, {}, {"Authorization": "Bearer token-12345"}).want(202)
    for value in ("Bearer token-1234", "Bearer token-123456", "Basic token-12345", "token-12345", "Bearer "):
        a.post("/in/" + n, {}, {"Authorization": value}).want(401)
    put(c, n, 200, scheme="bearer", header="X-Gitlab-Token")
    a.post("/in/" + n, {}, {"X-Gitlab-Token": "token-12345"}).want(202)
    a.post("/in/" + n, {}, {"Authorization": "Bearer token-12345"}).want(401)
    put(c, n, 200, scheme="basic", username="ann", secret="pass:word")
    a.post("/in/" + n, {}, {"Authorization": basic("ann", "pass:word")}).want(202)
    for user, password in (("ann", "pass"), ("bob", "pass:word"), ("", ""), ("ann:pass", "word!")):
        a.post("/in/" + n, {}, {"Authorization": basic(user, password)}).want(401)
    a.post("/in/" + n, {}, {"Authorization": "Basic !!!"}).want(401)
    put(c, n, 200)
    a.post("/in/" + n, {}).want(202)


def test_presets_of_ours(t):
    """What one Hikyaku signs, another takes: repository, task, CloudEvents."""
    srv, r = t.srv, Receiver(t)
    c = srv.client()
    for preset, secret in (("task", "some text here"), ("repository", "some text here"),
                           ("cloudevents", None), ("cloudevents-binary", None), ("standard", None)):
        path, kind, n = "/" + preset, "link." + preset, name()
        sub = {"name": preset, "url": r.url(path), "preset": preset, "types": [kind]}
        if secret:
            sub["secret"] = secret
        s = c.post("/v1/subscriptions", sub).want(201).json
        ev = hk.envelope(kind, payload={"a": 1})
        c.publish(ev).want(202)
        got, = r.wait_for(1, path)
        put(c, n, scheme=preset, secret=s["secret"], defaults={**DEFAULTS, "tenantId": TENANT})
        head = {k: v for k, v in got.headers.items() if k.lower() not in ("content-length", "host")}
        a = c.post("/in/" + n, got.body, head).want(202).json
        if preset.startswith("cloudevents"):
            same(a["eventId"], ev["eventId"], "the very event")
        else:
            same(event(c, a["eventId"])["eventType"], "shop.hook", preset)
        c.post("/in/" + n, got.body + b" ", head).want(401)


TEMPLATE = """if .body.skip then null
elif .body.many then [.body.many[] | {eventType: "t.one", payload: {n: .}}]
else {eventType: ("t." + .headers["x-kind"]), sequence: {partitionKey: .query.key},
      payload: {sum: (.body.a + .body.b), auth: .headers.authorization}} end"""


def test_template(t):
    c, n = t.srv.client(), name()
    put(c, n, template=TEMPLATE, deliveryId="{X-Id}", defaults={"tenantId": TENANT})
    head = {"X-Kind": "sum", "X-Id": new_id()}
    a = c.post("/in/" + n + "?key=k%201&x=y", {"a": 1, "b": 2}, head).want(202).json
    j = event(c, a["eventId"])
    same((j["eventType"], j["sequence"], j["payload"]),
         ("t.sum", {"partitionKey": "k 1"}, {"sum": 3, "auth": None}), "made by it")
    same(c.post("/in/" + n + "?key=k", {"a": 1, "b": 2}, head).want(202).json["duplicate"], True, "retry")
    same(c.post("/in/" + n, {"skip": True}).want(202).json, {"ignored": "the template made nothing"}, "null")
    head = {"X-Id": new_id()}
    many = c.post("/in/" + n, {"many": [1, 2, 3]}, head).want(202).json["results"]
    same(len({x["eventId"] for x in many}), 3, "three events")
    again = c.post("/in/" + n, {"many": [1, 2, 3]}, head).want(202).json["results"]
    same([(x["eventId"], x["duplicate"]) for x in again], [(x["eventId"], True) for x in many], "once")
    # in force at once
    put(c, n, 200, template="{eventType: \"t.two\", payload: .body}", defaults={"tenantId": TENANT})
    a = c.post("/in/" + n, b"plain text", {"Content-Type": "text/plain"}).want(202).json
    check("refused" in a, "a text is no payload", a)
    a = c.post("/in/" + n, {"z": 1}).want(202).json
    same(event(c, a["eventId"])["eventType"], "t.two", "the new template")


def test_own_ids(t):
    """Without a name for it, each request is an event of its own."""
    c, n = t.srv.client(), name()
    put(c, n)
    ids = {c.post("/in/" + n, {"temp": 20}).want(202).json["eventId"] for _ in range(3)}
    same(len(ids), 3, "none is dropped")
    put(c, n, 200, deliveryId="{/reading/id}")
    ids = {c.post("/in/" + n, {"reading": {"id": 7}}).want(202).json["eventId"] for _ in range(3)}
    same(len(ids), 1, "named by its body")


def refused(c, n):
    return [d for d in c.get("/v1/dead-letters", limit=200).want(200).json["data"] if n in json.dumps(d)]


def test_refused(t):
    """What verifies and is no event: a dead letter with its copy; the provider is not to retry."""
    c, n = t.srv.client(), name()
    put(c, n, deliveryId="{X-Id}")
    head = {"X-Id": "d-1"}
    a = c.post("/in/" + n, b'[1, 2, "copy"]', head).want(202).json
    same((a["refused"]["code"], a["refused"]["pointer"]), ("INVALID_FIELD", "/payload"), "why")
    dead = refused(c, n)
    same([d["deadLetter"]["reason"] for d in dead], ["SCHEMA"], "a dead letter")
    one = c.get("/v1/dead-letters/" + dead[0]["id"]).want(200)
    check(b'[1, 2, \\"copy\\"]' in one.body, "with its own copy", one)
    c.post("/in/" + n, b'[1, 2, "copy"]', head).want(202)
    same(len(refused(c, n)), 1, "the same again is the same letter")
    c.post("/in/" + n, b'{"a":', {"X-Id": "d-2"}).want(202)
    same(len(refused(c, n)), 2, "no JSON")
    rows = t.srv.admin().get("/v1/audit", category="SOURCE_REFUSED", limit=10).want(200).json["data"]
    check(any(n in json.dumps(x) for x in rows), "audited", rows)
    check("hikyaku_source_refused_total 0" not in c.get("/metrics").want(200).body.decode(), "counted")
    # one of several
    put(c, n, 200, template="[{eventType:\"a.b\",payload:{}},{eventType:\"no type\",payload:{}},1]",
        defaults={"tenantId": TENANT})
    r = c.post("/in/" + n, {}).want(202).json["results"]
    check("eventId" in r[0] and r[1]["refused"]["pointer"] == "/eventType" and "refused" in r[2],
          "each for itself", r)
    same(len(refused(c, n)), 4, "two more")


def test_bad_programs(t):
    c, n = t.srv.client(), name()
    a = c("PUT", "/v1/sources/" + n, {"scheme": "none", "unsafe": True, "template": "{a:\n.b[}"}).want(
        422, pointer="/template")
    check("line" in a.json["error"]["message"], "and its place", a)
    c.get("/v1/sources/" + n).want(404)
    put(c, n, template="last(range(1e12))", defaults={"tenantId": TENANT})
    a = c.post("/in/" + n, {}).want(202).json
    check("stopped" in a["refused"]["message"], "it was stopped", a)
    put(c, n, 200, template="error(\"oh no\")", defaults={"tenantId": TENANT})
    check("oh no" in c.post("/in/" + n, {}).want(202).json["refused"]["message"], "its own error")
    # others go on
    other = name()
    put(c, other, template="{eventType:\"a.b\",payload:.body}", defaults={"tenantId": TENANT})
    check("eventId" in c.post("/in/" + other, {}).want(202).json, "the child is there again")


def test_fields(t):
    c = t.srv.client()
    good = {"scheme": "none", "unsafe": True, "defaults": DEFAULTS}
    for more, pointer in (({"shceme": 1}, "/shceme"), ({"scheme": "nope"}, "/scheme"), ({"scheme": None}, "/scheme"),
                          ({"scheme": "hub"}, "/scheme"), ({"unsafe": False}, "/unsafe"),
                          ({"scheme": "basic", "secret": "12345678"}, "/username"),
                          ({"secret": "12345678"}, "/secret"), ({"scheme": "github", "secret": "short"}, "/secret"),
                          ({"scheme": "standard", "secret": "no prefix here"}, "/secret"),
                          ({"header": "X-A"}, "/header"), ({"username": "x"}, "/username"),
                          ({"toleranceSeconds": 0}, "/toleranceSeconds"), ({"ratePerSecond": 0}, "/ratePerSecond"),
                          ({"networks": ["10.0.0.0/33"]}, "/networks/0"), ({"networks": "x"}, "/networks"),
                          ({"defaults": {"tenantId": "a b", "eventType": "a"}}, "/defaults/tenantId"),
                          ({"defaults": {"tenantId": TENANT}}, "/defaults/eventType"),
                          ({"defaults": {**DEFAULTS, "eventType": "a b"}}, "/defaults/eventType"),
                          ({"defaults": {**DEFAULTS, "x": 1}}, "/defaults/x"),
                          ({"deliveryId": "{"}, "/deliveryId"), ({"deliveryId": "{a b}"}, "/deliveryId"),
                          ({"enabled": 1}, "/enabled"), ({"template": ""}, "/template")):
        c("PUT", "/v1/sources/x" + new_id()[:6], {**good, **more}).want(422, pointer=pointer)
    c("PUT", "/v1/sources/Bad%20Name", good).want(422)
    c("PUT", "/v1/sources/" + "a" * 64, good).want(422)
    c("PUT", "/v1/sources/a", b"[]").want(422)
    c("PUT", "/v1/sources/a", b"{").want(400)


def test_life(t):
    srv, n = t.server(), name()
    c = srv.client()
    put(c, n, scheme="github", secret=SECRET, networks=["127.0.0.0/8", "::1"], description="d")
    put(c, n + "b")
    got = c.get("/v1/sources/" + n).want(200).json
    same((got["networks"], got["description"], got["version"]), (["127.0.0.0/8", "::1"], "d", 1), "kept")
    c("PUT", "/v1/sources/" + n, got).want(200)  # what was read can be written
    names, after = [], None
    while True:
        page = c.get("/v1/sources", limit=1, **({"after": after} if after else {})).want(200).json
        names += [s["name"] for s in page["data"]]
        after = page["next"]
        if not after:
            break
    same(sorted(names), sorted([n, n + "b"]), "page by page")
    c.get("/v1/sources?after=%21").want(422)
    same(len(srv.rows(f"SELECT 1 FROM hook_source WHERE conf LIKE '%Everybody%' OR secrets LIKE '%Everybody%'")),
         0, "sealed at rest")
    body = b"{}"
    c.post(f"/v1/sources/{n}/disable").want(200)
    c.post("/in/" + n, body, github(body)).want(404)
    c.post(f"/v1/sources/{n}/enable").want(200)
    c.post("/in/" + n, body, github(body)).want(202)
    srv.restart()
    c = srv.client()
    c.post("/in/" + n, body, github(body)).want(202)
    c.delete("/v1/sources/" + n).want(204)
    c.delete("/v1/sources/" + n).want(404)
    c.post("/in/" + n, body, github(body)).want(404)
    rows = srv.admin().get("/v1/audit", limit=50).want(200).json["data"]
    text = json.dumps(rows)
    check("SOURCE_CHANGED" in text and "SOURCE_DELETED" in text and SECRET not in text, "audited", text)


def test_seal_rotation(t):
    """After a rotation of the sealing key the secrets are sealed anew, and good."""
    srv, n = t.server(), name()
    c = srv.client()
    put(c, n, scheme="github", secret=SECRET)
    was = srv.rows("SELECT secrets FROM hook_source")
    srv.admin().post("/v1/seal/rotate").want(202)
    until(lambda: srv.rows("SELECT secrets FROM hook_source") != was, "sealed anew")
    c.post("/in/" + n, b"{}", github(b"{}")).want(202)


def test_limits(t):
    c, n = t.srv.client(), name()
    put(c, n, ratePerSecond=2)
    got = [c.post("/in/" + n, {}).status for _ in range(8)]
    check(202 in got and 429 in got, "its rate", got)
    put(c, n, 200, networks=["192.0.2.0/24", "2001:db8::/32"])
    c.post("/in/" + n, {}).want(401)
    put(c, n, 200, networks=["127.0.0.1"])
    c.post("/in/" + n, {}).want(202)
    c.post("/in/" + n, b"x" * (20 << 20)).want(413)


def test_dry_run(t):
    c, n = t.srv.client(), name()
    put(c, n, scheme="github", secret=SECRET, defaults={"tenantId": TENANT})
    before, body = count(c), json.dumps(PUSH)
    head = {k: v for k, v in github(body.encode(), delivery="d-7").items()}
    a = c.post(f"/v1/sources/{n}/test", {"headers": head, "bodyText": body}).want(200).json
    same((a["verified"], a["ref"], a["ignored"]), (True, "d-7", None), "verified")
    same((a["events"][0]["event"]["eventType"], a["events"][0]["event"]["payload"]),
         ("github.push", PUSH), "what it would be")
    a = c.post(f"/v1/sources/{n}/test", {"headers": {"X-GitHub-Event": "push"}, "body": [1]}).want(200).json
    same((a["verified"], a["verification"]), (False, "there is no signature header"), "and why not")
    same(a["events"][0]["error"]["pointer"], "/payload", "what is wrong")
    same(count(c), before, "nothing was written")
    c.post(f"/v1/sources/{n}/test", {"x": 1}).want(422, pointer="/x")
    c.post(f"/v1/sources/{n}/test", {"headers": {"a": 1}}).want(422, pointer="/headers/a")
    c.post("/v1/sources/nope/test", {}).want(404)


def test_who(t):
    srv, n = t.srv, name()
    read = srv.client(srv.new_key("read")["key"])
    read.get("/v1/sources").want(200)
    read("PUT", "/v1/sources/" + n, {}).want(403)
    limited = srv.client(srv.new_key("manage", "read", tenants=[TENANT])["key"])
    limited.get("/v1/sources").want(403)
    limited("PUT", "/v1/sources/" + n, {"scheme": "none", "unsafe": True}).want(403)
    put(srv.client(srv.new_key("manage")["key"]), n)
    srv.connect().get("/v1/sources").want(401)


def test_cli(t):
    srv, n = t.srv, name()
    conf = json.dumps({"scheme": "github", "defaults": {"tenantId": TENANT}, "description": "pushes"}).encode()
    out = srv.cli("source", "put", n, stdin=conf).want(0).out.split("\n")
    same(out[0], "/in/" + n, "its path")
    srv.connect().post("/in/" + n, b"{}", github(b"{}", secret=out[1])).want(202)
    with open(t.path("conf"), "wb") as f:
        f.write(conf)
    same(srv.cli("source", "put", n, t.path("conf")).want(0).out, "/in/" + n + "\n", "shown once")
    listed = srv.cli("source", "list").want(0).out
    check(n in listed and "github" in listed and out[1] not in listed, "listed", listed)
    same([json.loads(l)["name"] for l in srv.cli("source", "list", "--json").want(0).out.splitlines()
          if n in l], [n], "as JSON")
    srv.cli("source", "put", n, stdin=b'{"scheme":"nope"}').want(1, "scheme")
    srv.cli("source", "put", "Bad/Name", stdin=conf).want(1, "name")
    srv.cli("source", "remove", n).want(0)
    srv.cli("source", "remove", n).want(1, "no such source")


def test_kill9_loses_nothing(t):
    """What was answered is there, and a retry of it is the same event."""
    srv, n = t.server(), name()
    put(srv.client(), n, scheme="github", secret=SECRET, defaults={"tenantId": TENANT})
    body, sent = b'{"a":1}', []
    c = srv.connect()
    for i in range(40):
        head = github(body, delivery=f"d-{i}")
        sent.append((head, c.post("/in/" + n, body, head).want(202).json["eventId"]))
    srv.kill9()
    srv.start()
    c = srv.client()
    for head, id in sent:
        a = c.post("/in/" + n, body, head).want(202).json
        same((a["eventId"], a["duplicate"]), (id, True), "it is there")
    same(len({e["eventId"] for e in c.events()}), 40, "once each")


def test_two_nodes(t):
    """Another node sees a change within seconds."""
    if hk.STORE != "postgres":
        raise Skip("SQLite is one node's")
    a, n = t.server(), name()
    b = t.server(url=a.url, folder=a.folder + "-b", WEBHOOK_ENCRYPTION_KEY_FILE=os.path.join(a.data, "seal.key"))
    ca, cb = a.client(), b.connect()
    put(ca, n, scheme="github", secret=SECRET)
    until(lambda: cb.post("/in/" + n, b"{}", github(b"{}")).status == 202, "made", 20)
    ca.post(f"/v1/sources/{n}/disable").want(200)
    until(lambda: cb.post("/in/" + n, b"{}", github(b"{}")).status == 404, "disabled", 20)
    ca.delete("/v1/sources/" + n).want(204)


def test_third_party_signs(t):
    """npm standardwebhooks and svix sign, we verify."""
    npm = os.path.join(hk.ROOT, "tests", "npm")
    if not shutil.which("node") or not os.path.isdir(os.path.join(npm, "node_modules", "svix")):
        raise Skip("no node, or no tests/npm/node_modules; ./dev setup installs them")
    c, n = t.srv.client(), name()
    secret = put(c, n, scheme="standard")["secret"]
    body = '{"text":"Grüße, 飛脚","n":1.50}'
    for lib, prefix in (("standardwebhooks", "webhook-"), ("svix", "svix-")):
        at = int(time.time())
        id = "msg_" + new_id()
        js = (f'const {{Webhook}}=require("{lib}");const q=JSON.parse(process.argv[1]);'
              'console.log(new Webhook(q.secret).sign(q.id,new Date(q.at*1000),q.body))')
        out = subprocess.run(["node", "-e", js, json.dumps(
            {"secret": secret, "id": id, "at": at, "body": body})], cwd=npm, capture_output=True,
            text=True, timeout=60)
        check(out.returncode == 0, lib, out.stderr)
        head = {prefix + "id": id, prefix + "timestamp": str(at), prefix + "signature": out.stdout.strip()}
        a = c.post("/in/" + n, body.encode(), head).want(202).json
        same(event(c, a["eventId"])["payload"], json.loads(body), lib)
        c.post("/in/" + n, body.encode() + b" ", head).want(401)
