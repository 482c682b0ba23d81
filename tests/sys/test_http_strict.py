"""HTTP to the letter: what RFC 9112 forbids is refused, and every request is answered."""
import json
import ssl
import subprocess

from hk import Raw, Skip, check, dump, envelope, same

GET = b"GET /healthz HTTP/1.1\r\nHost: x\r\n"
HEALTH = GET + b"\r\n"


def post(srv, framing, rest):
    return (b"POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + srv.key().encode() +
            b"\r\nContent-Type: application/json\r\n" + framing + b"\r\n\r\n" + rest)


def chunks(body, end=b"\r\n", after=b"\r\n", size=None):
    half = len(body) // 2
    out = b""
    for part in (body[:half], body[half:]):
        out += (b"%x" % len(part) if size is None else size) + end + part + after
    return out + b"0" + end + b"\r\n"


# name, bytes, status, a part of the message
HEADS = [
    ("blank before the colon", GET + b"X-A : b\r\n\r\n", 400, "no token"),
    ("tab before the colon", GET + b"X-A\t: b\r\n\r\n", 400, "no token"),
    ("blank before the colon of a length", GET + b"Content-Length : 3\r\n\r\nabc", 400, "no token"),
    ("no name", GET + b": b\r\n\r\n", 400, "no name"),
    ("no colon", GET + b"nothing\r\n\r\n", 400, "no token"),
    ("a byte past ASCII in a name", GET + b"X-\xc3\xa9: b\r\n\r\n", 400, "no token"),
    ("NUL in a name", GET + b"X\0A: b\r\n\r\n", 400, "no token"),
    ("NUL in a value", GET + b"X-A: b\0c\r\n\r\n", 400, "value"),
    ("DEL in a value", GET + b"X-A: b\x7fc\r\n\r\n", 400, "value"),
    ("bare LF", GET + b"X-A: b\n\r\n", 400, "value"),
    ("bare CR", GET + b"X-A: b\rX-B: c\r\n\r\n", 400, "CRLF"),
    ("bare LF ends the head", GET + b"\n", 400, "no name"),
    ("folded", GET + b"X-A: b\r\n c\r\n\r\n", 400, "blank"),
    ("folded at once", GET[:24] + b"\r\n Host: x\r\n\r\n", 400, ""),
    ("no Host", b"GET /healthz HTTP/1.1\r\n\r\n", 400, "Host"),
    ("two Hosts", GET + b"Host: y\r\n\r\n", 400, "Host"),
    ("NUL in the path", b"GET /health\0z HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"),
    ("blanks in the path", b"GET /health z HTTP/1.1\r\nHost: x\r\n\r\n", 400, "HTTP/1.1"),
    ("no version", b"GET /healthz\r\nHost: x\r\n\r\n", 400, "target"),
    ("version 2", b"GET /healthz HTTP/2.0\r\nHost: x\r\n\r\n", 400, "HTTP/1.1"),
    ("version 1.10", b"GET /healthz HTTP/1.10\r\nHost: x\r\n\r\n", 400, "HTTP/1.1"),
    ("TLS to a plain port", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 9, 400, "method"),
    ("a method without end", b"A" * 70_000, 400, "method"),
    ("500 parameters", b"GET /v1/events?" + b"a=1&" * 500 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
     414, "parameters"),
    ("5,000 parameters", b"GET /v1/events?" + b"a&" * 5000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
     414, "parameters"),
    ("a path of 60,000", b"GET /" + b"a" * 60_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n", 414, "path"),
    ("a header of 60,000", GET + b"X-A: " + b"b" * 60_000 + b"\r\n\r\n", 431, "headers"),
    ("1,000 headers", GET + b"X-A: b\r\n" * 1000 + b"\r\n", 431, "headers"),
    ("1,000 cookies", GET + b"Cookie: " + b"a=b; " * 1000 + b"\r\n\r\n", 431, "headers"),
    ("two lengths", GET + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, "more than one"),
    ("length and chunks", GET + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400, "more than one"),
    ("a length with a sign", GET + b"Content-Length: +3\r\n\r\nabc", 400, "Content-Length"),
    ("lengths in a list", GET + b"Content-Length: 3, 3\r\n\r\nabc", 400, "Content-Length"),
    ("an empty length", GET + b"Content-Length:\r\n\r\n", 400, "Content-Length"),
    ("a length past any", GET + b"Content-Length: 99999999999999999999\r\n\r\n", 413,
     "Content-Length"),
    ("another coding", GET + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 400, "chunked"),
    ("chunked twice", GET + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400, "chunked"),
    ("nearly chunked", GET + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400, "chunked"),
    ("chunked in HTTP/1.0", b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     400, "HTTP/1.0"),
]


def refused(raw, name, data, status, says, slow=False):
    """Exactly one answer comes, an error in our form; what follows it is not read."""
    for i in range(0, len(data), 1 if slow else len(data)):
        raw.send(data[i:i + (1 if slow else len(data))])
    try:
        raw.send(b"\r\n\r\n" + HEALTH)
    except OSError:
        pass  # it may have closed by now
    a = raw.answer()
    same(a.status, status, f"{name}: {a.body[:200]}")
    check(says in json.loads(a.body)["error"]["message"], f"{name} says {says!r}", a.body)
    same(raw.rest(), b"", f"{name}: nothing after it")


def test_heads(t):
    for name, data, status, says in HEADS:
        refused(t.srv.raw(timeout=5), name, data, status, says)
    t.srv.client().publish(envelope()).want(202)


def test_byte_by_byte(t):
    """The same, however the bytes are cut."""
    for name, data, status, says in HEADS:
        if len(data) < 300:
            refused(t.srv.raw(timeout=5), name, data, status, says, slow=True)


CHUNKS = [
    ("bare LF behind a size", dict(end=b"\n"), "size"),
    ("bare LF behind a chunk", dict(after=b"\n"), "CRLF"),
    ("nothing behind a chunk", dict(after=b""), "CRLF"),
    ("bare CR behind a size", dict(end=b"\r"), "CRLF"),
    ("a sign", dict(size=b"+3"), "size"),
    ("0x", dict(size=b"0x10"), "size"),
    ("no size", dict(size=b""), "size"),
    ("a size that is too small", dict(size=b"2"), "CRLF"),
    ("NUL in an extension", dict(end=b";a\0b\r\n"), "line"),
    ("LF in an extension", dict(end=b";a\nb\r\n"), "line"),
]


def test_chunks(t):
    srv = t.srv
    for slow in (False, True):
        for name, how, says in CHUNKS:
            ev = envelope()
            data = post(srv, b"Transfer-Encoding: chunked", chunks(dump(ev), **how))
            refused(srv.raw(timeout=5), name, data, 400, says, slow)
            srv.client().get("/v1/events/" + ev["eventId"]).want(404)
    trailer = b"Transfer-Encoding: chunked"
    for name, last in (("a bad trailer", b"X : y\r\n\r\n"), ("LF in a trailer", b"X: y\n\r\n")):
        data = post(srv, trailer, chunks(dump(envelope()))[:-2] + last)
        refused(srv.raw(timeout=5), name, data, 400, "")


def test_what_is_right(t):
    """Blanks where they may stand, extensions, trailers, empty lines before a request."""
    srv = t.srv
    raw, ids = srv.raw(timeout=5), []
    for framing, how in ((b"Transfer-Encoding: chunked ", {}),
                         (b"Transfer-Encoding:\t CHUNKED \t", {}),
                         (b"Transfer-Encoding: chunked", dict(end=b";name=\"va;lue\"\r\n")),
                         (b"Transfer-Encoding: chunked", dict(end=b" ;x\r\n")),
                         (b"transfer-encoding:chunked", {})):
        for slow in (False, True):
            ev = envelope()
            data = b"\r\n" + post(srv, framing, chunks(dump(ev), **how))
            for i in range(0, len(data), 1 if slow else len(data)):
                raw.send(data[i:i + (1 if slow else len(data))])
            same(raw.answer().status, 202, f"{framing} {how}")
            ids.append(ev["eventId"])
    ev = envelope()
    body = chunks(dump(ev))[:-2] + b"X-Checksum: abc\r\nContent-Length: 7\r\n\r\n"
    raw.send(post(srv, b"Transfer-Encoding: chunked", body) + HEALTH)
    same([raw.answer().status, raw.answer().status], [202, 200], "trailers, and one behind them")
    for eid in ids + [ev["eventId"]]:
        srv.client().get("/v1/events/" + eid).want(200)


def test_many_parameters(t):
    """Up to what a connection holds they are counted, then the target is too long."""
    for n, wanted in ((20, (422,)), (65, (414,)), (100, (414,)), (400, (414,)),
                      (2000, (414,)), (20000, (414,))):
        raw = t.srv.raw(timeout=5)
        query = b"&".join(b"p%d=1" % i for i in range(n))
        raw.send(b"GET /v1/events?" + query + b" HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                 t.srv.key().encode() + b"\r\n\r\n")
        a = raw.answer()
        check(a.status in wanted, f"{n} parameters", a)
        check(json.loads(a.body)["error"]["message"], "a reason", a.body)


def test_pipelined(t):
    """The request before a bad one is answered as ever."""
    raw = t.srv.raw(timeout=5)
    raw.send(HEALTH + HEALTH + GET + b"X : y\r\n\r\n" + HEALTH)
    same([raw.answer().status for _ in range(3)], [200, 200, 400], "in their order")
    same(raw.rest(), b"", "and closed")


def test_smuggling(t):
    """No prefix of a refused request's rest is ever run."""
    srv, ev = t.srv, envelope()
    inner = post(srv, b"Content-Length: %d" % len(dump(ev)), dump(ev))
    for framing in (b"Transfer-Encoding: chunked\r\nContent-Length: 4", b"Content-Length : 4",
                    b"Transfer-Encoding : chunked", b"Transfer-Encoding: x, chunked",
                    b"Content-Length: 0\r\nContent-Length: 4", b"X: y\nTransfer-Encoding: chunked",
                    b"Transfer-Encoding: chunked\r\n Transfer-Encoding: x", b"Content-Length: 0\0"):
        raw = srv.raw(timeout=5)
        raw.send(post(srv, framing, b"0\r\n\r\n" + inner))
        same(raw.answer().status, 400, framing)
        same(raw.rest(), b"", f"{framing}: one answer")
    srv.client().get("/v1/events/" + ev["eventId"]).want(404)


def test_tls(t):
    """Inside of TLS the same holds."""
    cert, key = t.path("cert.pem"), t.path("key.pem")
    try:
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                        "-keyout", key, "-out", cert], check=True, capture_output=True, timeout=60)
    except FileNotFoundError:
        raise Skip("openssl is not installed") from None
    srv = t.server(start=False, TLS_CERT=cert, TLS_KEY=key)
    srv.tls = cert
    srv.start()
    ctx = ssl.create_default_context(cafile=cert)

    def raw():
        r = Raw(srv, timeout=5)
        r.sock = ctx.wrap_socket(r.sock, server_hostname="localhost")
        return r

    for name, data, status, says in HEADS[:12]:
        r = raw()
        r.send(data)
        a = r.answer()
        same(a.status, status, name)
        check(says in json.loads(a.body)["error"]["message"], name, a.body)
        r.close()
    r, ev = raw(), envelope()
    r.send(post(srv, b"Transfer-Encoding: chunked", chunks(dump(ev))))
    same(r.answer().status, 202, "chunks over TLS")
    r.send(post(srv, b"Transfer-Encoding: chunked", chunks(dump(envelope()), end=b"\n")))
    same(r.answer().status, 400, "bare LF over TLS")
    r.close()
