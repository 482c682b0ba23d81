"""The audit of deliveries (seed 000, 6.6.2), and what is found by a correlationId."""
import receiver
from hk import TENANT, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def rows(c, sub, category=None):
    query = {"category": category} if category else {}
    got = c.get("/v1/audit", limit=1000, **query).want(200).json["data"]
    return [x for x in got if x.get("webhook", {}).get("webhookId") == sub["id"]
            and (x["category"].startswith("WEBHOOK_DELIVERY") or x["category"] == "DELIVERY_RESENT")]


def kinds(c, sub):
    return sorted(x["category"].removeprefix("WEBHOOK_DELIVERY_") for x in rows(c, sub))


def send(c, r, path, preset, answers):
    """One event of a type of its own; answers are given in turn, then 200."""
    left = list(answers)
    r.answer(path, lambda q: left.pop(0) if left else 200)
    more = {"secret": "a-secret-of-mine"} if preset == "repository" else {}
    s = subscribe(c, r.url(path), preset=preset, types=["t" + path.replace("/", ".")], **more)
    ev = envelope(type="t" + path.replace("/", "."), key="doc-1")
    c.publish(ev).want(202)
    r.wait_for(len(answers) + (0 if answers and answers[-1] == 400 else 1), path)
    return s, ev


def test_by_preset(t):
    c, r = t.srv.client(), Receiver(t)
    s, ev = send(c, r, "/repo", "repository", [503])
    until(lambda: kinds(c, s) == ["RETRY", "SUCCESS"], "all of it", 20)
    ok, = rows(c, s, "WEBHOOK_DELIVERY_SUCCESS")
    same((ok["actor"]["type"], ok["target"]["objectId"], ok["webhook"]["eventType"]),
         ("SYSTEM", "doc-1", ev["eventType"]), "whose")
    same((ok["result"]["success"], ok["result"]["statusCode"], ok["result"]["attemptCount"]),
         (True, 200, 2), "the result")
    d = ok["details"]
    check(d["payloadSize"] > 0 and "X-NemakiWare-Signature" in d["requestHeaders"], "size and header names", d)
    check("a-secret-of-mine" not in str(ok), "no values", ok)
    same((d["triggerEvent"]["eventId"], d["triggerEvent"]["tenantId"], d["triggerEvent"]["correlationId"]),
         (ev["eventId"], TENANT, ev["correlationId"]), "the event behind it")
    again, = rows(c, s, "WEBHOOK_DELIVERY_RETRY")
    same((again["result"]["success"], again["result"]["statusCode"]), (False, 503), "the retry")
    s, ev = send(c, r, "/std", "standard", [503])
    until(lambda: kinds(c, s) == ["RETRY"], "failures alone", 20)
    s, ev = send(c, r, "/dead", "standard", [400])
    until(lambda: kinds(c, s) == ["FAILURE"], "the end of it", 20)


def test_by_setting(t):
    for word, want in (("all", ["RETRY", "SUCCESS"]), ("failures", ["RETRY"]), ("off", [])):
        srv = t.server(WEBHOOK_AUDIT_DELIVERIES=word)
        c, r = srv.client(), Receiver(t)
        for preset in ("standard", "repository"):
            s, ev = send(c, r, "/" + preset, preset, [503])
            until(lambda: c.get("/v1/deliveries", subscription=s["id"], status="SUCCESS").want(200).json["data"],
                  "it is delivered", 20)
            until(lambda: kinds(c, s) == want, f"{word}, {preset}", 20)
        srv.stop()


def test_resends(t):
    c, r = t.srv.client(), Receiver(t)
    s, ev = send(c, r, "/again", "standard", [])
    d = until(lambda: c.get("/v1/deliveries", subscription=s["id"], status="SUCCESS").want(200).json["data"],
              "it is delivered", 20)[0]
    c.post(f"/v1/deliveries/{d['id']}/retry").want(202)
    row = until(lambda: rows(c, s, "DELIVERY_RESENT"), "audited", 20)[0]
    check(row["actor"]["name"], "who", row)
    same((row["webhook"]["deliveryId"], row["webhook"]["eventType"], row["details"]["eventId"],
          row["details"]["tenantId"]), (d["id"], ev["eventType"], ev["eventId"], TENANT), "what")


def test_correlation(t):
    """In every attempt's line, in deliveries, and to find events by."""
    for settings in ({}, {"EVENT_SEAL_PAYLOAD": "true"}):
        srv = t.server(**settings)
        c, r = srv.client(), Receiver(t)
        s = subscribe(c, r.url("/c"))
        mine = new_id()
        evs = [envelope(correlationId=mine, key="k1"), envelope(), envelope(correlationId=mine.upper(), key="k2"),
               envelope(payload={"correlationId": mine})]
        c.publish(evs).want(200)
        r.wait_for(4, "/c")
        got = until(lambda: (lambda l: l if len(l) == 4 else None)(
            c.get("/v1/deliveries", subscription=s["id"]).want(200).json["data"]), "four", 20)
        same({d["eventId"]: d["correlationId"] for d in got},
             {e["eventId"]: e["correlationId"].lower() for e in evs}, "of deliveries")
        lines = {l["eventId"]: l.get("correlationId") for l in srv.log() if l.get("msg") == "attempt"}
        same(lines, {e["eventId"]: e["correlationId"].lower() for e in evs}, "in each attempt's line")
        found = c.get("/v1/events", correlationId=mine).want(200).json
        same(([e["eventId"] for e in found["data"]], found["next"]),
             ([evs[0]["eventId"], evs[2]["eventId"]], None), "found by it")
        same([e["eventId"] for e in c.get("/v1/events", correlationId=mine, key="k2", tenant=TENANT)
              .want(200).json["data"]], [evs[2]["eventId"]], "and by key and tenant")
        c.get("/v1/events", correlationId="x").want(422, pointer="correlationId")
        srv.stop()


SEVEN = 'if .payload.n == 7 then error("seven") else true end'


def test_before_any_attempt(t):
    """What its filter or template ends, or its order, is told like a delivery that failed."""
    c, r = t.srv.client(), Receiver(t)
    for path, more, tried in (
            ("/filter", {"filter": SEVEN}, 0),
            ("/ordered", {"filter": SEVEN, "order": "key"}, 0),
            ("/blocked", {"filter": SEVEN, "order": "key", "onDead": "block"}, 0),
            ("/template", {"template": SEVEN}, 0),
            ("/gathered", {"filter": SEVEN, "batch": {"mode": "batched", "windowSeconds": 1}}, 0)):
        kind = "early." + path[1:]
        s = subscribe(c, r.url(path), types=[kind], **more)
        ev = envelope(kind, key="doc-7", payload={"n": 7})
        c.publish([envelope(kind, key="doc-7", payload={"n": 1}), ev]).want(200)
        until(lambda: kinds(c, s) == ["FAILURE"], path, 20)
        row, = rows(c, s)
        same((row["target"]["objectId"], row["webhook"]["url"], row["webhook"]["eventType"]),
             ("doc-7", r.url(path), kind), "whose")
        same((row["result"]["success"], row["result"]["attemptCount"]), (False, tried), "the result")
        check("seven" in row["result"]["error"], "why", row)
        e = row["details"]["triggerEvent"]
        same((e["eventId"], e["tenantId"]), (ev["eventId"], TENANT), "the event behind it")
        dead, = c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"]
        same(row["webhook"]["deliveryId"], dead["id"], "the dead letter's id")
    srv = t.server(WEBHOOK_AUDIT_DELIVERIES="off")
    c = srv.client()
    for path, more in (("/f", {}), ("/o", {"order": "key", "onDead": "block"}), ("/b", {"batch": {"mode": "batched",
                                                                                                  "windowSeconds": 1}})):
        s = subscribe(c, r.url(path), filter=SEVEN, **more)
    c.publish([envelope(payload={"n": 1}, key="k"), envelope(payload={"n": 7}, key="k")]).want(200)
    until(lambda: len(c.get("/v1/dead-letters").want(200).json["data"]) == 3, "dead letters", 20)
    same([x["category"] for x in c.get("/v1/audit").want(200).json["data"] if "DELIVERY" in x["category"]], [], "off")
