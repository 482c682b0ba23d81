"""Looking at deliveries: search, pages, one with its attempts, why it waits, sending again."""
import time

import receiver
from hk import TENANT, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
NEVER = {"delaysMs": [600000000]}  # 100 min, scaled: it waits while a test runs


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def listed(c, **query):
    return c.get("/v1/deliveries", **query).want(200).json["data"]


def pages(c, limit, **query):
    out = []
    while True:
        page = c.get("/v1/deliveries", limit=limit, **query).want(200).json
        check(len(page["data"]) <= limit, "a page is no longer than asked for", page)
        out += page["data"]
        if page["next"] is None:
            return out
        query["after"] = page["next"]


def one(c, id):
    return c.get("/v1/deliveries/" + id).want(200).json


def why(c, id):
    return c.get(f"/v1/deliveries/{id}/why").want(200).json


def test_success(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/a"))
    ev = envelope()
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/a")
    d, = until(lambda: listed(c, subscription=s["id"]), "it is listed")
    same((d["id"], d["eventId"], d["subscriptionId"], d["status"], d["attemptCount"]),
         (got.id, ev["eventId"], s["id"], "SUCCESS", 1), "the delivery")
    same(d["nextAttemptAt"], None, "nothing is to come")
    full = one(c, d["id"])
    a, = full["attempts"]
    same((a["statusCode"], a["success"], a["error"]), (200, True, None), "the attempt")
    check(isinstance(a["durationMs"], int), "durationMs", a)
    same(why(c, d["id"])["reason"], "it was delivered", "why")
    shown = c.get("/v1/events/" + ev["eventId"]).want(200).json["deliveries"]
    same([x["id"] for x in shown], [d["id"]], "with its event")


def test_failing_then_waiting(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/f", lambda q: (503, {"X-Odd": "1"}, b"come later"))
    s = subscribe(c, r.url("/f"), retry=NEVER, headers={"X-Env": "prod"})
    ev = envelope()
    c.publish(ev).want(202)
    d, = until(lambda: listed(c, subscription=s["id"], status="RETRY_PENDING"), "it waits")
    check(d["nextAttemptAt"] > d["lastAttemptAt"], "it has a time", d)
    same((d["lastStatusCode"], d["attemptCount"]), (503, 1), "the last attempt")
    a, = one(c, d["id"])["attempts"]
    same((a["statusCode"], a["success"], a["reason"]), (503, False, "HTTP_STATUS"), "the attempt")
    check("come later" in a["error"], "the error", a)
    check("webhook-id" in a["requestHeaders"].lower(), "request headers", a)
    check("prod" not in a["requestHeaders"], "values are masked", a)
    check("503" in a["responseHead"], "response head", a)
    w = why(c, d["id"])
    same((w["status"], w["reason"]), ("RETRY_PENDING", "it waits for its next attempt"), "why")
    check(w["until"], "until when", w)
    same(listed(c, subscription=s["id"], status="SUCCESS"), [], "no success")


def test_retry_keeps_the_id(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/k", 503, times=1)
    s = subscribe(c, r.url("/k"), retry=NEVER)
    c.publish(envelope()).want(202)
    d, = until(lambda: listed(c, subscription=s["id"], status="RETRY_PENDING"), "it waits")
    same(c.post(f"/v1/deliveries/{d['id']}/retry").want(202).json["id"], d["id"], "its id")
    got = r.wait_for(2, "/k")
    same({q.id for q in got}, {d["id"]}, "the same deliveryId")
    until(lambda: one(c, d["id"])["status"] == "SUCCESS", "it succeeds")
    # one that was delivered goes again
    c.post(f"/v1/deliveries/{d['id']}/retry").want(202)
    got = r.wait_for(3, "/k")
    same(got[2].id, d["id"], "the same deliveryId")
    until(lambda: len(one(c, d["id"])["attempts"]) == 3, "three attempts")
    same([a["number"] for a in one(c, d["id"])["attempts"]], [1, 2, 3], "their numbers")


def test_retry_under_a_new_id(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/n"))
    c.publish(envelope()).want(202)
    got, = r.wait_for(1, "/n")
    until(lambda: listed(c, subscription=s["id"]), "it is listed")
    a = c.post(f"/v1/deliveries/{got.id}/retry?newId=true").want(202).json
    same(a["retryOf"], got.id, "it names the old one")
    got = r.wait_for(2, "/n")
    same(got[1].id, a["id"], "the new id")
    check(got[0].id != got[1].id, "is another")
    same(got[0].body, got[1].body, "the same event")
    same([q.headers["webhook-original-id"] for q in got], [None, got[0].id],
         "the receiver is told which one it repeats")
    d = until(lambda: next((d for d in listed(c, subscription=s["id"]) if d["id"] == a["id"]),
                           None), "it is listed")
    same(d["replayOf"], got[0].id, "it names the old one")
    until(lambda: c.get("/v1/replays/" + a["replay"]).want(200).json["state"] == "done",
          "the replay ends")


def test_pages_and_search(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    s1, s2 = subscribe(c, r.url("/p1")), subscribe(c, r.url("/p2"))
    events = [envelope() for _ in range(25)]
    c.publish(events).want(200)
    r.wait_for(25, "/p1")
    r.wait_for(25, "/p2")
    until(lambda: len(pages(c, 1000)) == 50, "all are listed")
    want = [e["eventId"] for e in reversed(events)]
    for limit in (1, 7, 25, 26):
        same([d["eventId"] for d in pages(c, limit, subscription=s1["id"])], want,
             f"newest first, {limit} at a time")
    both = pages(c, 9)
    same(len({d["id"] for d in both}), 50, "all of them, once")
    same([d["seq"] for d in both], sorted((d["seq"] for d in both), reverse=True), "in order")
    by_event = listed(c, event=want[3])
    same({d["subscriptionId"] for d in by_event}, {s1["id"], s2["id"]}, "by event")
    same(len(listed(c, event=want[3], subscription=s2["id"])), 1, "by both")
    middle = both[24]["receivedAt"]
    newer, older = pages(c, 10, **{"from": middle}), pages(c, 10, to=middle)
    same(len(newer) + len(older), 50, "from and to part them")
    check(all(d["receivedAt"] >= middle for d in newer), "from")
    check(all(d["receivedAt"] < middle for d in older), "to")


def test_bad_input(t):
    c = t.srv.client()
    for query, field in (({"status": "DONE"}, "status"), ({"event": "x"}, "event"),
                         ({"subscription": "x"}, "subscription"), ({"from": "noon"}, "from"),
                         ({"after": "x"}, "after"), ({"limit": "0"}, None), ({"odd": "1"}, None)):
        c.get("/v1/deliveries", **query).want(422, "INVALID_FIELD", field)
    c.get("/v1/deliveries", subscription=new_id()).want(404)
    c.get("/v1/deliveries", event=new_id()).want(404)
    for path in ("", "/why"):
        c.get(f"/v1/deliveries/{new_id()}{path}").want(404)
    c.post(f"/v1/deliveries/{new_id()}/retry").want(404)
    c.get("/v1/deliveries/x").want(404)


def test_why_not(t):
    """Who does not want an event has no delivery of it; who is disabled has one that waits."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    before = envelope()
    c.publish(before).want(202)
    names = ("all", "types", "tenants", "filter", "off", "young")
    subs = {}
    for name in names[:-1]:
        subs[name] = subscribe(c, r.url("/" + name), **{
            "types": {"types": ["Nothing"]}, "tenants": {"tenants": [new_id()]},
            "filter": {"filter": ".payload.objectName == \"X\""}, "off": {"enabled": False},
        }.get(name, {}))
    ev = envelope()
    c.publish(ev).want(202)
    r.wait_for(1, "/all")
    subs["young"] = subscribe(c, r.url("/young"))
    # which ids would they have? A disabled one shows itself as waiting.
    off = until(lambda: listed(c, event=ev["eventId"], subscription=subs["off"]["id"]),
                "the disabled one waits")
    same(off[0]["status"], "PENDING", "status")
    w = why(c, off[0]["id"])
    same((w["status"], w["reason"]), ("PENDING", "its subscription is disabled"), "disabled")
    shown = c.get("/v1/events/" + ev["eventId"]).want(200).json["deliveries"]
    same({(d["subscriptionId"], d["status"]) for d in shown},
         {(subs["all"]["id"], "SUCCESS"), (subs["off"]["id"], "PENDING")}, "with the event")


def test_behind_its_key(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/o", lambda q: 503)
    s = subscribe(c, r.url("/o"), order="key", retry=NEVER)
    key = "Account:1:" + new_id()
    for _ in range(3):
        c.publish(envelope(key=key)).want(202)
    got = until(lambda: (lambda l: l if len(l) == 3 else None)(listed(c, subscription=s["id"])),
                "the first failed, the others have rows", 15)
    same([d["status"] for d in got], ["PENDING", "PENDING", "RETRY_PENDING"], "newest first")
    same(why(c, got[0]["id"])["reason"], "an earlier one of its key is not delivered yet", "why")


def test_tenants(t):
    """A key that is limited to tenants sees its own subscriptions' deliveries."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    other = new_id()
    mine = srv.client(srv.new_key("read", "manage", tenants=[TENANT])["key"])
    s1 = subscribe(c, r.url("/t1"), tenants=[TENANT])
    s2 = subscribe(c, r.url("/t2"), tenants=[other])
    s3 = subscribe(c, r.url("/t3"))
    c.publish(envelope()).want(202)
    c.publish(envelope(tenant=other)).want(202)
    r.wait_for(1, "/t1")
    r.wait_for(1, "/t2")
    r.wait_for(2, "/t3")
    all_ = until(lambda: (lambda l: l if len(l) == 4 else None)(listed(c)), "four")
    same({d["subscriptionId"] for d in listed(mine)}, {s1["id"]}, "its own")
    for s in (s2, s3):
        mine.get("/v1/deliveries", subscription=s["id"]).want(404)
    for d in all_:
        status = 200 if d["subscriptionId"] == s1["id"] else 404
        mine.get("/v1/deliveries/" + d["id"]).want(status)
        mine.get(f"/v1/deliveries/{d['id']}/why").want(status)
        mine.post(f"/v1/deliveries/{d['id']}/retry").want(202 if status == 200 else 404)
    reader = srv.client(srv.new_key("read")["key"])
    reader.post(f"/v1/deliveries/{all_[0]['id']}/retry").want(403)


def test_dropped_with_its_subscription(t):
    """What a deleted subscription still had is in the audit, and why it went."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/z"))
    r.answer("/z", 500)
    c.publish(envelope()).want(202)
    r.wait_for(1, "/z")
    until(lambda: listed(c, subscription=s["id"], status="RETRY_PENDING"), "it waits")
    c.delete("/v1/subscriptions/" + s["id"]).want(204)
    rows = until(lambda: [x for x in srv.admin().get(
        "/v1/audit", category="WEBHOOK_DELIVERY_DROPPED").want(200).json["data"]
        if s["id"] in str(x)], "it is audited", 30)
    same((rows[0]["result"]["success"], rows[0]["result"]["error"]),
         (False, "the subscription was deleted"), "why")
