"""From an event to its receiver: signed, retried, held, resumed, stopped."""
import sqlite3
import time

import hk
import receiver
from hk import check, envelope, same, until
from receiver import Receiver, verify

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def test_delivered_and_signed(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/a"))
    check(s["secret"].startswith("whsec_"), "the secret, once", s)
    ev = envelope()
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/a")
    same(got.json, ev, "the envelope as published")
    same(got.headers["Content-Type"], "application/json", "its type")
    check(verify(got, s["secret"]), "Standard Webhooks", got)
    check(not verify(got, "whsec_" + "A" * 32), "no other secret", got)


def test_retried_with_the_same_id(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/b", 500, times=2)
    s = subscribe(c, r.url("/b"))
    c.publish(envelope()).want(202)
    got = r.wait_for(3, "/b")
    same(len({g.id for g in got}), 1, "one deliveryId through its retries")
    check(all(verify(g, s["secret"]) for g in got), "each is signed", got)
    check(got[1].at - got[0].at >= 0.005, "not at once", got)
    r.quiet(0.5, "/b")


def test_final_answers_are_not_retried(t):
    c, r = t.srv.client(), Receiver(t)
    for status in (400, 302):
        r.answer(f"/f{status}", status)
        subscribe(c, r.url(f"/f{status}"))
    c.publish(envelope()).want(202)
    for status in (400, 302):
        r.wait_for(1, f"/f{status}")
    r.quiet(0.5)
    same(r.count("/f400"), 1, "400 once")


def test_gone_disables(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/g", 410)
    s = subscribe(c, r.url("/g"))
    c.publish(envelope()).want(202)
    r.wait_for(1, "/g")
    s = until(lambda: next((x for x in [c.get("/v1/subscriptions/" + s["id"]).want(200).json]
                            if not x["enabled"]), None), "it is disabled")
    check("410" in s["disabledReason"], "and says why", s)


def test_types_tenants_and_filter(t):
    c, r = t.srv.client(), Receiver(t)
    other = "22222222-2222-4222-8222-222222222222"
    subscribe(c, r.url("/types"), types=["feed.item.*", "RecordDeleted"])
    subscribe(c, r.url("/tenants"), tenants=[other])
    subscribe(c, r.url("/filter"), filter=".payload.amount > 100")
    subscribe(c, r.url("/slow"), filter='.payload | tostring | test("want.d")')
    subscribe(c, r.url("/template"), filter=".payload.amount != null",
              template="{id:.eventId, amount:.payload.amount}")
    evs = [envelope(), envelope("feed.item.new", payload={"amount": 1}),
           envelope("x.y", tenant=other, payload={"amount": 101}),
           envelope("x.y", payload={"note": "wanted"})]
    for ev in evs:
        c.publish(ev).want(202)
    for path, want in (("/types", [1]), ("/tenants", [2]), ("/filter", [2]), ("/slow", [3])):
        got = r.wait_for(len(want), path)
        same(sorted(g.json["eventId"] for g in got), sorted(evs[i]["eventId"] for i in want), path)
    got = r.wait_for(2, "/template")
    same(sorted((g.json["amount"], g.json["id"]) for g in got),
         sorted((evs[i]["payload"]["amount"], evs[i]["eventId"]) for i in (1, 2)), "template")
    r.quiet(0.3)


def test_a_restart_keeps_what_waits(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/r"), retry={"delaysMs": [200000, 1000], "jitterMs": 0})
    r.answer("/r", 503, times=1)
    ev = envelope()
    c.publish(ev).want(202)
    first, = r.wait_for(1, "/r")
    srv.restart()
    second = r.wait_for(2, "/r", 15)[1]
    same(second.id, first.id, "the same delivery")
    same(second.json, ev, "the same event")
    check(second.at - first.at > 1.5, "not before its time", second.at - first.at)
    check(verify(second, s["secret"]), "signed", second)
    time.sleep(0.5)  # its result is flushed; before that it may come twice
    srv.kill9()
    srv.start()
    r.quiet(1, "/r")


def test_held_while_disabled(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/h"))
    path = "/v1/subscriptions/" + s["id"]
    c.publish(envelope()).want(202)
    r.wait_for(1, "/h")
    a = c.post(path + "/disable").want(200).json
    check(not a["enabled"] and a["disabledReason"].startswith("disabled by key:"), "why", a)
    same(a["delivery"]["state"], "disabled", "its state")
    time.sleep(0.2)
    evs = [envelope() for _ in range(5)]
    for ev in evs:
        c.publish(ev).want(202)
    r.quiet(0.5, "/h")
    until(lambda: c.get(path).want(200).json["delivery"]["lag"] >= 5, "it is behind by these")
    check(c.post(path + "/enable").want(200).json["enabled"], "it is enabled")
    got = r.wait_for(6, "/h")[1:]
    same(sorted(g.json["eventId"] for g in got), sorted(e["eventId"] for e in evs), "all of them")
    until(lambda: c.get(path).want(200).json["delivery"]["lag"] == 0, "it has caught up")
    r.quiet(0.3, "/h")


def test_enable_from_now(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/n"))
    path = "/v1/subscriptions/" + s["id"]
    for _ in range(3):
        c.post(path + "/disable", {"reason": "away"}).want(200)
        same(c.get(path).want(200).json["disabledReason"], "away", "the reason given")
        for _ in range(20):
            c.publish(envelope()).want(202)
        c.post(path + "/enable", {"from": "now"}).want(200)
        r.clear()
        ev = envelope()
        c.publish(ev).want(202)
        got, = r.wait_for(1, "/n")
        same(got.json["eventId"], ev["eventId"], "what came while it was disabled is left out")
        r.quiet(0.2, "/n")
    c.post(path + "/enable", {"from": "then"}).want(422, pointer="/from")


def test_deleted_stops(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/d", 500)
    s = subscribe(c, r.url("/d"), retry={"delaysMs": [100000] * 5, "jitterMs": 0})
    c.publish(envelope()).want(202)
    r.wait_for(1, "/d")
    c.delete("/v1/subscriptions/" + s["id"]).want(204)
    c.publish(envelope()).want(202)
    r.quiet(2.5, "/d")


def test_rotated_secret(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/k"))
    path = "/v1/subscriptions/" + s["id"]
    new = c.post(path + "/rotate-secret", {"overlapSeconds": 60}).want(200).json
    check(new["secret"].startswith("whsec_") and new["secret"] != s["secret"], "a new one", new)
    same(c.get(path).want(200).json["secret"], "********", "shown once")
    c.publish(envelope()).want(202)
    got, = r.wait_for(1, "/k")
    check(verify(got, new["secret"]) and verify(got, s["secret"]), "both sign meanwhile", got)
    last = c.post(path + "/rotate-secret", {"overlapSeconds": 0}).want(200).json
    until(lambda: c.post(path + "/test").want(200).json["success"], "it is in use")
    got = r.wait_for(2, "/k")[1]
    check(verify(got, last["secret"]) and not verify(got, new["secret"]), "no overlap", got)
    for bad in (-1, 604801, "x"):
        c.post(path + "/rotate-secret", {"overlapSeconds": bad}).want(
            422, pointer="/overlapSeconds")


def test_test_send(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/t"), enabled=False)
    path = f"/v1/subscriptions/{s['id']}/test"
    a = c.post(path).want(200).json
    same({k: a[k] for k in ("success", "statusCode", "error")},
         {"success": True, "statusCode": 200, "error": None}, "a good one")
    check(isinstance(a["responseTimeMs"], int), "its time", a)
    got, = r.wait_for(1, "/t")
    same(got.json["eventType"], "TEST", "its type")
    check(verify(got, s["secret"]), "signed as any other", got)
    mine = {"eventType": "TEST", "payload": {"a": [1, 2.50]}}
    c.post(path, {"event": mine}).want(200)
    same(r.wait_for(2, "/t")[1].json, mine, "the caller's own")
    r.answer("/t", 503)
    a = c.post(path).want(200).json
    check(not a["success"] and a["statusCode"] == 503 and a["error"], "a bad one", a)
    r.quiet(0.3, "/t")
    c.post(path, {"event": 5}).want(422, pointer="/event")
    c.post(path, {"evnt": {}}).want(422, pointer="/evnt")
    r.stop()
    a = c.post(path).want(200).json
    check(not a["success"] and a["statusCode"] is None and a["error"], "nobody there", a)


def test_stats(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/s", 500, times=1)
    s = subscribe(c, r.url("/s"))
    for _ in range(3):
        c.publish(envelope()).want(202)
    r.wait_for(4, "/s")
    path = f"/v1/subscriptions/{s['id']}/stats"
    a = until(lambda: next((x for x in [c.get(path).want(200).json]
                            if x["totals"]["success"] == 3), None), "they are counted")
    same((a["step"], a["totals"]["failure"], a["totals"]["deadLetter"]), ("minute", 1, 0), "totals")
    same(a["totals"]["successRate"], 100, "of those that ended, in percent")
    check(a["totals"]["slowestMs"] >= a["totals"]["averageMs"] > 0, "times", a)
    same(sum(d["success"] for d in a["data"]), 3, "the steps add up")
    same(c.get(path, step="hour").want(200).json["totals"], a["totals"], "by the hour")
    for bad in ({"step": "day"}, {"from": "x"}, {"form": "x"},
                {"from": "2020-01-01T00:00:00Z"},
                {"from": "2020-01-01T00:00:00Z", "to": "2020-01-01T00:00:00Z"}):
        c.get(path, **bad).want(422)
    same(c.get(path, **{"from": "2020-01-01T00:00:00Z", "to": "2020-01-02T00:00:00Z"}
               ).want(200).json["data"], [], "another time")


def rows(srv, table, where="1 = 1"):
    """How many, from the store itself."""
    sql = f"SELECT count(*) FROM {table} WHERE {where}"
    if srv.url:
        return int(hk.psql(srv.url, sql))
    db = sqlite3.connect(srv.data + "/hikyaku.db", timeout=10)
    try:
        return db.execute(sql).fetchone()[0]
    finally:
        db.close()


def test_what_a_deleted_one_leaves(t):
    """Its waiting deliveries, dead letters and counters go, in steps, and the audit tells."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    late = {"delaysMs": [100000] * 9, "jitterMs": 0}
    r.answer("/x", 500)
    r.answer("/y", 400)
    bad = subscribe(c, r.url("/x"), retry=late, order="key")
    dead = subscribe(c, r.url("/y"))
    kept = subscribe(c, r.url("/x?kept"), retry=late)
    for _ in range(3):
        c.publish_ndjson([envelope() for _ in range(300)]).want(200)
    until(lambda: rows(srv, "dead") >= 900, "dead letters", 30)
    until(lambda: rows(srv, "delivery") > 0, "rows that wait")
    for s in (bad, dead):
        c.delete("/v1/subscriptions/" + s["id"]).want(204)
    until(lambda: rows(srv, "subscription", "dropped = 1") == 2, "all is dropped", 20)
    gone = "sub IN (SELECT id FROM subscription WHERE until_seq IS NOT NULL)"
    for table in ("delivery", "reader", "dead", "stat"):
        same(rows(srv, table, gone), 0, f"{table} of the ended ones")
    check(rows(srv, "delivery") + rows(srv, "reader") > 0, "the other one's stay")
    told = c.get("/v1/audit", category="WEBHOOK_DELIVERY_DROPPED").want(200).json["data"]
    check(len(told) >= 3, "a row for each step", told)
    check(any(dead["id"] in str(x) for x in told) and any(bad["id"] in str(x) for x in told),
          "of both", told)
    c.get("/v1/subscriptions/" + kept["id"]).want(200)
    srv.restart()


def test_sealed_anew(t):
    """After a rotation of the keys deliveries verify, and the old key can go."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/z"), auth={"type": "bearer", "token": "the-token"},
                  headers={"X-Key": {"value": "the-header", "secret": True}})
    plain = subscribe(c, r.url("/plain"))

    def good(n):
        c = srv.client()
        c.publish(envelope()).want(202)
        got, = r.wait_for(n, "/z")[n - 1:]
        check(verify(got, s["secret"]), "signed", got)
        same((got.headers["Authorization"], got.headers["X-Key"]),
             ("Bearer the-token", "the-header"), "its secrets")
        check(verify(r.wait_for(n, "/plain")[n - 1], plain["secret"]), "the other")
    good(1)
    before = c.get("/v1/seal").want(200).json
    check(sum(k["values"] for k in before["keys"]) >= 5, "they are counted", before)
    c.post("/v1/seal/rotate").want(202)
    state = until(lambda: next((x for x in [c.get("/v1/seal").want(200).json]
                                if not x["running"]), None), "it is done")
    same([k["values"] for k in state["keys"][1:]], [0], "none of the old key")
    same((state["broken"], state["missing"]), (0, 0), "all were read")
    good(2)
    srv.stop()
    with open(srv.data + "/seal.key") as f:
        lines = f.readlines()
    with open(srv.data + "/seal.key", "w") as f:
        f.write(lines[0])
    srv.start()
    good(3)
