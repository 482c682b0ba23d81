"""Filters and templates that go wrong: an event ends as delivered, filtered, held or dead."""
import time

import receiver
from hk import TENANT, check, envelope, same, until
from receiver import Receiver

# Ten minutes are one here, and alerts are looked for twice a second.
SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "10"}
COUNTS = "[range(.payload.n)] | length > 0"
BAD = 1000000000


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, "order": "key", **more}).want(201).json


def patch(c, sub, **more):
    return c("PATCH", f"/v1/subscriptions/{sub['id']}", more).want(200).json


def seen(c, sub):
    return c.get(f"/v1/subscriptions/{sub['id']}").want(200).json


def publish(c, n, **more):
    """One event whose payload has n; its id."""
    e = envelope(key="k", payload={"n": n, **more})
    c.publish(e).want(202)
    return e["eventId"]


def dead(c, sub, n, **more):
    """Its dead letters, in the order they died, once there are n."""
    found = until(lambda: (lambda d: d if len(d) >= n else None)(
        c.get("/v1/dead-letters", subscription=sub["id"], **more).want(200).json["data"]),
        f"{n} dead letters", 20)
    same(len(found), n, "dead letters")
    return found[::-1]


def ids(got):
    return [g.json["eventId"] for g in got]


def held(c, sub):
    s = until(lambda: (lambda x: x if x["delivery"]["state"] == "held" else None)(seen(c, sub)),
              "it is held", 20)
    check(s["heldReason"] and s["enabled"], "and says why", s)
    return s


def requeue(c, d):
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {"reason": "mended"}).want(202)


def test_one_event_is_one_dead_letter(t):
    """The attack: one event must not switch off somebody else's subscription."""
    srv, r = t.server(**SETTINGS), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/a"), filter=COUNTS)
    other = subscribe(c, r.url("/b"), filter="[range(.payload.m)] | length > 0")
    bad = publish(c, BAD, m=1)
    good = [publish(c, 1, m=1) for _ in range(5)]
    same(ids(r.wait_for(5, "/a")), good, "all after it, in order")
    same(ids(r.wait_for(6, "/b")), [bad] + good, "nobody else noticed")
    d = dead(c, s, 1)[0]
    same((d["eventId"], d["status"], d["deadLetter"]["reason"]), (bad, "DEAD_LETTER", "FILTER_OVERRAN"), "it")
    check("50 ms" in d["deadLetter"]["error"], "and says why", d)
    same(len(c.get("/v1/dead-letters", subscription=s["id"], reason="FILTER_OVERRAN").want(200).json["data"]),
         1, "listed by its reason")
    same([x["status"] for x in c.get("/v1/deliveries", event=bad, subscription=s["id"]).want(200).json["data"]],
         ["DEAD_LETTER"], "listed by its event")
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same(w["status"], "DEAD_LETTER", "why")
    same((seen(c, s)["delivery"]["state"], seen(c, s)["heldReason"]), ("live", None), "one is not held")
    same(c.get("/v1/dead-letters", subscription=other["id"]).want(200).json["data"], [], "nothing of the other")
    # Put back as it is, it fails again; mended, it goes.
    requeue(c, d)
    until(lambda: dead(c, s, 1)[0]["deadLetter"]["requeues"] == 1, "it is dead again", 20)
    patch(c, s, filter=".payload.n > 0")
    requeue(c, d)
    same(ids(r.wait_for(6, "/a"))[5], bad, "put back, it is delivered")
    same(c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"], [], "none is left")


def test_put_back_and_left_out(t):
    """A mended filter may say no: that settles it, and is told."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    s = subscribe(c, r.url("/a"), filter='if .payload.n == 7 then error("seven") else true end')
    bad, good = publish(c, 7), publish(c, 1)
    d = dead(c, s, 1)[0]
    same((d["eventId"], d["deadLetter"]["reason"]), (bad, "FILTER_FAILED"), "an error")
    check("seven" in d["deadLetter"]["error"], "in jq's words", d)
    patch(c, s, filter=".payload.n != 7")
    requeue(c, d)
    until(lambda: c.get(f"/v1/deliveries/{d['id']}").want(200).json["status"] == "DROPPED", "filtered", 20)
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    check("leaves the event out" in w["reason"], "why", w)
    same(c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"], [], "none is left")
    same(ids(r.at("/a")), [good], "and nothing was sent")


def test_plain_comparison(t):
    """What runs in C follows the same rule."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    s = subscribe(c, r.url("/a"), filter='.payload.o.p == "x"')
    bad, good = publish(c, 1, o="no object"), publish(c, 1, o={"p": "x"})
    same(ids(r.wait_for(1, "/a")), [good], "the other")
    d = dead(c, s, 1)[0]
    same((d["eventId"], d["deadLetter"]["reason"]), (bad, "FILTER_FAILED"), "it")
    check(d["deadLetter"]["error"], "why", d)


def hold_and_mend(t, kill):
    srv, r = t.server(**SETTINGS), Receiver(t)
    c = srv.client()
    subscribe(c, r.url("/ops"), types=["ops.*"])
    s = subscribe(c, r.url("/a"), filter=COUNTS)
    subscribe(c, r.url("/b"))
    sent = [publish(c, n) for n in (1, BAD, BAD, BAD)]
    held(c, s)
    sent += [publish(c, n) for n in (2, BAD, 3)]
    r.wait_for(7, "/b")
    deads = dead(c, s, 3)
    same({d["eventId"] for d in deads}, set(sent[1:4]), "each that it overran on")
    same(ids(r.wait_for(1, "/a")), sent[:1], "nothing after them is sent")
    if kill:
        srv.kill9()
        srv.start()
    else:
        srv.restart()
    sent.append(publish(c, 4))
    r.wait_for(8, "/b")
    now = until(lambda: (lambda x: x if x["delivery"]["lag"] > 0 else None)(held(c, s)), "its lag", 20)
    check("filter overran 3 times within 10 minutes" in now["heldReason"], "survives a restart", now)
    same(len(r.at("/a")), 1, "and holds")
    waits = c.get("/v1/deliveries", event=sent[4], subscription=s["id"]).want(200).json["data"]
    same([x["status"] for x in waits], ["PENDING"], "what waits is listed")
    w = c.get(f"/v1/deliveries/{waits[0]['id']}/why").want(200).json
    same((w["reason"], w["heldReason"]), ("its subscription is held", now["heldReason"]), "and why")
    a = until(lambda: [g.json["payload"] for g in r.at("/ops") if g.json["eventType"] == "ops.alert"
                       and g.json["payload"]["rule"] == "webhook_subscription_held"], "an alert", 20)
    same([(x["state"], x["subscriptionId"]) for x in a], [("firing", s["id"])], "alert")
    lines = [l for l in srv.all_logs().decode().split("\n") if "a subscription is held" in l]
    check(any(s["id"] in l and now["heldReason"] in l for l in lines), "a line", lines)
    same(len(c.get("/v1/audit", category="SUBSCRIPTION_HELD").want(200).json["data"]), 1, "audited")
    # A change of something else lets nothing go.
    same(patch(c, s, name="t")["delivery"]["state"], "held", "another member")
    time.sleep(0.5)
    same(len(r.at("/a")), 1, "still held")
    same(patch(c, s, filter=".payload.n > 0")["heldReason"], None, "mended")
    same(ids(r.wait_for(5, "/a"))[1:], sent[4:], "all that waited, in order")
    for d in deads:
        requeue(c, d)
    r.wait_for(8, "/a")
    same(sorted(ids(r.at("/a"))), sorted(sent), "nothing is skipped")
    until(lambda: seen(c, s)["delivery"]["state"] == "live", "live again", 20)
    until(lambda: [x for x in (g.json["payload"] for g in r.at("/ops") if g.json["eventType"] == "ops.alert")
                   if x["rule"] == "webhook_subscription_held" and x["state"] == "resolved"], "resolved", 30)


def test_three_overruns_hold(t):
    hold_and_mend(t, kill=False)


def test_held_survives_kill(t):
    hold_and_mend(t, kill=True)


def test_enable_goes_on(t):
    """Enabled again with the same filter, it goes on where it stood."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    s = subscribe(c, r.url("/a"), filter=COUNTS)
    for _ in range(3):
        publish(c, BAD)
    held(c, s)
    sent = [publish(c, n) for n in (1, 2)]
    same(c.post(f"/v1/subscriptions/{s['id']}/enable", {}).want(200).json["heldReason"], None, "enabled")
    same(ids(r.wait_for(2, "/a")), sent, "what waited")
    dead(c, s, 3)


def test_errors_hold_too(t):
    """A filter that only raises errors must not fill the table."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    s = subscribe(c, r.url("/a"), filter='error("no")')
    sent = [publish(c, n) for n in range(120)]
    now = held(c, s)
    check("failed over 100 events" in now["heldReason"], "why", now)
    until(lambda: len(c.get("/v1/dead-letters", subscription=s["id"], limit=200).want(200).json["data"]) >= 100,
          "a dead letter each", 20)
    n = len(c.get("/v1/dead-letters", subscription=s["id"], limit=200).want(200).json["data"])
    same(n, 100, "and no more")
    patch(c, s, filter="true")
    until(lambda: len(r.at("/a")) == 120 - n, "the others", 20)
    same(ids(r.at("/a")), sent[n:], "in order, none skipped")


def test_templates(t):
    srv, r = t.server(**SETTINGS), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/a"), template="{n: ([range(.payload.n)] | length), id: .eventId}")
    e = subscribe(c, r.url("/e"), template='if .payload.n > 5 then error("big") else {id: .eventId} end')
    sent = [publish(c, n) for n in (1, BAD, 2)]
    same([g.json["id"] for g in r.wait_for(2, "/a")], [sent[0], sent[2]], "the others")
    d = dead(c, s, 1)[0]
    same((d["eventId"], d["deadLetter"]["reason"]), (sent[1], "TEMPLATE_OVERRAN"), "it")
    check("50 ms" in d["deadLetter"]["error"], "why", d)
    x = dead(c, e, 1)[0]
    same((x["eventId"], x["deadLetter"]["reason"]), (sent[1], "TEMPLATE_FAILED"), "an error")
    check("big" in x["deadLetter"]["error"], "why", x)
    sent += [publish(c, n) for n in (BAD, BAD)]
    check("template overran 3 times" in held(c, s)["heldReason"], "held", seen(c, s))
    sent.append(publish(c, 3))
    same(len(dead(c, e, 3)), 3, "errors alone hold nothing")
    srv.kill9()
    srv.start()
    held(c, s)
    same(len(r.at("/a")), 2, "nothing newer is sent")
    patch(c, s, template="{id: .eventId}")
    same([g.json["id"] for g in r.wait_for(3, "/a")][2], sent[5], "what waited")
    for d in dead(c, s, 3):
        requeue(c, d)
    r.wait_for(6, "/a")
    same(sorted(g.json["id"] for g in r.at("/a")), sorted(sent), "nothing is skipped")


def test_behind_and_replayed(t):
    """A reader of the log follows the same rule as what is live."""
    c, r = t.server(**SETTINGS).client(), Receiver(t)
    s = subscribe(c, r.url("/a"), filter=COUNTS, enabled=False)
    sent = [publish(c, n) for n in (1, BAD, 2)]
    c.post(f"/v1/subscriptions/{s['id']}/enable", {}).want(200)
    same(ids(r.wait_for(2, "/a")), [sent[0], sent[2]], "the others")
    same(dead(c, s, 1)[0]["eventId"], sent[1], "it")
    c.post("/v1/replays", {"subscription": s["id"], "since": "2020-01-01T00:00:00Z"}).want(202)
    r.wait_for(4, "/a")
    same([d["eventId"] for d in dead(c, s, 2)], [sent[1], sent[1]], "one of its own for the replay")
    # The fourth event is the third overrun in a row of a reader.
    same(seen(c, s)["heldReason"], None, "two are not held")


def test_batches(t):
    srv, r = t.server(**SETTINGS), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/a"), types=["order.paid"], filter=COUNTS, preset="standard",
                  batch={"mode": "batched", "windowSeconds": 20, "maxSize": 100})

    def event(n):
        e = envelope(type="order.paid", payload={"n": n})
        c.publish(e).want(202)
        return e["eventId"]

    def batched():
        return [e["eventId"] for g in r.at("/a") for e in (g.json["payload"].get("events") or [])]

    sent = [event(n) for n in (1, BAD, 2)]
    until(lambda: batched() == [sent[0], sent[2]], "the others, in a batch", 30)
    d = dead(c, s, 1)[0]
    same((d["eventId"], d["deadLetter"]["reason"]), (sent[1], "FILTER_OVERRAN"), "it")
    sent += [event(n) for n in (BAD, BAD)]
    held(c, s)
    sent += [event(n) for n in (3, 4)]
    same({x["eventId"] for x in dead(c, s, 3)}, {sent[1], sent[3], sent[4]}, "each")
    srv.kill9()
    srv.start()
    held(c, s)
    patch(c, s, filter=".payload.n > 0")
    until(lambda: batched()[2:] == sent[5:], "what waited, in a batch", 30)
    for x in dead(c, s, 3):
        requeue(c, x)
    until(lambda: sorted(batched() + [g.json["eventId"] for g in r.at("/a")
                                      if g.json["eventType"] == "order.paid"]) == sorted(sent),
          "nothing is skipped", 30)


def test_pull_consumers(t):
    c = t.server(**SETTINGS).client()
    put = {"types": ["Work"], "filter": COUNTS, "order": "none"}
    c("PUT", "/v1/consumers/w", put).want(201)
    sub = next(s for s in c.get("/v1/subscriptions", managedBy="consumer").want(200).json["data"])

    def event(n):
        e = envelope(type="Work", payload={"n": n})
        c.publish(e).want(202)
        return e["eventId"]

    def work(n):
        got = []
        while len(got) < n:
            for x in c.get("/v1/consumers/w/events", max=10, wait=5).want(200).json["data"]:
                c.post("/v1/consumers/w/ack", {"cursors": [x["cursor"]]}).want(200)
                got.append(x["eventId"])
        return got

    sent = [event(n) for n in (1, BAD, 2)]
    same(work(2), [sent[0], sent[2]], "the others")
    same(dead(c, sub, 1)[0]["deadLetter"]["reason"], "FILTER_OVERRAN", "it")
    sent += [event(n) for n in (BAD, BAD, 3)]
    until(lambda: c.get("/v1/consumers/w/events", wait=0).want(200) and
          c.get("/v1/consumers/w").want(200).json["heldReason"], "it is held", 20)
    same(c.get("/v1/consumers/w/events", wait=0).want(200).json["data"], [], "nothing is handed out")
    until(lambda: c.get("/v1/consumers/w").want(200).json["lag"]["events"] > 0, "and shows it", 20)
    c("PUT", "/v1/consumers/w", {**put, "filter": ".payload.n > 0"}).want(200)
    same(work(1), [sent[5]], "mended, it goes on")
    for d in dead(c, sub, 3):
        requeue(c, d)
    same(sorted(work(3)), sorted(sent[1:2] + sent[3:5]), "nothing is skipped")


def test_incoming_source(t):
    """A request that overruns a source's template is one dead letter; the next ones are events."""
    srv = t.server(**SETTINGS)
    c = srv.client()
    c("PUT", "/v1/sources/in", {
        "scheme": "none", "unsafe": True, "defaults": {"tenantId": TENANT, "eventType": "In"},
        "template": '{eventType: "In", payload: {n: ([range(.body.n)] | length)}}'}).want(201)
    for n in (1, BAD, 2, BAD, BAD, BAD, 3):
        srv.connect().post("/in/in", {"n": n}, {"Content-Type": "application/json"}).want(202)
    same([e["payload"]["n"] for e in c.events() if e["eventType"] == "In"], [1, 2, 3], "events")
    refused = [d for d in c.get("/v1/dead-letters").want(200).json["data"] if d.get("source") == "in"]
    same(len(refused), 4, "and dead letters")
