"""GET /v1/events?wait=: answers when there is something, or after the wait."""
import threading
import time

from hk import SLOW, check, envelope, new_id, same


def poll(c, out, **query):
    begin = time.monotonic()
    page = c.page(**query)
    out.append((page, time.monotonic() - begin))


def test_wakes_on_publish(t):
    srv, tenant = t.srv, new_id()
    cursor = srv.client().page(tenant=tenant, wait=0)["next"]
    out = []
    th = threading.Thread(target=poll, args=(srv.client(), out),
                          kwargs={"tenant": tenant, "after": cursor, "wait": 20})
    th.start()
    time.sleep(0.5)
    check(not out, "it waits", out)
    ev = envelope(tenant=tenant)
    at = time.monotonic()
    srv.client().publish(ev).want(202)
    th.join(20)
    check(time.monotonic() - at < 1.0 * SLOW, "woken within a second", time.monotonic() - at)
    same([e["eventId"] for e in out[0][0]["data"]], [ev["eventId"]], "what it got")


def test_empty_after_the_wait(t):
    tenant, out = new_id(), []
    poll(t.srv.client(), out, tenant=tenant, wait=2)
    page, took = out[0]
    same(page["data"], [], "data")
    check(1.8 <= took <= 4 * SLOW, "after two seconds", took)
    check(isinstance(page["next"], str), "a cursor to go on from", page)


def test_cursor_of_an_empty_answer(t):
    """What is published after it comes; what was before does not."""
    c, tenant = t.srv.client(), new_id()
    c.publish(envelope(tenant=tenant)).want(202)
    first = c.page(tenant=tenant, wait=1)
    same(len(first["data"]), 1, "there at once")
    second = c.page(tenant=tenant, wait=1, after=first["next"])
    same(second["data"], [], "nothing new")
    ev = envelope(tenant=tenant)
    c.publish(ev).want(202)
    third = c.page(tenant=tenant, wait=5, after=second["next"])
    same([e["eventId"] for e in third["data"]], [ev["eventId"]], "the new one only")


def test_at_once_when_there_is_something(t):
    c, tenant, out = t.srv.client(), new_id(), []
    c.publish([envelope(tenant=tenant) for _ in range(3)]).want(200)
    poll(c, out, tenant=tenant, wait=30)
    check(out[0][1] < 2 * SLOW, "no wait", out[0][1])
    same(len(out[0][0]["data"]), 3, "events")


def test_others_do_not_wake_it(t):
    """An event that the filter refuses is no answer."""
    srv, tenant, out = t.srv, new_id(), []
    cursor = srv.client().page(tenant=tenant, type="wanted", wait=0)["next"]
    th = threading.Thread(target=poll, args=(srv.client(), out), kwargs={
        "tenant": tenant, "type": "wanted", "after": cursor, "wait": 20})
    th.start()
    time.sleep(0.2)
    for _ in range(20):
        srv.client().publish(envelope("other", tenant=tenant)).want(202)
    time.sleep(0.3)
    check(not out, "it still waits", out)
    ev = envelope("wanted", tenant=tenant)
    srv.client().publish(ev).want(202)
    th.join(20)
    same([e["eventId"] for e in out[0][0]["data"]], [ev["eventId"]], "what it got")


def test_many_wait(t):
    srv, tenant, out = t.srv, new_id(), []
    cursor = srv.client().page(tenant=tenant, wait=0)["next"]
    threads = [threading.Thread(target=poll, args=(srv.client(), out), kwargs={
        "tenant": tenant, "after": cursor, "wait": 20}) for _ in range(50)]
    for th in threads:
        th.start()
    time.sleep(0.5)
    ev = envelope(tenant=tenant)
    srv.client().publish(ev).want(202)
    for th in threads:
        th.join(20)
    same(len(out), 50, "answers")
    for page, _ in out:
        same([e["eventId"] for e in page["data"]], [ev["eventId"]], "what each got")


def test_bounds(t):
    c = t.srv.client()
    for bad in ("-1", "61", "x", ""):
        c.get("/v1/events", wait=bad).want(422, says="wait")


def test_client_that_leaves(t):
    """A poll whose client is gone costs nothing and hurts nobody."""
    srv = t.srv
    for _ in range(30):
        c = srv.raw()
        c.send(f"GET /v1/events?wait=30&tenant={new_id()} HTTP/1.1\r\nHost: x\r\n"
               f"Authorization: Bearer {srv.key()}\r\n\r\n".encode())
        time.sleep(0.01)
        c.close()
    srv.client().publish(envelope()).want(202)


def test_stop_ends_the_wait(t):
    """A graceful stop answers those who wait, soon."""
    srv, out = t.server(), []
    c = srv.client()
    th = threading.Thread(target=poll, args=(c, out), kwargs={"wait": 60})
    th.start()
    time.sleep(0.4)
    begin = time.monotonic()
    srv.clients = []  # the poll must be answered, not cut
    srv.stop()
    check(time.monotonic() - begin < 8 * SLOW, "stopped soon", time.monotonic() - begin)
    th.join(10)
    same(out[0][0]["data"], [], "the answer of the poll")
