"""GET /v1/events/stream: server-sent events that resume."""
import json
import time

from hk import SLOW, check, envelope, new_id, same, until


def put(c, n=1, **kw):
    return [c.publish(envelope(**kw)).want(202).json["eventId"] for _ in range(n)]


def test_headers(t):
    s = t.srv.stream()
    same(s.answer.status, 200, "status")
    check(s.answer.getheader("Content-Type", "").startswith("text/event-stream"),
          "Content-Type", s.answer.getheaders())
    check("no-" in s.answer.getheader("Cache-Control", ""), "not to be cached",
          s.answer.getheaders())


def test_live(t):
    srv, tenant = t.srv, new_id()
    s = srv.stream(tenant=tenant)
    c = srv.client()
    for _ in range(5):
        n, at = len(s.events), time.monotonic()
        put(c, tenant=tenant)
        until(lambda: len(s.events) > n, "the event", 5)
        check(time.monotonic() - at < 1 * SLOW, "within a second", time.monotonic() - at)
    for e in s.events:
        got = json.loads(e["data"])
        check(e.get("id"), "an id to resume from", e)
        check(got["seq"] > 0 and got["receivedAt"], "as in the list", got)


def test_resumes(t):
    srv, tenant = t.srv, new_id()
    s = srv.stream(tenant=tenant)
    want = put(srv.client(), 10, tenant=tenant)
    until(lambda: len(s.events) == 10, "ten events")
    same(s.ids(), want, "in order")
    cursor = s.events[3]["id"]
    s.close()
    want += put(srv.client(), 5, tenant=tenant)
    s = srv.stream(tenant=tenant, last=cursor)
    until(lambda: len(s.events) >= 11, "the rest")
    same(s.ids(), want[4:], "nothing missing, nothing twice")


def test_resumes_after_kill(t):
    srv = t.server()
    s = srv.stream()
    want = put(srv.client(), 10)
    until(lambda: len(s.events) == 10, "ten events")
    cursor = s.events[-1]["id"]
    srv.kill9()
    srv.start()
    want = put(srv.client(), 5)
    s = srv.stream(last=cursor)
    until(lambda: len(s.events) == 5, "the new ones")
    same(s.ids(), want, "from where it was")


def test_id_is_the_list_cursor(t):
    """One kind of cursor: what the stream gives, the list takes, and back."""
    srv, tenant = t.srv, new_id()
    s = srv.stream(tenant=tenant)
    want = put(srv.client(), 6, tenant=tenant)
    until(lambda: len(s.events) == 6, "six events")
    got = srv.client().events(tenant=tenant, after=s.events[2]["id"])
    same([e["eventId"] for e in got], want[3:], "from the stream's id")
    cursor = srv.client().page(tenant=tenant, limit=2)["next"]
    s2 = srv.stream(tenant=tenant, last=cursor)
    until(lambda: len(s2.events) == 4, "four events")
    same(s2.ids(), want[2:], "from the list's cursor")


def test_backlog_then_live(t):
    srv, tenant = t.srv, new_id()
    want = put(srv.client(), 1, tenant=tenant)
    cursor = srv.client().page(tenant=tenant, wait=0)["next"]
    for _ in range(3):
        want += [r["eventId"] for r in srv.client().publish(
            [envelope(tenant=tenant) for _ in range(1000)]).want(200).json["results"]]
    s = srv.stream(tenant=tenant, last=cursor)
    want += put(srv.client(), 50, tenant=tenant)
    until(lambda: len(s.events) >= len(want) - 1, "all", 30)
    same(s.ids(), want[1:], "the backlog, then what is new, without a seam")


def test_filters(t):
    srv, tenant, key = t.srv, new_id(), "S:" + new_id()
    by_key = srv.stream(partition=key)
    by_type = srv.stream(tenant=tenant, type="a.*")
    exact = srv.stream(tenant=tenant, type="a.b")
    c = srv.client()
    one = put(c, type="a.b", tenant=tenant, key=key)
    two = put(c, type="a.c", tenant=tenant)
    put(c, type="b.c", tenant=tenant)
    put(c, type="a.b")
    last = put(c, type="a.b", tenant=tenant)
    until(lambda: len(by_type.events) == 3 and len(exact.events) == 2
          and len(by_key.events) == 1, "the matching ones")
    time.sleep(0.2)
    same(by_type.ids(), one + two + last, "type=a.*")
    same(by_key.ids(), one, "by key")
    same(exact.ids(), one + last, "type=a.b")


def test_bad_parameters(t):
    srv = t.srv
    same(srv.stream(last="nonsense").answer.status, 422, "a bad Last-Event-ID")
    same(srv.stream(typ="x").answer.status, 422, "an unknown parameter")
    same(srv.stream(tenant="a,b").answer.status, 422, "a bad tenant")


def test_heartbeat(t):
    """An idle stream is heard of, so that a dead one can be told."""
    s = t.srv.stream(tenant=new_id())
    until(lambda: s.comments > 1, "a comment after the first", 30)


def test_many(t):
    srv, tenant = t.srv, new_id()
    streams = [srv.stream(tenant=tenant) for _ in range(60)]
    want = put(srv.client(), 20, tenant=tenant)
    until(lambda: all(len(s.events) == 20 for s in streams), "all on all", 20)
    for s in streams:
        same(s.ids(), want, "each sees each, in order")


def test_slow_reader_holds_up_nobody(t):
    """One that reads nothing: others and publishing go on."""
    srv, tenant = t.srv, new_id()
    lazy = srv.raw()
    lazy.send(f"GET /v1/events/stream?tenant={tenant} HTTP/1.1\r\nHost: x\r\n"
              f"Authorization: Bearer {srv.key()}\r\n\r\n".encode())
    s = srv.stream(tenant=tenant)
    c, n = srv.client(), 0
    for _ in range(60):
        c.publish([envelope("big", tenant=tenant, payload={"x": "y" * 20000})
                   for _ in range(20)]).want(200)
        n += 20
    until(lambda: len(s.events) == n, "24 MB on the other stream", 60)


def test_too_many(t):
    """Past the limit 429 with Retry-After; who leaves makes room."""
    srv = t.server()
    streams, refused = [], None
    keys = [srv.new_key("read")["key"] for _ in range(8)]
    for i in range(600):
        s = srv.stream(keys[i % len(keys)], tenant=new_id())
        if s.answer.status != 200:
            refused = s.answer
            break
        streams.append(s)
    check(refused and len(streams) >= 100, "there is a limit", len(streams))
    check(refused.status in (429, 503), "status", refused.status)
    check(int(refused.getheader("Retry-After")) >= 1, "Retry-After", refused.getheaders())
    srv.client().publish(envelope()).want(202)
    srv.client().get("/v1/events").want(200)
    srv.hang_up()

    def room():
        s = srv.stream(tenant=new_id())
        s.close()
        return s.answer.status == 200
    until(room, "room again", 30, 0.5)


def test_stop_ends_it(t):
    srv = t.server()
    s = srv.stream()
    put(srv.client())
    until(lambda: s.events, "an event")
    begin = time.monotonic()
    srv.clients = []
    srv.stop()
    check(time.monotonic() - begin < 8 * SLOW, "stopped soon", time.monotonic() - begin)
    until(lambda: s.over, "the stream is over", 5)
