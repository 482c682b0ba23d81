"""Replays: a stretch of the log once more, beside everything else."""
import time

import receiver
from hk import TENANT, check, envelope, new_id, now, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def replay(c, s, since, **more):
    return c.post("/v1/replays", {"subscription": s["id"], "since": since, **more}).want(202).json


def state(c, p):
    return c.get("/v1/replays/" + p["id"]).want(200).json


def ended(c, p, seconds=20):
    return until(lambda: (lambda x: x if x["state"] != "running" else None)(state(c, p)),
                 "the replay ends", seconds)


def fill(c, n, **kw):
    events = [envelope(**kw) for _ in range(n)]
    c.publish(events).want(200)
    return [e["eventId"] for e in events]


def test_all_once_more(t):
    c, r = t.srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/a"), order="key", types=["RecordUpdated"])
    key = "Account:1:" + new_id()
    ids = fill(c, 30, key=key)
    fill(c, 5, type="Other", key=key)
    first = r.wait_for(30, "/a")
    p = replay(c, s, begin)
    same(p["total"], 30, "what matches is counted")
    got = r.wait_for(60, "/a")[30:]
    same([q.json["eventId"] for q in got], ids, "the same, in the order of the key")
    check(not {q.id for q in got} & {q.id for q in first}, "with ids of their own")
    last = ended(c, p)
    same((last["state"], last["done"]), ("done", last["total"]), "the end")
    check(last["endedAt"], "when", last)
    check(any(x["id"] == p["id"] for x in c.get("/v1/replays").want(200).json["data"]), "listed")
    r.quiet(0.3, "/a")
    d = c.get("/v1/deliveries/" + got[0].id).want(200).json
    same((d["status"], d["replayOf"]), ("SUCCESS", first[0].id), "of which it is another")
    check(c.get("/v1/audit", category="REPLAY_STARTED").want(200).json["data"], "audited")


def test_older_than_the_subscription(t):
    c, r = t.srv.client(), Receiver(t)
    begin = now()
    ids = fill(c, 5, type="Early")
    s = subscribe(c, r.url("/o"))
    replay(c, s, begin, types=["Early"])
    got = r.wait_for(5, "/o")
    same(sorted(q.json["eventId"] for q in got), sorted(ids), "those before it was made")


def test_part_by_time_and_type(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/t"))
    fill(c, 3, type="A")
    time.sleep(0.05)
    since = now()
    time.sleep(0.05)
    want = fill(c, 4, type="A")
    fill(c, 4, type="B")
    other = fill(c, 2, type="fam.x")
    time.sleep(0.05)
    upto = now()
    time.sleep(0.05)
    fill(c, 3, type="A")
    r.wait_for(16, "/t")
    p = replay(c, s, since, until=upto, types=["A", "fam.*"])
    got = r.wait_for(22, "/t")[16:]
    same({q.json["eventId"] for q in got}, set(want + other), "of that time and these types")
    ended(c, p)
    r.quiet(0.2, "/t")


def test_rate(t):
    c, r = t.srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/r"))
    fill(c, 30)
    r.wait_for(30, "/r")
    p = replay(c, s, begin, ratePerSecond=20)
    got = r.wait_for(60, "/r", 30)[30:]
    took = got[-1].at - got[0].at
    check(1.0 < took < 6, "30 at 20 a second", took)
    same(ended(c, p)["ratePerSecond"], 20, "as asked")


def test_across_a_restart(t):
    """Its place, rate and types survive."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/x"), types=["A", "B"])
    ids = fill(c, 40, type="A")
    fill(c, 10, type="B")
    r.wait_for(50, "/x")
    p = replay(c, s, begin, ratePerSecond=20, types=["A"])
    r.wait_for(60, "/x")
    srv.kill9()
    before = r.count("/x")
    srv.start()
    c = srv.client()
    at = time.monotonic()
    same(state(c, p)["state"], "running", "it goes on")
    last = ended(c, p, 40)
    took = time.monotonic() - at
    got = r.at("/x")[50:]
    same({q.json["eventId"] for q in got}, set(ids), "all of type A, none of B")
    check(len(got) <= 40 + 12, "few come twice", len(got))
    check(took > (90 - before) / 20 * 0.5, "at its rate", took)
    same(last["done"], last["total"], "the end")


def test_stop(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/s"))
    fill(c, 50)
    r.wait_for(50, "/s")
    p = replay(c, s, begin, ratePerSecond=5)
    r.wait_for(52, "/s")
    c.delete("/v1/replays/" + p["id"]).want(204)
    same(state(c, p)["state"], "stopped", "its state")
    time.sleep(1)
    n = r.count("/s")
    check(n < 75, "it stopped", n)
    r.quiet(1.0, "/s")
    c.delete("/v1/replays/" + p["id"]).want(409)
    srv.restart()
    c = srv.client()
    r.quiet(0.7, "/s")
    same(state(c, p)["state"], "stopped", "also after a restart")
    # and the subscription itself goes on
    c.publish(envelope()).want(202)
    r.wait_for(n + 1, "/s")


def test_bad_input(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/b"))
    good = {"subscription": s["id"], "since": "2020-01-01T00:00:00Z"}
    for bad, at in (({"since": "x"}, "/since"), ({"since": None}, "/since"),
                    ({"until": "2019-01-01T00:00:00Z"}, "/until"), ({"types": []}, "/types"),
                    ({"types": ["a b"]}, "/types"), ({"ratePerSecond": 0}, "/ratePerSecond"),
                    ({"exclusive": 1}, "/exclusive"), ({"subscription": "x"}, "/subscription"),
                    ({"odd": 1}, None)):
        c.post("/v1/replays", {**good, **bad}).want(422, "INVALID_FIELD", at)
    c.post("/v1/replays", {**good, "subscription": new_id()}).want(404)
    c.post("/v1/replays", {**good, "since": "2199-01-01T00:00:00Z"}).want(422, pointer="/since")
    c.get("/v1/replays/" + new_id()).want(404)
    c.delete("/v1/replays/" + new_id()).want(404)


def test_exclusive(t):
    """What is newer waits until all of it has arrived, also across a crash."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    begin = now()
    s = subscribe(c, r.url("/e"), order="key")
    key = "Account:1:" + new_id()
    ids = fill(c, 20, key=key)
    r.wait_for(20, "/e")
    p = replay(c, s, begin, ratePerSecond=10, exclusive=True)
    check(state(c, p)["exclusive"], "as asked", state(c, p))
    newer = fill(c, 5, key=key) + fill(c, 5)
    c.post("/v1/replays", {"subscription": s["id"], "since": begin, "exclusive": True}).want(
        409, says="runs already")
    r.wait_for(25, "/e")
    srv.kill9()
    srv.start()
    c = srv.client()
    last = ended(c, p, 40)
    same((last["state"], last["done"]), ("done", last["total"]), "the end")
    until(lambda: {q.json["eventId"] for q in r.at("/e")} >= set(newer), "the newer come", 30)
    got, seen = [], set()
    for q in r.at("/e")[20:]:
        if q.json["eventId"] not in seen:
            got.append(q.json["eventId"])
        seen.add(q.json["eventId"])
    same(got[:20], ids, "the replay, in order, before all that is newer")
    same(set(got[20:]), set(newer), "then what came meanwhile")
    same([x for x in got[20:] if x in newer[:5]], newer[:5], "which is in order too")
    last = fill(c, 1, key=key)[0]
    until(lambda: last in {q.json["eventId"] for q in r.at("/e")}, "then all is as it was", 30)


def test_exclusive_fails(t):
    """One of it that fails holds what is newer; nothing else does."""
    c, r = t.srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/f"))
    other = subscribe(c, r.url("/g"))
    ids = fill(c, 3)
    r.wait_for(3, "/f")
    r.answer("/f", 500, times=2)
    p = replay(c, s, begin, types=["RecordUpdated"], exclusive=True)
    newer = fill(c, 3)
    r.wait_for(6, "/g")
    r.wait_for(3 + 3 + 2 + 3, "/f", 20)
    got = [q.json["eventId"] for q in r.at("/f")[3:]]
    same(set(got[:5]), set(ids), "all of it first, each again until it is there")
    same(set(got[5:]), set(newer), "then the newer")
    same(ended(c, p)["state"], "done", "the end")
    same(other["enabled"], True, "the other one")


def test_exclusive_without_sense(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/n"), ratePerSecond=1)
    off = subscribe(c, r.url("/m"), enabled=False)
    for _ in range(3):
        fill(c, 1000)
    time.sleep(0.05)
    late = now()
    time.sleep(0.05)
    fill(c, 10)
    ask = {"since": late, "exclusive": True}
    c.post("/v1/replays", {**ask, "subscription": s["id"]}).want(
        409, pointer="/exclusive", says="has not come to")
    c.post("/v1/replays", {**ask, "subscription": off["id"]}).want(
        409, pointer="/exclusive", says="disabled")
    for x in (s, off):
        c.delete("/v1/subscriptions/" + x["id"]).want(204)


def test_stopped_exclusive(t):
    c, r = t.srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/h"))
    fill(c, 30)
    r.wait_for(30, "/h")
    p = replay(c, s, begin, ratePerSecond=2, exclusive=True)
    newer = fill(c, 3)
    r.wait_for(31, "/h")
    c.delete("/v1/replays/" + p["id"]).want(204)
    until(lambda: {q.json["eventId"] for q in r.at("/h")} >= set(newer), "the newer come")


def test_by_seq_key_and_tenant(t):
    """Some of the log alone; total counts these, and the end is after the beginning."""
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/some"))
    other = new_id()
    evs = [envelope(key=k, tenant=w) for k, w in (("a", TENANT), ("b", TENANT), ("a", other), ("a", TENANT))]
    seqs = [c.publish(e).want(202).json["seq"] for e in evs]
    r.wait_for(4, "/some")
    base = {"subscription": s["id"]}
    n = 4
    for body, want in (({"fromSeq": seqs[1], "toSeq": seqs[2]}, [1, 2]), ({"fromSeq": seqs[0], "key": "a"}, [0, 2, 3]),
                       ({"fromSeq": 1, "tenant": other}, [2]),
                       ({"fromSeq": seqs[1], "key": "a", "tenant": TENANT}, [3])):
        p = c.post("/v1/replays", {**base, **body}).want(202).json
        same(p["total"], len(want), f"{body}: how many")
        last = ended(c, p)
        same((last["done"], last["total"]), (len(want), len(want)), "all of them")
        check(last["endedAt"] >= last["createdAt"], "it ends after it begins", last)
        n += len(want)
        got = r.wait_for(n, "/some")[n - len(want):]
        same(sorted(q.json["eventId"] for q in got), sorted(evs[i]["eventId"] for i in want), str(body))
        same((last["key"], last["tenant"]), (body.get("key"), body.get("tenant")), "as asked for")
    r.quiet(0.3, "/some")
    same(r.count("/some"), n, "no others")
    for body, at in (({}, "/since"), ({"since": now(), "fromSeq": 1}, "/since"), ({"fromSeq": 0}, "/fromSeq"),
                     ({"fromSeq": 5, "toSeq": 4}, "/toSeq"), ({"fromSeq": 1, "tenant": "a b"}, "/tenant"),
                     ({"fromSeq": 10 ** 9}, "/fromSeq")):
        c.post("/v1/replays", {**base, **body}).want(422, pointer=at)
