"""The right status for a wrong request, in one error shape."""
import gzip
import json

import hk
from hk import check, envelope, new_id, request, same


def test_not_found(t):
    for path in ("/v1", "/v1/", "/v1/nothing", "/v1/events/a/b/c", "/v2/events",
                 "//v1/events", "/v1/events/../keys", "/%2e%2e/etc/passwd"):
        a = t.srv.client().get(path)
        check(a.status in (404, 422), f"GET {path}", a)
        a.want(a.status)


def test_method_not_allowed(t):
    c = t.srv.client()
    for method, path, allowed in (("DELETE", "/v1/events", {"GET", "POST"}),
                                  ("PUT", "/v1/events", {"GET", "POST"}),
                                  ("POST", "/v1/events/" + new_id(), {"GET"}),
                                  ("POST", "/healthz", {"GET"}),
                                  ("PATCH", "/v1/keys", {"GET", "POST"})):
        a = c(method, path, b"{}").want(405)
        got = {m.strip() for m in a.headers["Allow"].split(",")}
        check(allowed <= got and method not in got, f"Allow of {path}", a.headers["Allow"])


def test_strange_methods(t):
    for method in ("BREW", "get", "X" * 40, "TRACE", "CONNECT"):
        raw = t.srv.raw()
        raw.send(request(method, "/v1/events", {"Connection": "close"}))
        text = raw.rest()
        check(not text or text.split(b" ")[1] in (b"400", b"404", b"405", b"501"),
              method, text[:200])


def test_too_large(t):
    srv = t.server(HTTP_BODY_MAX="64KiB", HTTP_REQUEST_TIMEOUT="3s")
    c = srv.client()
    c.publish(envelope(payload={"x": "y" * 50_000})).want(202)
    c.publish(envelope(payload={"x": "y" * 70_000})).want(413)
    c.close()
    raw = srv.raw()  # said in advance: refused before it is sent
    raw.send(request("POST", "/v1/events", {"Authorization": "Bearer " + srv.key(),
                                            "Content-Type": "application/json",
                                            "Expect": "100-continue"})
             .replace(b"Content-Length: 0", b"Content-Length: 99999999"))
    same(raw.answer().status, 413, "by Content-Length alone")
    raw = srv.raw()  # not said at all: chunks without end are refused or cut off
    raw.send(b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
             b"Authorization: Bearer " + srv.key().encode() +
             b"\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(20):
            raw.send(b"4000\r\n" + b" " * 0x4000 + b"\r\n")
        same(raw.answer().status, 413, "chunks past the limit")
    except ConnectionError:
        pass
    c.publish(envelope()).want(202)


def test_largest_event(t):
    c = t.srv.client()
    a = c.publish(envelope(payload={"x": "y" * (1 << 20)}))
    check(a.status in (413, 422), "an event past webhook.max.payload.size", a)
    a.want(a.status)


def test_media_type(t):
    c = t.srv.client()
    c.publish(envelope(), {"Content-Type": "text/html"}).want(415)
    c.post("/v1/keys", {"name": "x", "scopes": ["read"]}, {"Content-Type": "text/plain"}).want(415)


def test_head(t):
    c = t.srv.client()
    get, head = c.get("/v1/event-types"), c("HEAD", "/v1/event-types")
    same((head.status, head.body), (200, b""), "HEAD")
    same(head.headers["Content-Type"], get.headers["Content-Type"], "Content-Type")
    same(c("HEAD", "/v1/nothing").status, 404, "HEAD of nothing")
    same(c("HEAD", "/healthz").status, 200, "HEAD /healthz")


def test_content_type_of_answers(t):
    for path in ("/v1/events", "/v1/nothing", "/openapi.json"):
        a = t.srv.client().get(path)
        check(a.headers["Content-Type"].startswith("application/json"), path, a.headers.items())


def test_request_id(t):
    c, rid = t.srv.client(), new_id()
    a = c.get("/v1/events", headers={"X-Request-Id": rid})
    same(a.headers["X-Request-Id"], rid, "echoed")
    a = c.get("/v1/nothing", headers={"X-Request-Id": rid}).want(404)
    same(a.json["traceId"], rid, "traceId of an error")
    one, two = (c.get("/v1/events").headers["X-Request-Id"] for _ in range(2))
    check(one and two and one != two, "made when absent", one, two)


def test_request_id_that_is_none(t):
    """What a stranger sends does not get into headers or logs unchecked."""
    srv = t.srv
    for bad in ("x" * 4000, "a b\tc", "<script>", '"}\\n{"level":"error"', "\xe9"):
        a = srv.client().get("/v1/nothing", headers={"X-Request-Id": bad})
        if a.status != 404:
            check(a.status in (400, 431), "refused", a)
            continue
        check(len(a.headers["X-Request-Id"]) <= 128, "bounded", a.headers.items())
        json.loads(a.body)
    for line in open(srv.log_path, errors="replace"):
        try:
            json.loads(line)
        except ValueError:
            check(False, "a log line that is no JSON", line)


def test_gzip(t):
    c = t.srv.client()
    c.publish([envelope() for _ in range(50)]).want(200)
    plain = c.get("/v1/events", limit=50).want(200)
    check("Content-Encoding" not in plain.headers, "not asked for", plain.headers.items())
    a = c.get("/v1/events", {"Accept-Encoding": "gzip"}, limit=50).want(200)
    same(a.headers["Content-Encoding"], "gzip", "Content-Encoding")
    same(gzip.decompress(a.body), plain.body, "the same answer")
    check(len(a.body) < len(plain.body) / 2, "smaller", len(a.body), len(plain.body))
    check("accept-encoding" in a.headers.get("Vary", "").lower(), "Vary", a.headers.items())
    none = c.get("/v1/events", {"Accept-Encoding": "gzip;q=0, br"}, limit=50).want(200)
    check("Content-Encoding" not in none.headers, "q=0 means no", none.headers.items())


def test_queries(t):
    c, key = t.srv.client(), "a b+c&d=é%"
    ev = envelope(key=key)
    c.publish(ev).want(202)
    same([e["eventId"] for e in c.events(key=key)], [ev["eventId"]], "a key with odd characters")
    for bad in ("/v1/events?key=%zz", "/v1/events?key=%ff%fe", "/v1/events?key=a%00b"):
        a = c.get(bad)
        check(a.status in (200, 400, 422), bad, a)
        check(a.status != 200 or a.json["data"] == [], "nothing found", a)


def test_unknown_field(t):
    """A typo in a request must not be a silent default."""
    t.srv.admin().post("/v1/keys", {"name": "x", "scopes": ["read"], "tenant": []}).want(
        422, pointer="/tenant", says="tenant")


def test_refused_ports_and_garbage(t):
    for junk in (b"\x00" * 100, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", b"GET\r\n\r\n",
                 b"GET / HTTP/9.9\r\n\r\n", b"\r\n\r\n\r\n", b"A" * 70_000,
                 b"GET /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                 b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                 b"Content-Length: 6\r\n\r\nhello!",
                 b"POST /v1/events HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n"
                 b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                 b"POST /v1/events HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n"
                 b"\r\nzz\r\n"):
        raw = t.srv.raw(timeout=3)
        try:
            raw.send(junk)
            raw.sock.shutdown(hk.socket.SHUT_WR)
            text = raw.rest()
            check(not text or text.startswith(b"HTTP/1."), "garbage", junk[:40], text[:200])
            check(b" 202 " not in text[:20] and b" 200 " not in text[:20], "garbage is taken", junk)
        except OSError:
            pass
    t.srv.client().publish(envelope()).want(202)
