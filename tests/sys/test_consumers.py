"""Pull consumers: events under a lease, to workers that share them."""
import json
import threading
import time

from hk import SLOW, TENANT, check, envelope, new_id, now, same, until

SETTINGS = {"TIME_SCALE": "1000"}


def make(c, name=None, want=201, **conf):
    name = name or "c-" + new_id()[:8]
    c("PUT", "/v1/consumers/" + name, conf).want(want)
    return name


def fetch(c, name, **query):
    return c.get(f"/v1/consumers/{name}/events", **query).want(200).json["data"]


def fetch_all(c, name, n, seconds=20, **query):
    """At least n, in as many calls as it takes."""
    got, end = [], time.monotonic() + seconds * SLOW
    while len(got) < n and time.monotonic() < end:
        got += fetch(c, name, wait=1, **query)
    same(len(got), n, "fetched")
    return got


def answer(c, name, verb, events, **more):
    cursors = [e["cursor"] for e in events]
    r = c.post(f"/v1/consumers/{name}/{verb}", {"cursors": cursors, **more}).want(200).json["results"]
    same([x["cursor"] for x in r], cursors, "one result each, in order")
    return r


def ack(c, name, events):
    return [x["status"] for x in answer(c, name, "ack", events)]


def nack(c, name, events, **more):
    return answer(c, name, "nack", events, **more)


def show(c, name):
    return c.get("/v1/consumers/" + name).want(200).json


def fill(c, n, **kw):
    events = [envelope(**kw) for _ in range(n)]
    c.publish(events).want(200)
    return [e["eventId"] for e in events]


def ids(events):
    return [e["eventId"] for e in events]


def test_fetch_and_ack(t):
    c = t.srv.client()
    name = make(c)
    e = envelope(payload={"n": 1.50, "text": "ü"})
    c.publish(e).want(202)
    got = fetch_all(c, name, 1)
    x = got[0]
    same((x["eventId"], x["payload"], x["attempt"]), (e["eventId"], e["payload"], 1), "the event")
    check(x["leaseUntil"] > now() and x["seq"] > 0, "a lease", x)
    same(fetch(c, name), [], "it is with a worker")
    same(show(c, name)["inFlight"], 1, "shown")
    same(ack(c, name, got), ["acked"], "ack")
    same(ack(c, name, got), ["done"], "twice is as good")
    same(nack(c, name, got)[0]["status"], "done", "too late for that")
    d = c.get("/v1/deliveries/" + x["deliveryId"]).want(200).json
    same((d["status"], d["attemptCount"]), ("SUCCESS", 1), "a delivery like others")
    s = show(c, name)
    same((s["inFlight"], s["lag"]["events"], s["dead"]), (0, 0, 0), "nothing is left")


def test_only_from_now_on(t):
    c = t.srv.client()
    begin = now()
    old = fill(c, 3, type="FromHere")
    seq = c.get("/v1/events/" + old[1]).want(200).json["seq"]
    same(fetch(c, make(c, types=["FromHere"])), [], "what was before it")
    name = make(c, **{"from": "start"}, types=["FromHere"])
    same(ids(fetch_all(c, name, 3)), old, "from the start")
    name = make(c, **{"from": begin}, types=["FromHere"])
    same(ids(fetch_all(c, name, 3)), old, "from a time")
    name = make(c, **{"from": seq}, types=["FromHere"])
    same(ids(fetch_all(c, name, 2)), old[1:], "from a place")
    more = fill(c, 2, type="FromHere")
    same(ids(fetch_all(c, name, 2)), more, "and on")


def test_long_poll(t):
    c, other = t.srv.client(), t.srv.client()
    name = make(c)
    got = []
    at = time.monotonic()
    w = threading.Thread(target=lambda: got.extend(fetch(c, name, wait=15)))
    w.start()
    until(lambda: show(other, name)["waiting"] == 1, "it waits")
    want = fill(other, 1)
    w.join()
    took = time.monotonic() - at
    same(ids(got), want, "as soon as it is there")
    check(took < 10, "not at the end", took)
    at = time.monotonic()
    same(fetch(other, name, wait=1), [], "nothing")
    check(time.monotonic() - at >= 0.9, "it waited")


def test_max(t):
    c = t.srv.client()
    name = make(c, order="none")
    want = fill(c, 250)
    first = fetch(c, name, max=7, wait=5)
    same(len(first), 7, "as many as asked for")
    second = fetch(c, name, wait=5)
    same(len(second), 100, "100 when nobody says")
    third = fetch(c, name, max=1000, wait=5)
    same(len(third), 143, "the rest")
    same(sorted(ids(first + second + third)), sorted(want), "each once")
    same(set(ack(c, name, first + second + third)), {"acked"}, "all at once")


def test_in_flight_is_bounded(t):
    c = t.srv.client()
    name = make(c, order="none", maxInFlight=10)
    fill(c, 25)
    first = fetch(c, name, wait=5)
    same(len(first), 10, "ten")
    same(fetch(c, name), [], "no more")
    ack(c, name, first[:4])
    same(len(fetch(c, name, wait=5)), 4, "as many as came back")


def test_order_of_a_key(t):
    c = t.srv.client()
    name = make(c)
    key = "Account:1:" + new_id()
    want = fill(c, 5, key=key)
    other = fill(c, 1)
    got = fetch_all(c, name, 2)
    same(set(ids(got)), {want[0], other[0]}, "one of each key")
    got = [e for e in got if e["eventId"] == want[0]]
    for i in range(1, 5):
        same(ack(c, name, got), ["acked"], "it is done")
        got = fetch_all(c, name, 1)
        same(ids(got), [want[i]], "then the next")
    same(nack(c, name, got, delayMs=0)[0]["status"], "retry", "back")


def test_workers_share(t):
    """Several workers, many keys: each event once, each key in order."""
    c = t.srv.client()
    name = make(c)
    keys = [f"K:{i}:{new_id()}" for i in range(20)]
    n, seen, lock, done = 400, [], threading.Lock(), threading.Event()

    def work():
        mine = t.srv.client()
        while not done.is_set():
            got = fetch(mine, name, max=10, wait=1)
            with lock:
                seen.extend((e["sequence"]["partitionKey"], e["eventId"]) for e in got)
            if got:
                same(set(ack(mine, name, got)), {"acked"}, "in time")

    workers = [threading.Thread(target=work) for _ in range(4)]
    for w in workers:
        w.start()
    want = {k: [] for k in keys}
    for i in range(0, n, 40):
        batch = [envelope(key=keys[(i + j) % len(keys)]) for j in range(40)]
        c.publish(batch).want(200)
        for e in batch:
            want[e["sequence"]["partitionKey"]].append(e["eventId"])
    try:
        until(lambda: len(seen) >= n, "all are fetched", 60)
    finally:
        done.set()
        for w in workers:
            w.join()
    for k in keys:
        same([i for key, i in seen if key == k], want[k], "each once and in order")
    until(lambda: show(c, name)["lag"]["events"] == 0, "no lag")


def test_nack(t):
    srv = t.server(TIME_SCALE="1")
    c = srv.client()
    name = make(c, order="none")
    fill(c, 2)
    a, b = fetch_all(c, name, 2)
    r = nack(c, name, [a], delayMs=2500, reason="the database is away")[0]
    at = time.monotonic()
    same(r["status"], "retry", "again")
    check(r["nextAttemptAt"] > now(), "later", r)
    same(fetch(c, name, wait=1), [], "not yet")
    got = fetch_all(c, name, 1)
    check(time.monotonic() - at > 2, "after its delay")
    same((got[0]["eventId"], got[0]["attempt"]), (a["eventId"], 2), "the second time")
    check(got[0]["deliveryId"] == a["deliveryId"] and got[0]["cursor"] != a["cursor"], "same delivery")
    same(ack(c, name, [a]), ["expired"], "the first cursor is over")
    same(ack(c, name, got), ["acked"], "the second is not")
    d = c.get("/v1/deliveries/" + a["deliveryId"]).want(200).json
    same([x["error"] for x in d["attempts"]][0], "the database is away", "why it came back")
    r = nack(c, name, [b])[0]
    check(r["status"] == "retry" and r["nextAttemptAt"] > now(), "by the schedule", r)


def test_dead_letters(t):
    c = t.srv.client()
    name = make(c, order="none", maxAttempts=3)
    fill(c, 2)
    a, b = fetch_all(c, name, 2)
    same(nack(c, name, [b], dead=True, reason="bad amount")[0]["status"], "dead", "at once")
    last = [a]
    for i in range(2):
        same(nack(c, name, last, delayMs=0)[0]["status"], "retry", "a try")
        last = fetch_all(c, name, 1)
        same(last[0]["attempt"], i + 2, "counted")
    same(nack(c, name, last, delayMs=0)[0]["status"], "dead", "no try is left")
    s = show(c, name)
    same(s["dead"], 2, "shown")
    dead = c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"]
    same({x["deadLetter"]["reason"] for x in dead}, {"EXHAUSTED", "NACKED"}, "why")
    same(ack(c, name, [b]), ["dead"], "too late")
    for x in dead:
        c.post(f"/v1/dead-letters/{x['id']}/requeue", {"reason": "repaired"}).want(202)
    got = fetch_all(c, name, 2)
    same(set(ids(got)), {a["eventId"], b["eventId"]}, "back again")
    same(ack(c, name, got), ["acked", "acked"], "and done")
    same(show(c, name)["dead"], 0, "none left")


def test_block_on_dead(t):
    c = t.srv.client()
    name = make(c, onDead="block")
    want = fill(c, 2, key="Account:1:" + new_id())
    got = fetch_all(c, name, 1)
    nack(c, name, got, dead=True)
    same(fetch(c, name, wait=1), [], "its key waits")
    dead = c.get("/v1/dead-letters", subscription=show(c, name)["id"]).want(200).json["data"]
    c.post(f"/v1/dead-letters/{dead[0]['id']}/skip", {"reason": "seen"}).want(200)
    same(ids(fetch_all(c, name, 1)), want[1:], "until somebody decides")


def test_a_lease_ends(t):
    c = t.srv.client()
    name = make(c, ackWaitSeconds=1, maxAttempts=3)
    want = fill(c, 2, key="Account:1:" + new_id())
    first = fetch_all(c, name, 1)
    at = time.monotonic()
    second = fetch_all(c, name, 1)
    check(time.monotonic() - at > 0.8, "not before")
    same((ids(second), second[0]["attempt"]), (want[:1], 2), "to another worker")
    same(ack(c, name, first), ["expired"], "who was late")
    same(ack(c, name, second), ["acked"], "who was not")
    late = fetch_all(c, name, 1)
    same(ids(late), want[1:], "the next of the key")
    time.sleep(1.5)
    d = c.get("/v1/deliveries/" + late[0]["deliveryId"]).want(200).json
    same((d["attemptCount"], d["status"]), (1, "PENDING"), "a try that failed")
    same(ack(c, name, late), ["acked"], "late, but nobody else has it")
    same(fetch(c, name, wait=1), [], "it is done")


def test_leases_that_end_die(t):
    c = t.srv.client()
    name = make(c, ackWaitSeconds=1, maxAttempts=2)
    fill(c, 1)
    fetch_all(c, name, 1)
    fetch_all(c, name, 1)
    s = until(lambda: (lambda x: x if x["dead"] else None)(show(c, name)), "a dead letter")
    dead = c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"]
    same(dead[0]["deadLetter"]["reason"], "EXHAUSTED", "why")


def test_extend(t):
    c = t.srv.client()
    name = make(c, ackWaitSeconds=2)
    fill(c, 1)
    got = fetch_all(c, name, 1)
    r = answer(c, name, "extend", got, seconds=30)[0]
    same(r["status"], "extended", "longer")
    check(r["leaseUntil"] > got[0]["leaseUntil"], "its end", r)
    same(fetch(c, name, wait=4), [], "it stays with its worker")
    same(ack(c, name, got), ["acked"], "and is done")
    same(answer(c, name, "extend", got)[0]["status"], "done", "no more")


def test_restart(t):
    srv = t.server()
    c = srv.client()
    name = make(c)
    key = "Account:1:" + new_id()
    want = fill(c, 3, key=key)
    got = fetch_all(c, name, 1)
    srv.restart()
    c = srv.client()
    same(fetch(c, name, wait=2), [], "it is still with its worker")
    same(show(c, name)["inFlight"], 1, "known")
    same(ack(c, name, got), ["acked"], "an answer to the other life")
    same(ids(fetch_all(c, name, 1)), want[1:2], "and on")


def test_kill(t):
    srv = t.server()
    c = srv.client()
    name = make(c, order="none", ackWaitSeconds=8)
    want = fill(c, 30)
    got = fetch(c, name, max=10, wait=5)
    same(set(ack(c, name, got[:5])), {"acked"}, "answered")
    srv.kill9()
    at = time.monotonic()
    srv.start()
    c = srv.client()
    rest = []
    while len(rest) < 20 and time.monotonic() < at + 6:
        rest += fetch(c, name, wait=1)
    same(sorted(ids(rest)), sorted(set(want) - set(ids(got))), "those that nobody has")
    same(ack(c, name, got[:5]), ["done"] * 5, "what was answered is stored")
    same(ack(c, name, got[5:7]), ["acked"] * 2, "an answer to the other life")
    same(set(ack(c, name, rest)), {"acked"}, "the rest")
    again = fetch_all(c, name, 3, 30)
    same(sorted(ids(again)), sorted(ids(got[7:])), "when their leases ended")
    same(ack(c, name, again), ["acked"] * 3, "all is done")
    same(fetch(c, name, wait=1), [], "nothing is left")


def test_kill_between_workers(t):
    """Nothing is lost, and no key goes backwards past what was acked."""
    srv = t.server()
    c = srv.client()
    name = make(c, ackWaitSeconds=2)
    key = "Account:1:" + new_id()
    want = fill(c, 12, key=key)
    acked = []
    for i in range(3):
        while len(acked) < 4 * (i + 1):
            got = fetch(c, name, wait=3)
            if got and ack(c, name, got) == ["acked"]:
                acked += ids(got)
        fetch(c, name, wait=1)  # one is away when it dies
        srv.kill9()
        srv.start()
        c = srv.client()
    same(acked, want, "all of the key, in its order")


def test_backlog(t):
    """Without a worker it is one reader, whatever its keys."""
    c = t.srv.client()
    name = make(c, types=["Backlog"])
    sub = show(c, name)["id"]
    for _ in range(5):
        fill(c, 400, type="Backlog")
        time.sleep(0.3)
    time.sleep(3 * SLOW)
    s = show(c, name)
    check(s["lag"]["events"] >= 2000 and s["lag"]["oldestSeconds"] is not None, "lag", s["lag"])
    rows = t.srv.rows("SELECT count(*) FROM delivery d JOIN subscription s ON s.id = d.sub "
                      f"WHERE s.name = '{name}'")
    readers = t.srv.rows("SELECT count(*) FROM reader r JOIN subscription s ON s.id = r.sub "
                         f"WHERE s.name = '{name}'")
    same((int(rows[0][0]), int(readers[0][0])), (0, 1), "rows and readers of " + sub)
    n = 0
    while n < 2000:
        got = fetch(c, name, max=1000, wait=10)
        check(got, "there is more", n)
        same(set(ack(c, name, got)), {"acked"}, "ack")
        n += len(got)
    until(lambda: show(c, name)["lag"]["events"] == 0, "it caught up")


def test_filters_and_types(t):
    c = t.srv.client()
    name = make(c, types=["Wanted", "fam.*"], filter=".payload.n > 5")
    events = [envelope(type=ty, payload={"n": n}) for ty in ("Wanted", "fam.x", "Other") for n in (1, 9)]
    c.publish(events).want(200)
    got = fetch_all(c, name, 2)
    same({(e["eventType"], e["payload"]["n"]) for e in got}, {("Wanted", 9), ("fam.x", 9)}, "these")
    ack(c, name, got)
    same(fetch(c, name, wait=1), [], "no others")


def test_drop_stale_and_coalesce(t):
    """Both are the engine's, however an event is handed over."""
    srv, record = t.server(), new_id()
    c = srv.client()

    def change(ms):
        return envelope("crm.changed", sequence={"partitionKey": f"Account:{TENANT}:{record}",
                                  "recordVersion": f"2026-01-10T12:00:00.{ms:03}Z"})
    stale = make(c, dropStale=True)
    c.publish(change(20)).want(202)
    same(ack(c, stale, fetch_all(c, stale, 1)), ["acked"], "the newer one")
    older, same_one = change(10), change(20)
    c.publish([older, same_one]).want(200)
    got = fetch_all(c, stale, 1)
    same(ids(got), [same_one["eventId"]], "what is not older")
    ack(c, stale, got)
    srv.kill9()
    srv.start()
    c = srv.client()
    c.publish([change(11), newest := change(30)]).want(200)
    same(ids(fetch_all(c, stale, 1)), [newest["eventId"]], "the versions outlive a crash")

    newest_only = make(c, coalesce=True)
    events = [change(100 + n) for n in range(20)]
    c.publish(events).want(200)
    time.sleep(0.3)
    got = fetch_all(c, newest_only, 1)
    same(ids(got), [events[-1]["eventId"]], "the newest of those that waited")
    same(ack(c, newest_only, got), ["acked"], "ack")
    same(fetch(c, newest_only), [], "the others are settled")


def test_tenants(t):
    other = new_id()
    key = t.srv.new_key("read", "consume", "manage", "publish", tenants=[TENANT])
    c, mine = t.srv.client(), t.srv.client(key["key"])
    name = make(mine)
    same(show(c, name)["tenants"], [TENANT], "within its own")
    c.publish([envelope(tenant=other), envelope()]).want(200)
    got = fetch_all(mine, name, 1)
    same(got[0]["tenantId"], TENANT, "its tenant's")
    same(ack(mine, name, got), ["acked"], "ack")
    hidden = make(c)
    mine.get("/v1/consumers/" + hidden).want(404)
    mine.get(f"/v1/consumers/{hidden}/events").want(404)
    mine.post(f"/v1/consumers/{hidden}/ack", {"cursors": ["x"]}).want(404)
    mine("DELETE", "/v1/consumers/" + hidden).want(404)
    mine("PUT", "/v1/consumers/" + hidden, {}).want(409)
    check(hidden not in [x["name"] for x in mine.get("/v1/consumers").want(200).json["data"]], "not listed")
    mine("PUT", "/v1/consumers/x-" + new_id()[:8], {"tenants": [other]}).want(403)


def test_scopes(t):
    c = t.srv.client()
    name = make(c)
    worker = t.srv.client(t.srv.new_key("consume")["key"])
    worker("PUT", "/v1/consumers/" + name, {}).want(403)
    worker("DELETE", "/v1/consumers/" + name).want(403)
    fill(c, 1)
    same(ack(worker, name, fetch_all(worker, name, 1)), ["acked"], "a worker consumes")
    for scope in ("publish", "read"):
        other = t.srv.client(t.srv.new_key(scope)["key"])
        other.get(f"/v1/consumers/{name}/events").want(403, says="the scope consume")
        for verb in ("ack", "nack", "extend"):
            other.post(f"/v1/consumers/{name}/{verb}", {"cursors": ["x"]}).want(403)
    t.srv.client(t.srv.new_key("read")["key"]).get("/v1/consumers/" + name).want(200)


def test_replay(t):
    c = t.srv.client()
    begin = now()
    name = make(c, types=["Again"])
    want = fill(c, 5, type="Again")
    got = fetch_all(c, name, 5)
    ack(c, name, got)
    p = c.post("/v1/replays", {"subscription": show(c, name)["id"], "since": begin}).want(202).json
    again = fetch_all(c, name, 5)
    same(sorted(ids(again)), sorted(want), "once more")
    check(not {e["deliveryId"] for e in again} & {e["deliveryId"] for e in got}, "under ids of their own")
    same(set(ack(c, name, again)), {"acked"}, "ack")
    until(lambda: c.get("/v1/replays/" + p["id"]).want(200).json["state"] == "done", "it ends")


def test_change_and_delete(t):
    c = t.srv.client()
    name = make(c, ackWaitSeconds=5)
    v = show(c, name)
    make(c, name, 200, ackWaitSeconds=5)
    same(show(c, name)["version"], v["version"], "the same changes nothing")
    make(c, name, 200, ackWaitSeconds=7, types=["T"])
    s = show(c, name)
    same((s["ackWaitSeconds"], s["types"], s["id"]), (7, ["T"], v["id"]), "changed")
    sub = c.get("/v1/subscriptions/" + s["id"]).want(200).json
    same(sub["managedBy"], "consumer", "as a subscription")
    c("PATCH", "/v1/subscriptions/" + s["id"], {"name": "x"}).want(409)
    c.delete("/v1/subscriptions/" + s["id"]).want(409)
    names = [x["name"] for x in c.get("/v1/consumers", limit=1000).want(200).json["data"]]
    check(name in names and names == sorted(names), "listed", names)
    fill(c, 1, type="T")
    got = fetch_all(c, name, 1)
    c.delete("/v1/consumers/" + name).want(204)
    c.get("/v1/consumers/" + name).want(404)
    c.post(f"/v1/consumers/{name}/ack", {"cursors": [got[0]["cursor"]]}).want(404)
    make(c, name)
    same(ack(c, name, got), ["invalid"], "a cursor of the one before")
    same(fetch(c, name), [], "a new one")


def test_list_pages(t):
    c = t.srv.client()
    made = sorted(make(c, f"page-{i}-{new_id()[:8]}") for i in range(5))
    seen, after = [], None
    while True:
        page = c.get("/v1/consumers", limit=2, **({"after": after} if after else {})).want(200).json
        seen += [x["name"] for x in page["data"]]
        after = page["next"]
        if not after:
            break
    same([x for x in seen if x in made], made, "all, once")


def test_deleted_while_waiting(t):
    c = t.srv.client()
    name = make(c)
    out = []
    w = threading.Thread(target=lambda: out.append(c.get(f"/v1/consumers/{name}/events", wait=20)))
    w.start()
    other = t.srv.client()
    until(lambda: show(other, name)["waiting"] == 1, "it waits")
    other.delete("/v1/consumers/" + name).want(204)
    w.join()
    out[0].want(404)


def test_disabled(t):
    c = t.srv.client()
    name = make(c, enabled=False)
    want = fill(c, 1)
    same(fetch(c, name, wait=1), [], "it stands still")
    make(c, name, 200, enabled=True)
    same(ids(fetch_all(c, name, 1)), want, "it goes on where it stood")


def test_stop_while_waiting(t):
    srv = t.server()
    c = srv.client()
    name = make(c)
    out = []
    w = threading.Thread(target=lambda: out.append(fetch(c, name, wait=50)))
    w.start()
    until(lambda: show(srv.client(), name)["waiting"] == 1, "it waits")
    at = time.monotonic()
    srv.stop()
    w.join()
    check(time.monotonic() - at < 10 * SLOW, "at once")
    same(out, [[]], "with what is there")
    srv.start()


def test_large_events(t):
    c = t.srv.client()
    name = make(c, order="none")
    n = 12
    for _ in range(n):
        c.publish(envelope(payload={"text": "x" * 900000})).want(202)
    got, calls = [], 0
    while len(got) < n:
        some = fetch(c, name, wait=10)
        check(0 < len(some) < 8, "an answer has its bound", len(some))
        got += some
        calls += 1
    same(set(ack(c, name, got)), {"acked"}, "all")


def test_bad_input(t):
    c = t.srv.client()
    name = make(c)
    put = lambda body: c("PUT", "/v1/consumers/" + name, body)
    for body, pointer in [
        ({"typo": 1}, "/typo"), ({"url": "http://x"}, "/url"), ({"ackWaitSeconds": 0}, "/ackWaitSeconds"),
        ({"ackWaitSeconds": "5"}, "/ackWaitSeconds"), ({"maxInFlight": 801}, "/maxInFlight"),
        ({"maxAttempts": 0}, "/maxAttempts"), ({"maxAttempts": 2, "retry": {"delaysMs": [1]}}, "/maxAttempts"),
        ({"from": "yesterday"}, "/from"), ({"from": -1}, "/from"), ({"order": "any"}, "/order"),
        ({"types": "X"}, "/types"), ({"filter": ".a |"}, "/filter"), ({"onDead": "x"}, "/onDead"),
    ]:
        put(body).want(422, pointer=pointer)
    put([]).want(422)
    c("PUT", "/v1/consumers/a%20b", {}).want(422)
    c("PUT", "/v1/consumers/" + "x" * 101, {}).want(422)
    for q in ({"max": 0}, {"max": 1001}, {"wait": 61}, {"wait": "x"}, {"limit": 1}):
        c.get(f"/v1/consumers/{name}/events", **q).want(422)
    for verb, body, pointer in [
        ("ack", {}, "/cursors"), ("ack", {"cursors": []}, "/cursors"), ("ack", {"cursors": [1]}, "/cursors/0"),
        ("ack", {"cursors": ["x"] * 1001}, "/cursors"), ("ack", {"cursors": ["x"], "delayMs": 1}, "/delayMs"),
        ("nack", {"cursors": ["x"], "delayMs": -1}, "/delayMs"), ("nack", {"cursors": ["x"], "dead": 1}, "/dead"),
        ("nack", {"cursors": ["x"], "dead": True, "delayMs": 1}, "/delayMs"),
        ("nack", {"cursors": ["x"], "reason": "x" * 1001}, "/reason"),
        ("extend", {"cursors": ["x"], "seconds": 0}, "/seconds"),
    ]:
        c.post(f"/v1/consumers/{name}/{verb}", body).want(422, pointer=pointer)
    c.post(f"/v1/consumers/{name}/ack", b"").want(422, pointer="/cursors")
    c.get("/v1/consumers/none/events").want(404)
    other = make(c)
    fill(c, 1)
    got = fetch_all(c, other, 1)
    r = c.post(f"/v1/consumers/{name}/ack",
               {"cursors": [got[0]["cursor"], "x", "0" * 48, got[0]["cursor"][:-1] + "g"]}).want(200).json["results"]
    same([x["status"] for x in r], ["invalid"] * 4, "of another consumer, or made up")
    same(ack(c, other, got), ["acked"], "where it belongs")


def test_two_nodes(t):
    """Either node serves them; leases survive the end of the one that delivers."""
    import test_two_nodes
    p = test_two_nodes.Pair(t)
    c, other = p.nodes[0].client(), p.nodes[1].client()
    name = make(c, ackWaitSeconds=60)
    fill(other, 2, key="Account:1:" + new_id())
    got = fetch_all(c, name, 1)
    same(fetch(other, name, wait=1), [], "the key is with another worker")
    same(show(other, name)["inFlight"], None, "it does not know")
    p.nodes[0].kill9()
    until(lambda: other.get(f"/v1/consumers/{name}/events").status == 200, "the other takes over", 40)
    same(fetch(other, name, wait=1), [], "its worker still has it")
    same(ack(other, name, got), ["acked"], "an answer to the other node")
    fetch_all(other, name, 1)


def test_cli(t):
    c = t.srv.client()
    name = "cli-" + new_id()[:8]
    want = fill(c, 4, type=name.replace("-", "."), key="Account:1:" + new_id())
    run = lambda *a: t.srv.cli("consumer", *a)
    lines = lambda r: [json.loads(x) for x in r.want(0).out.splitlines()]
    made = lines(run("put", name, "--json", "--types", name.replace("-", "."), "--from", "start", "--ack-wait", "30"))[0]
    same((made["name"], made["ackWaitSeconds"]), (name, 30), "made")
    got = lines(run("next", name, "--wait", "10"))
    same(ids(got), want[:1], "the first")
    run("list").want(0, says=name)
    same(lines(run("show", name, "--json"))[0]["inFlight"], 1, "shown")
    run("ack", name, got[0]["cursor"]).want(0)
    got = lines(run("next", name, "--wait", "10"))
    run("nack", name, got[0]["cursor"], "--delay", "0", "--note", "not now").want(0)
    run("ack", name, "made-up").want(1, says="invalid")
    same(ids(lines(run("next", name, "--wait", "10", "--ack"))), want[1:2], "again, and done")
    got = lines(run("next", name, "--wait", "10"))
    same(ids(got), want[2:3], "the next")
    run("nack", name, got[0]["cursor"], "--dead").want(0)
    same(lines(run("show", name, "--json"))[0]["dead"], 1, "a dead letter")
    run("next", "no such").want(1, says="no such consumer")
    run("show", "none").want(1, says="no such consumer")
    run("show", name).want(0, says="ackWaitSeconds  30")
    run("ack", name).want(2)
    run("delete", name).want(0)
    run("show", name).want(1)


def test_made_by_many_at_once(t):
    name = "many-" + new_id()[:8]
    clients = [t.srv.client() for _ in range(8)]
    out = []
    threads = [threading.Thread(target=lambda c=c: out.append(c("PUT", "/v1/consumers/" + name, {}).status))
               for c in clients]
    for th in threads:
        th.start()
    for th in threads:
        th.join()
    check(out.count(201) == 1 and set(out) <= {200, 201, 409}, "one made it", out)
    listed = [x["name"] for x in clients[0].get("/v1/consumers", limit=1000).want(200).json["data"]]
    same(listed.count(name), 1, "one is there")
