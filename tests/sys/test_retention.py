"""Old events go, new ones stay, and publishing is not held up."""
import time

import hk
from hk import check, envelope, new_id, same, until

KEEP = 4  # seconds; in life it is days
SETTINGS = {"EVENT_RETENTION_DAYS": f"{KEEP}s", "EVENT_DEDUPE_DAYS": f"{KEEP}s"}


def fill(c, n, **kw):
    ids = []
    for i in range(0, n, 500):
        results = c.publish([envelope(**kw) for _ in range(min(500, n - i))])\
            .want(200).json["results"]
        ids += [r["eventId"] for r in results]
    return ids


def gone(c, eid):
    return c.get("/v1/events/" + eid).status == 404


def test_old_ones_go_while_publishing(t):
    c = t.srv.client()
    old, begin = fill(c, 10_000), time.monotonic()
    new, worst = [], 0.0
    while not gone(c, old[-1]):
        at = time.monotonic()
        new.append((at, c.publish(envelope()).want(202).json["eventId"]))
        worst = max(worst, time.monotonic() - at)
        check(at - begin < 60 * hk.SLOW, "the old ones are still there", len(new))
    check(time.monotonic() - begin >= KEEP - 0.5, "not before their time")
    check(worst < 2 * hk.SLOW, "no publish was held up", worst)
    left = [e["eventId"] for e in c.events()]
    same(set(left) & set(old), set(), "old ones in the list")
    young = [eid for at, eid in new if time.monotonic() - at < KEEP / 2]
    check(young, "there are young ones")
    same(left[-len(young):], young, "the young ones")


def test_oldest_first(t):
    """What is left is always the end of the log, without holes."""
    srv = t.server()
    c, all_ = srv.client(), []
    for _ in range(6):
        all_ += fill(c, 1000)
        time.sleep(0.5)
    end = time.monotonic() + 60 * hk.SLOW
    while True:
        left = [e["eventId"] for e in c.events()]
        same(left, all_[len(all_) - len(left):], "the end of the log")
        if len(left) < 2000:
            break
        check(time.monotonic() < end, "they go", len(left))
        time.sleep(0.2)


def test_ids_go_with_them(t):
    """Dedupe holds as long as the log keeps the event, and no longer."""
    c, ev = t.srv.client(), envelope()
    one = c.publish(ev).want(202).json
    same(c.publish(ev).want(202).json["duplicate"], True, "at first it is known")
    c.publish(envelope()).want(202)  # the newest always stays
    until(lambda: gone(c, ev["eventId"]), "it goes", 60, 0.2)
    two = c.publish(ev).want(202).json
    same(two["duplicate"], False, "duplicate")
    check(two["seq"] > one["seq"], "a new seq", one, two)


def test_seq_goes_on(t):
    """After all old ones are gone and a restart: no seq comes again."""
    srv = t.server()
    c = srv.client()
    old = fill(c, 100)
    last = c.page(limit=1000)["data"][-1]["seq"]
    cursor = c.page(limit=1000, wait=0)["next"]
    until(lambda: gone(c, old[-2]), "the old ones go", 60, 0.2)
    srv.restart()
    new = srv.client().publish(envelope()).want(202).json
    check(new["seq"] > last, "seq goes on", last, new)
    same([e["eventId"] for e in srv.client().events(after=cursor)], [new["eventId"]],
         "from the cursor of before")


def test_old_cursor(t):
    """A cursor into what is gone goes on with what is left."""
    c, tenant = t.srv.client(), new_id()
    old = fill(c, 1000, tenant=tenant)
    cursor = c.page(limit=10, tenant=tenant)["next"]
    c.publish(envelope()).want(202)
    until(lambda: gone(c, old[-1]), "the old ones go", 60, 0.2)
    new = fill(c, 1, tenant=tenant)
    same([e["eventId"] for e in c.events(after=cursor, tenant=tenant)], new, "what is left")


def test_gone_after_restart(t):
    """Ids of what is gone do not come back with the index."""
    srv = t.server()
    c = srv.client()
    ev = envelope()
    c.publish(ev).want(202)
    fill(c, 50)
    until(lambda: gone(c, ev["eventId"]), "it goes", 60, 0.2)
    srv.kill9()
    srv.start()
    check(gone(srv.client(), ev["eventId"]), "still gone")
    same(srv.client().publish(ev).want(202).json["duplicate"], False, "duplicate")
