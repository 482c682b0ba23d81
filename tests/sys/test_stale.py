"""dropStale and coalesce: nothing older after something newer; the newest of what waits."""
import os
import random
import sqlite3
import threading
import time
from datetime import datetime, timedelta, timezone

import hk
import receiver
from hk import ROOT, TENANT, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
T0 = datetime(2026, 1, 10, 12, tzinfo=timezone.utc)


def at(n):
    """The version n, as the API's usual text."""
    return (T0 + timedelta(milliseconds=n)).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def change(record, version, type="RecordUpdated", **more):
    if isinstance(version, int):
        version = at(version)
    payload = {"objectName": "Account", "recordId": record, "ownerId": new_id(),
               "changedFields": ["Name"], "deleted": True}
    if version:
        payload["recordVersion"] = version
    key = more.pop("key", f"Account:{TENANT}:{record}")
    return envelope(type, payload=payload,
                    sequence={"partitionKey": key, "recordVersion": version}, **more)


def subscribe(c, r, path, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": r.url(path), **more}).want(201).json


def ids(requests):
    return [g.json["eventId"] for g in requests]


def delivery(c, sub, ev):
    """The delivery of an event, once something is known of it."""
    def look():
        got = c.get("/v1/deliveries", subscription=sub["id"], event=ev["eventId"]).want(200).json["data"]
        return got[0] if got and got[0]["status"] in ("SUCCESS", "DROPPED", "DEAD_LETTER") else None
    return until(look, "it is settled")


def dropped(c, sub, ev, reason):
    d = delivery(c, sub, ev)
    same((d["status"], d["attemptCount"] >= 0), ("DROPPED", True), "its status")
    check(d["droppedAt"] and reason in d["lastError"], "when and why", d)
    why = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same((why["status"], reason in why["reason"]), ("DROPPED", True), "why")
    return d


def stats(c, sub):
    return c.get(f"/v1/subscriptions/{sub['id']}/stats").want(200).json["totals"]


def metric(srv, name):
    for line in srv.admin().get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    return 0


STALE, COALESCED = "newer version", "took its place"


def test_older_versions_are_dropped(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/a", dropStale=True)
    rec, other = new_id(), new_id()
    first = change(rec, 30)
    c.publish(first).want(202)
    r.wait_for(1, "/a")
    late = [change(rec, 10), change(rec, 29, "OwnerChanged")]
    same_save = change(rec, 30, "OwnerChanged")
    for ev in late + [same_save, change(other, 5), change(rec, 31), change(rec, None)]:
        c.publish(ev).want(202)
    got = ids(r.wait_for(5, "/a"))
    for ev in late:
        d = dropped(c, s, ev, STALE)
        same((d["attemptCount"], d["lastAttemptAt"]), (0, None), "nothing was sent")
        one = c.get("/v1/deliveries/" + d["id"]).want(200).json
        same(one["attempts"], [], "no attempt")
        check(ev["eventId"] not in got, "not sent", got)
    check(same_save["eventId"] in got, "an equal version is not older", got)
    r.quiet(0.3, "/a")
    page = c.get("/v1/deliveries", subscription=s["id"], status="DROPPED").want(200).json["data"]
    same({d["eventId"] for d in page}, {e["eventId"] for e in late}, "by status")
    n = stats(c, s)
    same((n["success"], n["failure"], n["dropped"], n["successRate"]), (5, 0, 2, 100), "counters")


def test_without_the_flag_nothing_is_dropped(t):
    c, r = t.srv.client(), Receiver(t)
    subscribe(c, r, "/w")
    rec = new_id()
    for v in (3, 1, 2):
        c.publish(change(rec, v)).want(202)
    r.wait_for(3, "/w")


def test_versions_are_instants(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/i", dropStale=True)
    rec = new_id()
    for form in ("2026-01-10T12:34:56Z", "2026-01-10T12:34:56.000Z", "2026-01-10T21:34:56+09:00"):
        c.publish(change(rec, form)).want(202)
    r.wait_for(3, "/i")
    # As text it is later, as an instant earlier.
    old = change(rec, "2026-01-10T20:00:00+09:00")
    c.publish(old).want(202)
    dropped(c, s, old, STALE)
    c.publish(change(rec, "2026-01-10T12:34:56.001Z")).want(202)
    r.wait_for(4, "/i")


def test_a_deletion_is_a_tombstone(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/d", dropStale=True)
    rec = new_id()
    c.publish(change(rec, 5, "RecordDeleted")).want(202)
    r.wait_for(1, "/d")
    late = [change(rec, 4), change(rec, 1, "RecordCreated")]
    for ev in late:
        c.publish(ev).want(202)
        dropped(c, s, ev, STALE)
    c.publish(change(rec, 6, "RecordCreated")).want(202)
    r.wait_for(2, "/d")
    r.quiet(0.2, "/d")


# The record's events in turn: type, version, and whether it is stale. The same
# for what is sent (dropStale) and for what a consumer applies (lib/sql).
STORIES = (
    (("RecordUpdated", 5, False), ("RecordDeleted", 5, False), ("RecordDeleted", 5, False)),
    (("RecordDeleted", 5, False), ("RecordUpdated", 4, True), ("RecordCreated", 1, True), ("RecordDeleted", 4, True),
     ("RecordUpdated", 5, False), ("RecordUpdated", 4, True), ("RecordCreated", 6, False)),
    (("RecordUpdated", 7, False), ("RecordDeleted", 6, True), ("OwnerChanged", 7, False), ("RecordDeleted", 7, False),
     ("OwnerChanged", 7, False), ("RecordUpdated", 6, True)),
    (("RecordDeleted", None, False), ("RecordUpdated", 3, False), ("RecordDeleted", None, False),
     ("RecordUpdated", 2, True), ("RecordUpdated", 3, False)),
)


def helper_sqlite(t):
    db = sqlite3.connect(":memory:")
    with open(os.path.join(ROOT, "lib/sql/sqlite.sql")) as f:
        db.executescript(f.read())

    def verdict(record, kind, version):
        db.execute("INSERT INTO hikyaku_apply VALUES (?, ?, 'Account', ?, ?, ?)",
                   (TENANT, new_id(), record, version, kind == "RecordDeleted"))
        return db.execute("SELECT verdict FROM hikyaku_verdict").fetchone()[0]
    return verdict


def helper_postgres(t):
    url = hk.pg_database(hk.PG_URL)
    with open(os.path.join(ROOT, "lib/sql/postgres.sql")) as f:
        hk.psql(url, f.read())

    def verdict(record, kind, version):
        when = f"'{version}'" if version else "NULL"
        return hk.psql(url, f"SELECT hikyaku_verdict('{TENANT}', '{new_id()}', 'Account', '{record}', {when}, "
                            f"{kind == 'RecordDeleted'})")
    return verdict


def test_a_deletes_version_is_treated_alike(t):
    c, r = t.srv.client(), Receiver(t)
    helper = (helper_postgres if hk.STORE == "postgres" else helper_sqlite)(t)
    s = subscribe(c, r, "/alike", dropStale=True)
    for story in STORIES:
        rec = new_id()
        for kind, n, stale in story:
            ev = change(rec, n, kind)
            c.publish(ev).want(202)
            d = delivery(c, s, ev)
            same(d["status"], "DROPPED" if stale else "SUCCESS", f"dropStale: {kind} {n} of {story}")
            same(helper(rec, kind, n and at(n)), "stale" if stale else "apply", f"lib/sql: {kind} {n} of {story}")


def test_the_record_is_the_payloads(t):
    """Another partition key, another case, another type: the same record."""
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/p", dropStale=True)
    rec = new_id()
    stage = envelope("StageChanged", key="whatever",
                     payload={"opportunityId": rec, "accountId": new_id(), "oldStageName": "a",
                              "newStageName": "b", "oldIsClosed": False, "newIsClosed": False,
                              "oldIsWon": False, "newIsWon": False, "closeDate": "2026-01-31",
                              "recordVersion": at(9)},
                     sequence={"partitionKey": "whatever", "recordVersion": at(9)})
    c.publish(stage).want(202)
    r.wait_for(1, "/p")
    late = [envelope("RecordUpdated",
                     payload={"objectName": "Opportunity", "recordId": rec.upper(), "ownerId": new_id(),
                              "changedFields": [], "recordVersion": at(8)},
                     sequence={"partitionKey": "another", "recordVersion": at(8)}),
            envelope("my.own.type", payload={},
                     sequence={"partitionKey": f"Opportunity:{TENANT}:{rec}", "recordVersion": at(8)})]
    for ev in late:
        c.publish(ev).want(202)
        dropped(c, s, ev, STALE)
    tenant = "22222222-2222-4222-8222-222222222222"
    c.publish(change(rec, 1, tenant=tenant)).want(202)
    c.publish(change(rec, 1)).want(202)  # an Account with that id
    r.wait_for(3, "/p")


def test_a_retry_comes_too_late(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/r", dropStale=True, order="none", retry={"delaysMs": [100000] * 3, "jitterMs": 0})
    rec = new_id()
    old, new = change(rec, 1), change(rec, 2)
    r.answer("/r", lambda q: 503 if q.json["eventId"] == old["eventId"] else 200)
    c.publish(old).want(202)
    r.wait_for(1, "/r")
    c.publish(new).want(202)
    r.wait_for(2, "/r")
    r.answer_as_usual("/r")
    d = dropped(c, s, old, STALE)
    same(d["attemptCount"], 1, "one call before")
    same(ids(r.at("/r")), [old["eventId"], new["eventId"]], "no second call")


def test_one_of_a_record_at_a_time(t):
    """Without order too: else a slow older one would end behind a newer one."""
    c, r = t.srv.client(), Receiver(t)
    subscribe(c, r, "/o", dropStale=True, order="none")
    subscribe(c, r, "/free", order="none")
    rec = new_id()
    for path in ("/o", "/free"):
        r.answer(path, 200, delay=1, times=1)
    for v in (1, 2):
        c.publish(change(rec, v, key=f"key {v}")).want(202)
    c.publish(change(new_id(), 1)).want(202)
    got = r.wait_for(3, "/o")
    same(got[2].json["sequence"]["recordVersion"], at(2), "the newer one waited")
    check(got[2].at - got[0].at >= 0.9, "for the older one's end", got)
    check(got[1].at - got[0].at < 0.9, "another record did not", got)
    got = r.wait_for(3, "/free")
    check(got[2].at - got[0].at < 0.9, "without dropStale nobody waits", got)


def test_kept_through_kill_9(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r, "/k", dropStale=True)
    recs = [new_id() for _ in range(20)]
    for rec in recs:
        c.publish(change(rec, 5)).want(202)
    r.wait_for(20, "/k")
    until(lambda: stats(c, s)["success"] == 20, "results are stored")
    srv.kill9()
    srv.start()
    c = srv.client()
    late = [change(rec, 4, "RecordCreated") for rec in recs]
    for ev in late:
        c.publish(ev).want(202)
    for ev in late:
        dropped(c, s, ev, STALE)
    srv.restart()
    c = srv.client()
    c.publish(change(recs[0], 3)).want(202)
    c.publish(change(recs[0], 6)).want(202)
    r.wait_for(21, "/k")
    r.quiet(0.3, "/k")
    same(len(srv.rows("SELECT rv FROM version")), 20, "one row a record")
    same(metric(srv, "hikyaku_stale_events_dropped_total"), 1, "since the start")


def shuffled(c, n, recs, dice):
    """n changes of some records, published out of order and now and then twice."""
    evs = [change(rec, v) for v in range(n // len(recs)) for rec in recs]
    dice.shuffle(evs)
    for ev in evs:
        c.publish(ev).want(202)
        if dice.random() < 0.1:
            c.publish(ev).want(202)
    return evs


def newest_last(got, evs):
    """Versions a record got, in order: never back, and the newest in the end."""
    seen = {}
    for q in got:
        rec, v = q.json["payload"]["recordId"], q.json["sequence"]["recordVersion"]
        check(v >= seen.get(rec, ""), "nothing older after something newer", rec, v, seen.get(rec))
        seen[rec] = v
    for ev in evs:
        rec, v = ev["payload"]["recordId"], ev["sequence"]["recordVersion"]
        check(seen.get(rec, "") >= v, "the newest came", rec, v, seen.get(rec))


def test_any_order_with_failures(t):
    for order in ("none", "key"):
        c, r = t.srv.client(), Receiver(t)
        dice, took, lock = random.Random(7), [], threading.Lock()

        def answer(q):
            with lock:
                if dice.random() < 0.3:
                    return 503
            time.sleep(dice.random() / 50)
            with lock:
                took.append(q)
            return 200
        r.answer("/" + order, answer)
        s = subscribe(c, r, "/" + order, dropStale=True, order=order,
                      retry={"delaysMs": [5000] * 20, "jitterMs": 0})
        evs = shuffled(c, 300, [new_id() for _ in range(10)], random.Random(11))
        until(lambda: sum(stats(c, s)[x] for x in ("success", "dropped")) == 300, "all are settled", 60)
        newest_last(took, evs)
        n = stats(c, s)
        same(n["success"], len(took), "successes")
        check(n["dropped"] > 0 and n["deadLetter"] == 0, "some were stale", n)
        c.delete("/v1/subscriptions/" + s["id"]).want(204)


def test_any_order_with_kill_9(t):
    """A crash may repeat what was not written; all is settled, the newest came."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r, "/x", dropStale=True, coalesce=True, order="none")
    r.answer("/x", 200, delay=0.005)
    recs, evs = [new_id() for _ in range(5)], []
    for i in range(3):
        evs += shuffled(c, 100, recs, random.Random(i))
        time.sleep(0.05 * i)
        srv.kill9()
        srv.start()
        c = srv.client()
    left = {ev["eventId"] for ev in evs}

    def settled():
        for id in list(left):
            got = c.get("/v1/deliveries", subscription=s["id"], event=id).want(200).json["data"]
            if got and got[0]["status"] in ("SUCCESS", "DROPPED"):
                left.discard(id)
        return not left
    until(settled, "each is delivered or dropped", 60)
    best = {}
    for q in r.at("/x"):
        rec, v = q.json["payload"]["recordId"], q.json["sequence"]["recordVersion"]
        best[rec] = max(v, best.get(rec, ""))
    for ev in evs:
        check(best[ev["payload"]["recordId"]] >= ev["sequence"]["recordVersion"], "the newest came", ev)
    last = {}
    for q in r.at("/x"):
        last[q.json["payload"]["recordId"]] = q.json["sequence"]["recordVersion"]
    same(last, best, "and last")


def backlog(t, order, restart):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r, "/c", coalesce=True, order=order, retry={"delaysMs": [30000] * 50, "jitterMs": 0})
    r.answer("/c", 503)
    recs = [new_id() for _ in range(10)]
    evs = [change(rec, v) for v in range(100) for rec in recs]
    for i in range(0, 1000, 250):
        c.publish_ndjson(evs[i:i + 250])
        if restart and i == 500:
            time.sleep(0.3)
            srv.kill9()
            srv.start()
            c = srv.client()
    until(lambda: stats(c, s)["dropped"] >= 900, "older ones have gone", 30)
    down = r.count("/c")
    r.answer_as_usual("/c")
    until(lambda: stats(c, s)["success"] + stats(c, s)["dropped"] >= 1000, "all are settled", 60)
    calls = r.at("/c")[down:]
    check(10 <= len(calls) <= 30, "about one call a record", len(calls))
    newest_last(calls, evs)
    for ev in evs[-10:]:
        same(delivery(c, s, ev)["status"], "SUCCESS", "the newest")
    dropped(c, s, evs[500], COALESCED)
    until(lambda: not srv.rows("SELECT seq FROM delivery"), "no row is left")
    if not restart:
        n = stats(c, s)
        same(n["success"] + n["dropped"], 1000, "each is counted once")
        same(metric(srv, "hikyaku_events_coalesced_total"), n["dropped"], "and here")


def test_coalesced_while_down(t):
    backlog(t, "none", False)


def test_coalesced_in_order_while_down(t):
    backlog(t, "key", False)


def test_coalesced_through_kill_9(t):
    backlog(t, "none", True)


def test_coalesced_in_order_through_kill_9(t):
    backlog(t, "key", True)


def test_a_long_backlog_is_coalesced_by_pages(t):
    """Disabled, so that a reader has all of it; one call a record and page at most."""
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/l", coalesce=True, concurrency=1)
    r.answer("/l", 200, delay=0.02)
    path = "/v1/subscriptions/" + s["id"]
    c.post(path + "/disable").want(200)
    recs = [new_id() for _ in range(10)]
    evs = [change(rec, v) for v in range(200) for rec in recs]
    for i in range(0, 2000, 500):
        c.publish_ndjson(evs[i:i + 500])
    c.post(path + "/enable").want(200)
    until(lambda: stats(c, s)["success"] + stats(c, s)["dropped"] == 2000, "all are settled", 60)
    pages = 2000 / 256 + 1
    check(10 <= r.count("/l") <= 10 * pages, "a call a record and page", r.count("/l"))
    newest_last(r.at("/l"), evs)


def test_what_coalesce_leaves_alone(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/n", coalesce=True)
    path = "/v1/subscriptions/" + s["id"]
    c.post(path + "/disable").want(200)
    rec, keep, go = new_id(), [], []
    key = f"Account:{TENANT}:{rec}"
    go += [change(rec, 1), change(rec, 2)]
    keep += [change(rec, 3), change(rec, 3, "OwnerChanged")]  # of one save
    go += [change(rec, 2, "OwnerChanged")]  # published late
    keep += [change(new_id(), 1, key=key), change(rec, 1, tenant="22222222-2222-4222-8222-222222222222")]
    go += [envelope("a.b", key=key, payload={}, sequence={"partitionKey": key, "recordVersion": None})]
    keep += [envelope("a.b", key=key, payload={}, sequence={"partitionKey": key, "recordVersion": None}),
             envelope("a.c", key=key, payload={}, sequence={"partitionKey": key, "recordVersion": None})]
    for ev in go + keep:
        c.publish(ev).want(202)
    c.post(path + "/enable").want(200)
    got = ids(r.wait_for(len(keep), "/n"))
    same(sorted(got), sorted(e["eventId"] for e in keep), "these and no others")
    r.quiet(0.3, "/n")
    for ev in go:
        dropped(c, s, ev, COALESCED)


def test_a_deletion_wins(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r, "/dw", coalesce=True, dropStale=True)
    path = "/v1/subscriptions/" + s["id"]
    c.post(path + "/disable").want(200)
    rec = new_id()
    evs = [change(rec, 1, "RecordCreated"), change(rec, 3, "RecordDeleted"), change(rec, 2)]
    for ev in evs:
        c.publish(ev).want(202)
    c.post(path + "/enable").want(200)
    r.wait_for(1, "/dw")
    r.quiet(0.3, "/dw")
    same(ids(r.at("/dw")), [evs[1]["eventId"]], "the deletion alone")


def test_a_person_gets_what_he_asks_for(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r, "/q", dropStale=True, coalesce=True)
    rec = new_id()
    new, old = change(rec, 2), change(rec, 1)
    c.publish(new).want(202)
    r.wait_for(1, "/q")
    c.publish(old).want(202)
    d = dropped(c, s, old, STALE)
    c.post(f"/v1/deliveries/{d['id']}/retry").want(202)
    same(ids(r.wait_for(2, "/q"))[1], old["eventId"], "sent again")
    until(lambda: delivery(c, s, old)["status"] == "SUCCESS", "delivered")
    c.post("/v1/replays", {"subscription": s["id"], "since": "2020-01-01T00:00:00Z"}).want(202)
    got = ids(r.wait_for(4, "/q"))[2:]
    same(sorted(got), sorted([new["eventId"], old["eventId"]]), "a replay has both")
    late = change(rec, 1)
    c.publish(late).want(202)
    dropped(c, s, late, STALE)  # what was asked for did not set it back


def test_versions_go_with_their_subscription(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    s = subscribe(c, r, "/e", dropStale=True)
    c.publish(change(new_id(), 1)).want(202)
    r.wait_for(1, "/e")
    until(lambda: srv.rows("SELECT rv FROM version"), "a row")
    c.delete("/v1/subscriptions/" + s["id"]).want(204)
    c.publish(envelope()).want(202)
    until(lambda: not srv.rows("SELECT rv FROM version"), "it is gone", 30)
