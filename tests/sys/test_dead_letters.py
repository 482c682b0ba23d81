"""Dead letters (E17 to E19): how they come, are listed, requeued, skipped, edited."""
import os
import sqlite3
import time

import hk
import receiver
from hk import TENANT, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def deads(c, **query):
    return c.get("/v1/dead-letters", **query).want(200).json["data"]


def some(c, n, **query):
    return until(lambda: (lambda l: l if len(l) == n else None)(deads(c, limit=1000, **query)),
                 f"{n} dead letters", 20)


def one(c, id):
    return c.get("/v1/deliveries/" + id).want(200).json


def audited(c, category):
    return c.get("/v1/audit", category=category, limit=1000).want(200).json["data"]


def test_after_the_schedule(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/a", lambda q: 503)
    s = subscribe(c, r.url("/a"), retry={"delaysMs": [1000, 2000, 3000]})
    ev = envelope()
    c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    same((d["status"], d["deadLetter"]["reason"], d["deadLetter"]["state"], d["attemptCount"]),
         ("DEAD_LETTER", "EXHAUSTED", "open", 4), "the dead letter")
    same({q.id for q in r.at("/a")}, {d["id"]}, "one id for all tries, and for the dead letter")
    full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
    same(len(full["attempts"]), 4, "all attempts")
    same(full["event"]["eventId"], ev["eventId"], "its event")
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same((w["status"], w["reason"]), ("DEAD_LETTER", "all tries are used up"), "why")
    same(deads(c, subscription=s["id"], reason="HTTP_STATUS"), [], "by another reason")
    same(len(deads(c, subscription=s["id"], reason="EXHAUSTED")), 1, "by its reason")


def test_permanent_at_once_and_requeue(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/p", lambda q: 400)
    s = subscribe(c, r.url("/p"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    same((d["deadLetter"]["reason"], d["attemptCount"]), ("HTTP_STATUS", 1), "4xx is final")
    r.answer_as_usual("/p")
    got = c.post(f"/v1/dead-letters/{d['id']}/requeue", {"reason": "fixed"}).want(202).json
    same(got["id"], d["id"], "it keeps its id")
    same(r.wait_for(2, "/p")[1].id, d["id"], "also on the wire")
    until(lambda: one(c, d["id"])["status"] == "SUCCESS", "it succeeds")
    same(deads(c, subscription=s["id"]), [], "no dead letter is left")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(409, says="requeued")
    row = next(x for x in audited(c, "DEAD_REQUEUED")
               if x["webhook"]["deliveryId"] == d["id"])
    check(row["actor"]["name"], "who", row)
    check("fixed" in str(row), "why", row)


def test_failing_again_is_the_same(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/g", lambda q: 400)
    s = subscribe(c, r.url("/g"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    r.wait_for(2, "/g")
    again = until(lambda: next((x for x in deads(c, subscription=s["id"])
                                if x["attemptCount"] == 2), None), "it is dead again")
    same((again["id"], again["deadLetter"]["requeues"]), (d["id"], 1), "the same one")


def test_skip(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/s", lambda q: 400)
    s = subscribe(c, r.url("/s"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "not needed"}).want(200)
    same(deads(c, subscription=s["id"]), [], "it no longer waits")
    got = one(c, d["id"])["deadLetter"]
    same((got["state"], got["note"]), ("skipped", "not needed"), "what was decided")
    check(got["decidedBy"], "by whom", got)
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "x"}).want(409, says="skipped")
    check(any(x["webhook"]["deliveryId"] == d["id"] for x in audited(c, "DEAD_SKIPPED")),
          "audited")
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"raeson": 1}).want(422)
    c.post(f"/v1/dead-letters/{new_id()}/skip", {}).want(404)


def blocked(t, path):
    """Three of one key, the first dead, with onDead block."""
    c, r = t.srv.client(), Receiver(t)
    key, first = "Account:1:" + new_id(), envelope()
    r.answer(path, lambda q: 400 if q.json["eventId"] == first["eventId"] else None)
    s = subscribe(c, r.url(path), order="key", onDead="block")
    first["sequence"]["partitionKey"] = key
    rest = [envelope(key=key) for _ in range(2)]
    for ev in [first] + rest:
        c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    r.quiet(0.3, path)
    same(r.count(path), 1, "what is behind it waits")
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same(w["status"], "DEAD_LETTER", "why")
    check("holds" in w["reason"], "why", w)
    return c, r, d, [first] + rest


def test_block_and_skip(t):
    c, r, d, events = blocked(t, "/b1")
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "x"}).want(200)
    got = r.wait_for(3, "/b1")
    same([q.json["eventId"] for q in got[1:]], [e["eventId"] for e in events[1:]], "in order")


def test_block_and_requeue(t):
    c, r, d, events = blocked(t, "/b2")
    r.answer_as_usual("/b2")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    got = r.wait_for(4, "/b2")
    same([q.json["eventId"] for q in got[1:]], [e["eventId"] for e in events], "in order")


def test_edit(t):
    """Edited and requeued as a new event that names its cause, for this subscription alone."""
    c, r = t.srv.client(), Receiver(t)
    r.answer("/e", lambda q: 400 if q.json["payload"]["v"] == 1 else None)
    s = subscribe(c, r.url("/e"))
    subscribe(c, r.url("/other"))
    ev = envelope(type="Odd", payload={"v": 1})
    c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": 3}).want(422, pointer="/payload")
    a = c.post(f"/v1/dead-letters/{d['id']}/requeue",
               {"payload": {"v": 2}, "reason": "typo"}).want(202).json
    same(a["requeueOf"], d["id"], "of which")
    got = r.wait_for(2, "/e")[1]
    same((got.id, got.json["eventId"]), (a["id"], a["eventId"]), "the new one")
    same((got.json["payload"], got.json["causationId"], got.json["correlationId"]),
         ({"v": 2}, ev["eventId"], ev["correlationId"]), "edited, with its cause")
    same(deads(c, subscription=s["id"]), [], "the old one is decided")
    r.quiet(0.2, "/other")
    same(r.count("/other"), 1, "nobody else gets it")


def test_edit_frees_a_blocked_key(t):
    c, r, d, events = blocked(t, "/b3")
    a = c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": {"v": 2}}).want(202).json
    got = r.wait_for(4, "/b3")
    same([q.json["eventId"] for q in got[1:]],
         [e["eventId"] for e in events[1:]] + [a["eventId"]], "the key goes on")


def test_pages(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/m", lambda q: 400)
    s = subscribe(c, r.url("/m"), concurrency=4)
    events = [envelope(type="A" if i % 2 else "B") for i in range(20)]
    c.publish(events).want(200)
    all_ = [d["id"] for d in some(c, 20)]
    for query in ({}, {"subscription": s["id"]}):
        got, after = [], {}
        while True:
            page = c.get("/v1/dead-letters", limit=3, **query, **after).want(200).json
            got += [d["id"] for d in page["data"]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        same(got, all_, "all, once, in order")
    # by filter, dry first
    body = {"filter": {"type": "A", "subscription": s["id"]}, "dryRun": True}
    a = c.post("/v1/dead-letters/requeue", body).want(200).json
    same((a["dryRun"], a["matched"], a["requeued"], a["more"]), (True, 10, 10, False), "dry run")
    same(len(deads(c, limit=1000)), 20, "nothing has changed")
    r.answer_as_usual("/m")
    a = c.post("/v1/dead-letters/requeue", {**body, "dryRun": False}).want(200).json
    same((a["requeued"], a["failed"]), (10, 0), "put back")
    r.wait_for(30, "/m")
    some(c, 10)
    for f, at in (({"odd": 1}, None), ({"reason": "x"}, "/filter/reason"),
                  ({"from": "x"}, "/filter/from"), ({"subscription": 1}, "/filter/subscription")):
        c.post("/v1/dead-letters/requeue", {"filter": f}).want(422, pointer=at)
    c.post("/v1/dead-letters/requeue", {}).want(422, pointer="/filter")


def test_by_filter_three_times(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/3", lambda q: 400)
    s = subscribe(c, r.url("/3"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    body = {"filter": {"subscription": s["id"]}}
    for i in range(3):
        a = c.post("/v1/dead-letters/requeue", body).want(200).json
        same(a["requeued"], 1, f"round {i}")
        until(lambda: (lambda l: l and l[0]["attemptCount"] == i + 2)(
            deads(c, subscription=s["id"])), "it is dead again")
    a = c.post("/v1/dead-letters/requeue", body).want(200).json
    same((a["requeued"], a["requeuedTooOften"]), (0, 1), "enough")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)  # by hand it goes


def test_tenants(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/t", lambda q: 400)
    mine = srv.client(srv.new_key("read", "manage", tenants=[TENANT])["key"])
    s1 = subscribe(c, r.url("/t"), tenants=[TENANT])
    s2 = subscribe(c, r.url("/t"))
    c.publish(envelope()).want(202)
    all_ = some(c, 2)
    same([d["subscriptionId"] for d in deads(mine)], [s1["id"]], "its own")
    other = next(d for d in all_ if d["subscriptionId"] == s2["id"])
    mine.get("/v1/dead-letters/" + other["id"]).want(404)
    mine.post(f"/v1/dead-letters/{other['id']}/skip", {}).want(404)
    a = mine.post("/v1/dead-letters/requeue", {"filter": {}, "dryRun": True}).want(200).json
    same(a["matched"], 1, "its own")


def test_survives_kill(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/k", lambda q: 400)
    s = subscribe(c, r.url("/k"))
    c.publish(envelope()).want(202)
    d, = some(c, 1)
    srv.kill9()
    srv.start()
    c = srv.client()
    r.answer_as_usual("/k")
    same([x["id"] for x in deads(c)], [d["id"]], "it is still there")
    until(lambda: c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).status == 202,
          "this node delivers again", 30)
    same(r.wait_for(2, "/k")[1].id, d["id"], "and goes")


def test_heads_and_filters(t):
    """What it is of and what went wrong, also where nothing was sent; and found by these."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/h", lambda q: 400)
    other = new_id()
    s = subscribe(c, r.url("/h"), types=["a.*", "b"])
    bad = subscribe(c, r.url("/x"), types=["c"], template=".payload | error(\"odd: \\(.n)\")")
    evs = [envelope(type="a.one", key="k1", payload={"n": 1}), envelope(type="b", key="k2", tenant=other),
           envelope(type="c", key="k3", payload={"n": 7})]
    for e in evs:
        c.publish(e).want(202)
    some(c, 3)
    by = {d["eventType"]: d for d in deads(c)}
    same([(by[e["eventType"]]["tenantId"], by[e["eventType"]]["key"], by[e["eventType"]]["eventId"])
          for e in evs], [(TENANT, "k1", evs[0]["eventId"]), (other, "k2", evs[1]["eventId"]),
                          (TENANT, "k3", evs[2]["eventId"])], "what they are of")
    check("400" in by["b"]["lastError"], "what the receiver said", by["b"])
    same((by["c"]["deadLetter"]["reason"], "odd: 7" in by["c"]["lastError"], by["c"]["attemptCount"]),
         ("TEMPLATE_FAILED", True, 0), "a template's error")

    def found(**query):
        return sorted(d["eventType"] for d in deads(c, **query))
    for query, want in (({"type": "a.one"}, ["a.one"]), ({"type": "a.*"}, ["a.one"]), ({"type": "a"}, []),
                        ({"tenant": other}, ["b"]), ({"key": "k1"}, ["a.one"]), ({"error": "odd"}, ["c"]),
                        ({"reason": "TEMPLATE_FAILED"}, ["c"]), ({"subscription": bad["id"]}, ["c"]),
                        ({"subscription": s["id"], "tenant": TENANT}, ["a.one"]), ({"source": "outbox"}, []),
                        ({"state": "open"}, ["a.one", "b", "c"]), ({"state": "skipped"}, [])):
        same(found(**query), want, str(query))
        body = {"filter": {k: v for k, v in query.items() if k != "state"}, "dryRun": True}
        if "state" not in query:
            same(c.post("/v1/dead-letters/skip", body).want(200).json["matched"], len(want), str(body))
    for query, at in (({"tenant": "a b"}, "tenant"), ({"state": "odd"}, "state")):
        c.get("/v1/dead-letters", **query).want(422, pointer=at)
    c.post("/v1/dead-letters/skip", {"filter": {"tenant": "a b"}, "reason": "y"}).want(422, pointer="/filter/tenant")
    c.post("/v1/dead-letters/skip", {"filter": {"type": "b"}}).want(422, pointer="/reason")
    a = c.post("/v1/dead-letters/skip", {"filter": {"type": "b"}, "reason": "not theirs"}).want(200).json
    same((a["skipped"], a["failed"], a["next"]), (1, 0, None), "skipped by a filter")
    same((found(), found(state="skipped")), (["a.one", "c"], ["b"]), "by state")
    row, = [x for x in audited(c, "DEAD_SKIPPED")]
    same((row["webhook"]["eventType"], row["details"]["eventId"], row["details"]["tenantId"],
          row["details"]["reason"]), ("b", evs[1]["eventId"], other, "not theirs"), "audited")
    same(until(lambda: metric(srv, "hikyaku_dead_letters_open") == 2.0, "the gauge", 30), True, "counted")


def metric(srv, name):
    text = srv.admin().get("/metrics").want(200).body.decode()
    return next((float(l.split()[-1]) for l in text.splitlines() if l.startswith(name + " ")), None)


def test_skip_asks_for_a_reason(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/w", lambda q: 400)
    s = subscribe(c, r.url("/w"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    for body in ({}, {"reason": None}, {"reason": " "}):
        c.post(f"/v1/dead-letters/{d['id']}/skip", body).want(422, pointer="/reason", says="why")
    same(len(deads(c, subscription=s["id"])), 1, "it still waits")


MANY = 100000


def fill(srv, sub, n):
    """n dead letters, as a long night leaves them; every hundredth is of type rare."""
    lite = not srv.url
    num = "WITH RECURSIVE g(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM g WHERE i < %d)" % n
    typ = "CASE WHEN i % 100 = 0 THEN 'rare' ELSE 'common' END"
    sql = (f"INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues,"
           f" tenant, event_id, type, pkey, error) {num} SELECT {sub}, 1000000 + i, 0, 1000000 + i, 0, 0, 9, 503, 3, 3,"
           f" 1700000000000000 + i, 0, 0, {'randomblob(16)' if lite else 'decode(md5(i::text), $$hex$$)'},"
           f" {'randomblob(16)' if lite else 'decode(md5(i::text), $$hex$$)'}, {typ}, 'k' || (i % 1000),"
           f" 'the receiver answered 503' FROM g")
    if not lite:
        hk.psql(srv.url, sql)
        return
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=30)
    db.execute(sql)
    db.commit()
    db.close()


def test_a_hundred_thousand(t):
    """Lists, filters and bulk work look at a bounded number each, and get to the end."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/many"), types=["none"])
    fill(srv, srv.rows("SELECT id FROM subscription")[0][0], MANY)

    def timed(fn):
        began = time.monotonic()
        got = fn()
        check(time.monotonic() - began < 10, "in time", time.monotonic() - began)
        return got
    page = timed(lambda: c.get("/v1/dead-letters", limit=100).want(200).json)
    same((len(page["data"]), page["data"][0]["seq"]), (100, 1000000 + MANY), "the newest first")
    # one that fits nothing says where it stopped
    page, looks = timed(lambda: c.get("/v1/dead-letters", type="never").want(200).json), 1
    while page["next"]:
        same(page["data"], [], "nothing fits")
        page = timed(lambda: c.get("/v1/dead-letters", type="never", after=page["next"]).want(200).json)
        looks += 1
    check(looks >= 9, "a bounded look each", looks)
    got, after = [], {}
    while after is not None:
        page = timed(lambda: c.get("/v1/dead-letters", type="rare", subscription=s["id"], limit=300,
                                   **after).want(200).json)
        got += [d["seq"] for d in page["data"]]
        after = {"after": page["next"]} if page["next"] else None
    same((len(got), len(set(got))), (MANY // 100, MANY // 100), "all of them, once")
    same(srv.cli("dead", "skip", "--type", "common", "--dry-run").want(0).out.strip(),
         f"{MANY - MANY // 100} would be skipped", "counted")
    body, done, calls = {"filter": {"type": "rare"}, "reason": "the night is over"}, 0, 0
    while True:
        a = timed(lambda: c.post("/v1/dead-letters/skip", body).want(200).json)
        done, calls = done + a["skipped"], calls + 1
        same(a["failed"], 0, "none failed")
        if a["next"] is None:
            break
        body["after"] = a["next"]
    same(done, MANY // 100, "all are given up")
    check(calls >= done // 200, "page by page", calls)
    same(c.get("/v1/dead-letters", state="skipped", limit=1000).want(200).json["data"][0]["deadLetter"]["note"],
         "the night is over", "why")
    until(lambda: metric(srv, "hikyaku_dead_letters_open") == float(MANY - MANY // 100), "the gauge", 60)
