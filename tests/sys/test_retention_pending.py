"""What somebody still waits for stays in the log past its time, up to a bound, and goes with notice."""
import time

import receiver
from hk import check, envelope, now, same, until
from receiver import Receiver
from test_consumers import ack, fetch_all, make

KEEP = 2  # seconds; in life it is days
SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100", "EVENT_RETENTION_DAYS": f"{KEEP}s",
            "EVENT_DEDUPE_DAYS": f"{KEEP}s", "EVENT_RETENTION_PENDING": "1h"}
MANY = 50


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def switch(c, s, on):
    c("PATCH", "/v1/subscriptions/" + s["id"], {"enabled": on}).want(200)


def fill(c, n=MANY, **kw):
    events = [envelope(**kw) for _ in range(n)]
    c.publish(events).want(200)
    return [e["eventId"] for e in events]


def deads(c, s):
    return c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"]


def ranges(c, s):
    return [d["deadLetter"] for d in deads(c, s) if "seqTo" in d["deadLetter"]]


def past_its_time(c):
    """Somebody publishes on, and retention has had its turns."""
    end = time.monotonic() + 2 * KEEP + 1
    while time.monotonic() < end:
        c.publish(envelope(type="Other")).want(202)
        time.sleep(0.2)


def gone(c, eid):
    c.publish(envelope(type="Other")).want(202)  # the newest entry always stays
    return c.get("/v1/events/" + eid).status == 404


def test_a_disabled_subscription_goes_on_where_it_stood(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    before = fill(c, 5, type="Other")
    s = subscribe(c, r.url("/d"), types=["RecordUpdated"])
    fill(c, 1)
    r.wait_for(1, "/d")
    switch(c, s, False)
    ids = fill(c)
    past_its_time(c)
    until(lambda: gone(c, before[-1]), "what nobody waits for goes")
    srv.restart()
    c = srv.client()
    past_its_time(c)
    same([e for e in ids if c.get("/v1/events/" + e).status != 200], [], "all are there")
    switch(c, s, True)
    got = [q.json["eventId"] for q in r.wait_for(1 + MANY, "/d")[1:]]
    same(sorted(got), sorted(ids), "all of them, once")
    same(deads(c, s), [], "no dead letter")
    until(lambda: gone(c, ids[-1]), "then they go")


def test_rows_wait_too(t):
    """A few that failed before it was disabled: they have rows, not a place to read from."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    r.answer("/w", 503)
    s = subscribe(c, r.url("/w"), types=["RecordUpdated"], retry={"delaysMs": [600000] * 9})
    ids = fill(c, 3)
    until(lambda: len(c.get("/v1/deliveries", subscription=s["id"], status="RETRY_PENDING")
                      .want(200).json["data"]) == 3, "they wait")
    switch(c, s, False)
    r.answer_as_usual("/w")
    past_its_time(c)
    switch(c, s, True)

    until(lambda: len(c.get("/v1/deliveries", subscription=s["id"], status="SUCCESS")
                      .want(200).json["data"]) == 3, "delivered")
    same(deads(c, s), [], "no dead letter")


def test_a_consumer_that_nobody_asks_for(t):
    srv = t.server()
    c = srv.client()
    name = make(c, types=["RecordUpdated"])
    ids = fill(c)
    past_its_time(c)
    got = fetch_all(c, name, MANY, max=100)
    same([e["eventId"] for e in got], ids, "all of them")
    same(set(ack(c, name, got)), {"acked"}, "acked")


def test_a_replay_that_takes_its_time(t):
    srv, r = t.server(TIME_SCALE="1"), Receiver(t)
    c = srv.client()
    begin = now()
    s = subscribe(c, r.url("/p"), types=["RecordUpdated"])
    ids = fill(c, 12)
    r.wait_for(12, "/p")
    p = c.post("/v1/replays", {"subscription": s["id"], "since": begin, "ratePerSecond": 2}).want(202).json
    got = r.wait_for(24, "/p")[12:]
    same([q.json["eventId"] for q in got], ids, "all of them")
    until(lambda: c.get("/v1/replays/" + p["id"]).want(200).json["state"] == "done", "it ends")


def test_nobody_delivers(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/n"), types=["RecordUpdated"])
    fill(c, 1)
    r.wait_for(1, "/n")
    srv.stop()
    srv.settings["WEBHOOK_ENABLED"] = "false"
    srv.start()
    c = srv.client()
    ids = fill(c)
    past_its_time(c)
    srv.stop()
    del srv.settings["WEBHOOK_ENABLED"]
    srv.start()
    got = [q.json["eventId"] for q in r.wait_for(1 + MANY, "/n")[1:]]
    same(sorted(got), sorted(ids), "all of them")
    same(deads(srv.client(), s), [], "no dead letter")


def test_nobody_delivered_for_too_long(t):
    srv, r = t.server(EVENT_RETENTION_PENDING="3s"), Receiver(t)
    s = subscribe(srv.client(), r.url("/m"), types=["RecordUpdated"])
    fill(srv.client(), 1)
    r.wait_for(1, "/m")
    srv.stop()
    srv.settings["WEBHOOK_ENABLED"] = "false"
    srv.start()
    c = srv.client()
    ids = fill(c)
    until(lambda: gone(c, ids[-1]), "they go")
    srv.stop()
    del srv.settings["WEBHOOK_ENABLED"]
    srv.start()
    d, = until(lambda: ranges(srv.client(), s), "a dead letter for the stretch")
    same(d["reason"], "EXPIRED", "its reason")
    check(d["seqTo"] - d["seqFrom"] + 1 >= MANY, "all of them", d)


def test_past_its_age_it_goes_with_notice(t):
    """One dead letter for all that went, though the subscription stays disabled."""
    srv, r = t.server(EVENT_RETENTION_PENDING="4s"), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/j"), types=["RecordUpdated"], enabled=False)
    first = fill(c)
    until(lambda: gone(c, first[-1]), "they go")
    d, = until(lambda: [d for d in ranges(c, s) if d["seqTo"] - d["seqFrom"] + 1 >= MANY], "its dead letter")
    same((d["reason"], d["state"]), ("EXPIRED", "open"), "dead letter")
    until(lambda: any(l.get("msg") == "events went before they were delivered" for l in srv.log()), "a line")
    told = [x for x in c.get("/v1/audit", category="WEBHOOK_DELIVERY_FAILURE", limit=1000).want(200).json["data"]
            if x["webhook"]["webhookId"] == s["id"]]
    check(told and told[-1]["details"]["seqFrom"] == d["seqFrom"] and told[0]["details"]["seqTo"] <= d["seqTo"]
          and told[0]["webhook"]["url"] == r.url("/j") and not told[0]["result"]["success"], "the audit", told, d)
    young = fill(c, 5)
    switch(c, s, True)
    r.wait_for(5, "/j", when=lambda q: q.json["eventId"] in young)


def test_past_its_bytes_the_oldest_go(t):
    srv, r = t.server(EVENT_RETENTION_PENDING_BYTES="200000"), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/b"), types=["Big"], enabled=False)
    ids = []
    for _ in range(10):
        ids += fill(c, 10, type="Big", payload={"text": "x" * 9000})
    there = lambda: [e for e in ids if c.get("/v1/events/" + e).status == 200]
    until(lambda: gone(c, ids[70]), "the oldest go", 60, 0.2)
    until(lambda: ranges(c, s), "a dead letter")
    past_its_time(c)
    left = there()
    same(left, ids[len(ids) - len(left):], "the oldest went")
    check(10 <= len(left) <= 25, "what 200000 bytes hold", len(left))
    d, = ranges(c, s)
    check(d["seqTo"] - d["seqFrom"] + 1 >= len(ids) - len(left), "counted in one", d, len(left))
    switch(c, s, True)
    got = [q.json["eventId"] for q in r.wait_for(len(left), "/b")]
    same(sorted(got), sorted(left), "the others arrive")


def test_an_alert_at_half(t):
    srv, r = t.server(EVENT_RETENTION_PENDING="12s", TIME_SCALE="1000"), Receiver(t)
    c = srv.client()
    subscribe(c, r.url("/ops"), types=["ops.alert"])
    s = subscribe(c, r.url("/h"), types=["RecordUpdated"], enabled=False)
    fill(c)
    told = lambda state: [q.json["payload"] for q in r.at("/ops") if q.json["payload"]["state"] == state
                          and q.json["payload"]["rule"] == "webhook_pending"]
    a = until(lambda: told("firing"), "an alert", 60)[0]
    check(a["value"] > 50 and a["severity"] == "warning", "value", a)
    same(ranges(c, s), [], "before anything went") if a["value"] < 90 else None
    switch(c, s, True)
    until(lambda: told("resolved"), "it ends", 60)
    check("\nwebhook_pending " in c.get("/metrics").want(200).body.decode(), "a gauge")
