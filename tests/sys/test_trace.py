"""traceparent: taken, kept with the event, shown, and sent on with a span of its own."""
import re

import receiver
from hk import check, envelope, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100", "DELIVERY_KEEP_BODIES": "all"}
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_carried(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/a", 500, times=1)
    s = c.post("/v1/subscriptions", {"name": "s", "url": r.url("/a"), "types": ["t.*"]}).want(201).json
    ev = envelope("t.one")
    c.publish(ev, {"traceparent": TRACE}).want(202)
    got = r.wait_for(2, "/a")
    seen = [g.headers["traceparent"] for g in got]
    for x in seen:
        check(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", x), "well-formed", x)
        same(x[:36], TRACE[:36], "the same trace")
        check(x != TRACE, "a parent of our own", x)
    same(len(set(seen)), 2, "each try is a span")
    same(got[0].json, {**ev, "traceparent": TRACE}, "with the event")
    same(c.get(f"/v1/events/{ev['eventId']}").want(200).json["traceparent"], TRACE, "the API shows it")

    def attempts():
        data = c.get(f"/v1/deliveries?subscription={s['id']}").want(200).json["data"]
        return c.get(f"/v1/deliveries/{data[0]['id']}").want(200).body.decode() if data else ""
    until(lambda: all(x in attempts() for x in seen), "attempts show what was sent")
    # a repeat under another trace is the same event
    same(c.publish(ev, {"traceparent": TRACE.replace("4bf9", "aaaa")}).json["duplicate"], True, "a repeat")


def test_whose_wins_and_what_is_wrong(t):
    c, r = t.srv.client(), Receiver(t)
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/b"), "types": ["u.*"]}).want(201)
    own = TRACE.replace("4bf9", "beef")
    c.publish(envelope("u.own", traceparent=own), {"traceparent": TRACE}).want(202)
    same(r.wait_for(1, "/b")[0].headers["traceparent"][:36], own[:36], "the event's own")
    for bad in ("", "x", TRACE.upper(), TRACE + "-x", "00-" + "0" * 32 + TRACE[35:]):
        c.publish(envelope("u.bad"), {"traceparent": bad}).want(202)
    c.publish(envelope("u.bad", traceparent="nonsense")).want(202)
    c.publish(envelope("u.bad", traceparent=5)).want(202)
    for g in r.wait_for(8, "/b")[1:]:
        check("traceparent" not in g.headers, "not sent on", g)
    batch = [envelope("u.many"), envelope("u.many")]
    c.post("/v1/events", batch, {"traceparent": TRACE})
    for g in r.wait_for(10, "/b")[8:]:
        same(g.headers["traceparent"][:36], TRACE[:36], "each of a batch")
