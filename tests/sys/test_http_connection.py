"""Connections: keep-alive, pipelining, chunks, Expect, HTTP/1.0, many."""
import json
import time

from hk import Raw, check, dump, envelope, request, same, until


def head(srv, **more):
    return {"Authorization": "Bearer " + srv.key(), "Content-Type": "application/json",
            **{k.replace("_", "-"): v for k, v in more.items()}}


def test_keep_alive(t):
    srv = t.srv
    raw = srv.raw()
    for _ in range(200):
        raw.send(request("POST", "/v1/events", head(srv), dump(envelope())))
        same(raw.answer().status, 202, "status")
    for bad in (b"{", b"[]x"):  # an error does not cost the connection
        raw.send(request("POST", "/v1/events", head(srv), bad))
        check(raw.answer().status in (400, 422), "a bad body")
    raw.send(request("GET", "/v1/nothing", head(srv)))
    same(raw.answer().status, 404, "nothing there")
    raw.send(request("POST", "/v1/events", head(srv), dump(envelope())))
    same(raw.answer().status, 202, "still the same connection")


def test_close(t):
    srv = t.srv
    raw = srv.raw()
    raw.send(request("GET", "/v1/events", head(srv, Connection="close")))
    text = raw.rest()
    check(text.startswith(b"HTTP/1.1 200"), "answered, then closed", text[:100])


def test_http_1_0(t):
    srv = t.srv
    raw = srv.raw()
    raw.send(request("GET", "/healthz", {}).replace(b"HTTP/1.1", b"HTTP/1.0"))
    check(b" 200 " in raw.rest()[:20], "answered, then closed")


def test_pipelining(t):
    """Answers come in the order of the requests, whatever each takes."""
    srv, events = t.srv, [envelope() for _ in range(30)]
    raw, want, all_ = srv.raw(), [], b""
    for i, ev in enumerate(events):
        all_ += request("POST", "/v1/events", head(srv), dump(ev))
        want.append(202)
        if i % 3 == 0:
            all_ += request("GET", "/v1/nothing", head(srv))
            want.append(404)
        if i % 5 == 0:
            all_ += request("GET", "/v1/events?limit=1", head(srv))
            want.append(200)
    raw.send(all_)
    answers = [raw.answer() for _ in want]
    same([a.status for a in answers], want, "statuses in order")
    got = [json.loads(a.body)["eventId"] for a in answers if a.status == 202]
    same(got, [e["eventId"] for e in events], "each its own answer")


def test_chunked(t):
    srv, ev = t.srv, envelope(payload={"x": "é" * 1000})
    raw, body = srv.raw(), dump(ev)
    first = request("POST", "/v1/events", head(srv, Transfer_Encoding="chunked"))
    raw.send(first.replace(b"Content-Length: 0\r\n", b""))
    for i in range(0, len(body), 97):
        part = body[i:i + 97]
        raw.send(b"%x;ext=1\r\n%s\r\n" % (len(part), part))
    raw.send(b"0\r\n\r\n")
    same(raw.answer().status, 202, "status")
    same(srv.client().get("/v1/events/" + ev["eventId"]).want(200).json["payload"],
         ev["payload"], "payload")


def test_body_byte_by_byte(t):
    srv, body = t.srv, dump(envelope(payload={}))
    raw = srv.raw()
    for b in request("POST", "/v1/events", head(srv), body):
        raw.send(bytes([b]))
    same(raw.answer().status, 202, "status")


def test_expect(t):
    srv, body = t.srv, dump(envelope())
    raw = srv.raw()
    whole = request("POST", "/v1/events", head(srv, Expect="100-continue"), body)
    raw.send(whole[:-len(body)])
    while b"\r\n\r\n" not in raw.buf:
        raw.more()
    check(raw.buf.startswith(b"HTTP/1.1 100"), "100 Continue", raw.buf)
    raw.send(body)
    same(raw.answer().status, 202, "status")


def test_client_that_leaves_midway(t):
    srv = t.srv
    whole = request("POST", "/v1/events", head(srv), dump(envelope()))
    for n in list(range(1, len(whole), 23)) + [len(whole)]:
        raw = Raw(srv)
        raw.send(whole[:n])
        raw.close()
    srv.client().publish(envelope()).want(202)


def test_many_connections(t):
    srv = t.srv
    raws = [srv.raw() for _ in range(500)]
    for r in raws:
        r.send(request("POST", "/v1/events", head(srv), dump(envelope())))
    same({r.answer().status for r in raws}, {202}, "500 at once")


def test_more_than_allowed(t):
    """Past http.connections.max those who are at work keep theirs; the others wait."""
    srv = t.server(HTTP_CONNECTIONS_MAX="32")
    key = srv.key()
    srv.hang_up()
    head = request("GET", "/healthz", {})
    busy = []
    for _ in range(32):
        busy.append(srv.raw(timeout=9))
        busy[-1].send(request("GET", "/v1/events?wait=2", {"Authorization": "Bearer " + key}))
        time.sleep(0.01)
    time.sleep(0.5)
    late = srv.raw(timeout=0.7)
    late.send(head)
    try:
        check(late.answer() is None, "one more is served")
    except OSError:
        pass
    for r in busy:
        same(r.answer().status, 200, "one that was there before")
    # Now all are idle, and make room for whoever comes.
    for _ in range(80):
        r = srv.raw(timeout=5)
        r.send(head)
        same(r.answer().status, 200, "one that comes when the others are idle")
    srv.hang_up()

    def again():
        try:
            return srv.client(key).publish(envelope()).status == 202
        except OSError:
            return False
    until(again, "room again", 10, 0.1)
