"""GET /v1/events: pages by cursor, filters, bounds."""
import threading
import time

from hk import SLOW, check, envelope, new_id, same


def fill(c, n, **kw):
    return [r["eventId"] for r in
            c.publish([envelope(**kw) for _ in range(n)]).want(200).json["results"]]


def ids(events):
    return [e["eventId"] for e in events]


def test_empty(t):
    j = t.server().client().page()
    same(j, {"data": [], "next": None}, "an empty log")


def test_pages(t):
    c, tenant = t.srv.client(), new_id()
    want = fill(c, 25, tenant=tenant)
    for limit in (1, 7, 24, 25, 26, 1000):
        got, query, pages = [], {"limit": limit, "tenant": tenant}, 0
        while True:
            page = c.page(**query)
            check(len(page["data"]) <= limit, f"at most {limit}", len(page["data"]))
            got += ids(page["data"])
            pages += 1
            check(pages < 100, "the pages end")
            if page["next"] is None:
                break
            query["after"] = page["next"]
        same(got, want, f"all, in order, by {limit}")


def test_default_limit(t):
    c, tenant = t.srv.client(), new_id()
    fill(c, 60, tenant=tenant)
    page = c.page(tenant=tenant)
    same(len(page["data"]), 50, "events on a page")
    check(page["next"], "there is more", page["next"])


def test_limit_bounds(t):
    c = t.srv.client()
    for bad in ("0", "-1", "1001", "x", "", "1.5", "99999999999999999999", "1e2", "+5", " 5"):
        a = c.get("/v1/events", limit=bad).want(422)
        check("limit" in a.json["error"]["message"] or "limit" in
              str(a.json["error"].get("pointer")), "it names the parameter", a)
    c.get("/v1/events", limit=1).want(200)
    c.get("/v1/events", limit=1000).want(200)


def test_bad_cursor(t):
    c = t.srv.client()
    for bad in ("x", "", "0" * 500, "AAAA", "-1", "%00", "é", "1;DROP"):
        err = c.get("/v1/events", after=bad).want(422).json["error"]
        check("after" in err["message"] + err.get("pointer", ""), "it names the parameter", err)


def test_changed_cursor(t):
    """A cursor is ours to make: a changed character is noticed or harmless."""
    c = t.srv.client()
    fill(c, 3)
    cursor = c.page(limit=1)["next"]
    for i in range(len(cursor)):
        other = cursor[:i] + ("A" if cursor[i] != "A" else "B") + cursor[i + 1:]
        a = c.get("/v1/events", after=other, limit=1)
        check(a.status in (200, 422), f"changed at {i}", a)


def test_unknown_parameter(t):
    c = t.srv.client()
    for q in ({"typ": "x"}, {"Limit": "1"}, {"offset": "1"}):
        c.get("/v1/events", **q).want(422, says=list(q)[0])


def test_parameter_twice(t):
    a = t.srv.client().get("/v1/events?limit=1&limit=2")
    check(a.status in (200, 400, 422), "given twice", a)


def test_type(t):
    c, tenant = t.srv.client(), new_id()
    by = {k: fill(c, 3, tenant=tenant, type=k)
          for k in ("feed.item.created", "feed.item.updated", "feed.items", "feed", "Feed.item.x")}
    for k, want in by.items():
        same(ids(c.events(tenant=tenant, type=k)), want, f"type={k}")
    both = by["feed.item.created"] + by["feed.item.updated"]
    same(ids(c.events(tenant=tenant, type="feed.item.*")), both, "type=feed.item.*")
    same(ids(c.events(tenant=tenant, type="feed.*")), both + by["feed.items"], "type=feed.*")
    same(c.events(tenant=tenant, type="fee.*"), [], "type=fee.*")
    same(c.events(tenant=tenant, type="feed.item.creat"), [], "a part is no match")
    same(c.events(tenant=tenant, type="feed.item.%"), [], "no wildcard of SQL")


def test_key(t):
    c, key = t.srv.client(), "K:" + new_id()
    want = fill(c, 4, key=key)
    fill(c, 4, key=key + "x")
    same(ids(c.events(key=key)), want, "by key")
    same(c.events(key=key[:-1]), [], "a part is no match")


def test_tenant(t):
    c, a, b = t.srv.client(), new_id(), new_id()
    in_a, in_b = fill(c, 3, tenant=a), fill(c, 2, tenant=b)
    same(ids(c.events(tenant=a)), in_a, "tenant a")
    same(ids(c.events(tenant=b.upper())), in_b, "tenant b, upper case")
    c.get("/v1/events", tenant="a b").want(422, says="tenant")


def test_filters_together(t):
    c, tenant, key = t.srv.client(), new_id(), "Both:" + new_id()
    want = fill(c, 2, tenant=tenant, key=key, type="a.b")
    fill(c, 2, tenant=tenant, key=key, type="a.c")
    fill(c, 2, tenant=tenant, type="a.b")
    fill(c, 2, key=key, type="a.b")
    same(ids(c.events(tenant=tenant, key=key, type="a.b")), want, "all three")


def test_rare_among_many(t):
    """A filter that matches little finds it all, over several pages."""
    c, tenant = t.srv.client(), new_id()
    want = []
    for _ in range(12):
        fill(c, 1000, tenant=tenant, type="common")
        want += fill(c, 1, tenant=tenant, type="rare")
    same(ids(c.events(tenant=tenant, type="rare", limit=5)), want, "the rare ones")


def test_cursor_after_restart(t):
    srv = t.server()
    want = fill(srv.client(), 10)
    cursor = srv.client().page(limit=4)["next"]
    srv.restart()
    same(ids(srv.client().events(after=cursor)), want[4:], "the cursor still holds")


def test_reader_misses_nothing(t):
    """One total order: who follows the cursor while eight publish sees all."""
    srv, tenant, per, sent = t.srv, new_id(), 150, []

    def publish(n):
        c = srv.client()
        for i in range(per):
            ev = envelope(tenant=tenant, key=f"P{n}", payload={"n": i})
            sent.append(c.publish(ev).want(202).json["eventId"])
    threads = [threading.Thread(target=publish, args=(n,)) for n in range(8)]
    for th in threads:
        th.start()
    c, seen, query = srv.client(), [], {"tenant": tenant, "limit": 100, "wait": 2}
    end = time.monotonic() + 60 * SLOW
    while len(seen) < 8 * per:  # a page may be short or empty before the end
        page = c.page(**query)
        check(time.monotonic() < end, f"no more came after {len(seen)} of {8 * per}")
        seen += page["data"]
        query["after"] = page["next"]
    for th in threads:
        th.join(30)
    same(len(sent), 8 * per, "published")
    same(sorted(ids(seen)), sorted(sent), "what the reader saw")
    seqs = [e["seq"] for e in seen]
    same(seqs, sorted(seqs), "in order of seq")
    for n in range(8):
        mine = [e["payload"]["n"] for e in seen
                if e["sequence"]["partitionKey"] == f"P{n}"]
        same(mine, list(range(per)), f"order of P{n}")
