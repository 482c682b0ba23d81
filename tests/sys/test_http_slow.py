"""Slow clients are cut off; the others do not feel them."""
import time

import hk
from hk import SLOW, check, dump, envelope, request

SETTINGS = {"HTTP_REQUEST_TIMEOUT": "2s", "HTTP_IDLE_TIMEOUT": "2s"}


def drip(raw, data, every, limit):
    """Sends byte by byte; the seconds until the server had enough."""
    begin = time.monotonic()
    raw.sock.settimeout(0.01)
    for i in range(10_000):
        if time.monotonic() - begin > limit:
            return None
        try:
            raw.send(data[i:i + 1] or b"x")
        except OSError:
            return time.monotonic() - begin
        try:
            got = raw.sock.recv(4096)
            if not got or b" 408 " in got[:20] or b" 400 " in got[:20]:
                return time.monotonic() - begin
        except TimeoutError:
            pass
        except OSError:
            return time.monotonic() - begin
        time.sleep(every)


def test_headers_drip(t):
    raw = t.srv.raw()
    took = drip(raw, b"GET /v1/events HTTP/1.1\r\nHost: x\r\nX-Long: ", 0.2, 12 * SLOW)
    check(took is not None, "a dripping header is cut off")
    check(took <= 6 * SLOW, "soon after two seconds", took)


def test_body_drips(t):
    srv = t.srv
    raw = srv.raw()
    head = request("POST", "/v1/events", {"Authorization": "Bearer " + srv.key(),
                                          "Content-Type": "application/json"}, b"x" * 5000)
    raw.send(head[:-5000])
    took = drip(raw, b" " * 4999, 0.2, 12 * SLOW)
    check(took is not None, "a dripping body is cut off")
    check(took <= 6 * SLOW, "soon after two seconds", took)


def test_says_nothing(t):
    raw = t.srv.raw(timeout=10)
    begin = time.monotonic()
    raw.rest()
    check(time.monotonic() - begin <= 6 * SLOW, "closed", time.monotonic() - begin)


def test_idle_between_requests(t):
    raw = t.srv.raw(timeout=10)
    raw.send(request("GET", "/healthz", {}))
    check(raw.answer().status == 200, "answered")
    begin = time.monotonic()
    raw.rest()
    check(time.monotonic() - begin <= 6 * SLOW, "closed", time.monotonic() - begin)


def test_hundred_slow_ones(t):
    """A hundred half requests: publishing goes on as if they were not there."""
    srv = t.srv
    key = srv.key()
    slow = [srv.raw() for _ in range(100)]
    for r in slow:
        r.send(b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Le")
    c, worst = srv.client(key), 0
    for _ in range(100):
        begin = time.monotonic()
        c.publish(envelope()).want(202)
        worst = max(worst, time.monotonic() - begin)
    check(worst < 1.5 * SLOW, "no publish waits for them", worst)


def test_slow_to_read(t):
    """A client that does not read its answer is not served for ever."""
    srv = t.server(HTTP_REQUEST_TIMEOUT="2s", HTTP_IDLE_TIMEOUT="2s")
    c = srv.client()
    for _ in range(8):
        c.publish([envelope(payload={"x": "y" * 4000}) for _ in range(100)]).want(200)
    raw = srv.raw()
    raw.sock.setsockopt(hk.socket.SOL_SOCKET, hk.socket.SO_RCVBUF, 4096)
    raw.send(request("GET", "/v1/events?limit=1000", {"Authorization": "Bearer " + srv.key()}) * 5)
    time.sleep(3)
    c = srv.client()
    c.publish(envelope()).want(202)


def test_waiting_is_not_slow(t):
    """A long poll may last longer than http.request.timeout."""
    begin = time.monotonic()
    t.srv.client().page(tenant=hk.new_id(), wait=4)
    check(time.monotonic() - begin >= 3.8, "it waited", time.monotonic() - begin)


def test_stream_is_not_slow(t):
    srv, tenant = t.srv, hk.new_id()
    s = srv.stream(tenant=tenant)
    time.sleep(5)
    srv.client().publish(dump(envelope(tenant=tenant))).want(202)
    hk.until(lambda: s.events, "an event after five quiet seconds")


def test_big_headers(t):
    srv = t.srv
    for headers in ({"X-Big": "x" * 100_000}, {f"X-{i}": "y" * 100 for i in range(2000)}):
        raw = srv.raw(timeout=8)
        try:
            raw.send(request("GET", "/v1/events", headers))
            text = raw.rest()
            check(not text or text.split(b" ")[1] in (b"400", b"413", b"431"), "refused", text[:200])
        except OSError:
            pass
    raw = srv.raw(timeout=8)
    raw.send(request("GET", "/v1/events?key=" + "k" * 100_000, {}))
    try:
        text = raw.rest()
        check(not text or text.split(b" ")[1] in (b"400", b"401", b"414", b"431"), "a long path",
              text[:200])
    except OSError:
        pass
    srv.client().publish(envelope()).want(202)
