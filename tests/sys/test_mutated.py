"""Requests to every route of routes.tbl, broken in every way: answered or closed, never a crash.

HK_MUTATED says how many (1,000 when it is not set), HK_SEED where the draw begins."""
import os
import random
import re
import select
import socket
import time

import hk
from hk import check, dump, envelope, new_id, request, same

ROUTE = re.compile(r'^ROUTE\((\w+), "([^"]+)", (\S+), \w+, \w+, (\w+|"[^"]*"),', re.M)
WAVE = 64  # connections at once
# No address stands in any of them: a flipped bit must not lead to another's server.
BODIES = [b"{}", b"[]", b'{"name":"a","scopes":["read"]}', b'{"role":"reader","password":"x"}',
          b'{"name":"s","url":"","types":["a.*"],"filter":".payload.x > 1"}', b"a=b&c=d&T=x",
          b'{"from":0,"to":9,"subscription":1,"rate":1}', b"<opml><body/></opml>", b""]


def routes():
    with open(os.path.join(hk.ROOT, "src", "api", "routes.tbl"), encoding="utf-8") as f:
        found = ROUTE.findall(f.read())
    check(len(found) >= 100, "the table is read", len(found))
    return found


def corpus(rng, key):
    """A valid request to each route, and some more to those that take large bodies."""
    out = []
    for method, path, _, body in routes():
        path = re.sub(r"\{[^}]*\}", lambda _: rng.choice([new_id(), "1", "a", "x.y"]), path)
        head = {"Authorization": "Bearer " + key} if rng.random() < 0.9 else {}
        data = b""
        if body != '""':
            data = dump(envelope()) if path == "/v1/events" else rng.choice(BODIES)
            head["Content-Type"] = "application/json"
        if rng.random() < 0.3:
            path += rng.choice(["?limit=1", "?after=0&limit=2", "?a=b", "?x=%41%2f&y="])
        whole = request(method, path, head, data)
        if data and rng.random() < 0.4:
            whole = chunked(rng, whole, data)
        out.append(whole)
    return out


def chunked(rng, whole, data):
    head = re.sub(rb"Content-Length: \d+", b"Transfer-Encoding: chunked", whole[:-len(data)])
    at = rng.randrange(len(data) + 1)
    parts = b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in (data[:at], data[at:]) if p)
    return head + parts + b"0\r\n\r\n"


def lines(rng, data, what):
    head, sep, body = data.partition(b"\r\n\r\n")
    rows = head.split(b"\r\n")
    i = rng.randrange(len(rows))
    rows = what(rows, i)
    return b"\r\n".join(rows) + sep + body


def spot(rng, data, put, cut=0):
    at = rng.randrange(len(data) + 1)
    return data[:at] + put + data[at + cut:]


NASTY = [b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b" ", b"\t", b":", b"%", b"%00", b"\xff\xfe", b"..",
         b"/", b"?", b"&", b"=", b";", b"{", b'"', b"\\u0000", b"0", b"-1", b"18446744073709551616"]
FIELDS = [b"Content-Length: 0", b"Content-Length: 99999999", b"Transfer-Encoding: chunked",
          b"Transfer-Encoding: chunked ", b"Expect: 100-continue", b"Connection: close",
          b"Connection: upgrade", b"Host: y", b"Cookie: hikyaku_session=x; hikyaku_login=" + b"A" * 99,
          b"Accept-Encoding: gzip", b"X-Request-Id: \x01", b"Origin: null", b"Upgrade: h2c",
          b"Forwarded: for=\"[::1]\"", b"Last-Event-ID: 1", b"Authorization: Basic Og==",
          b"If-None-Match: *", b"Range: bytes=0-", b"Content-Encoding: gzip"]
MUTATIONS = [
    lambda g, d: spot(g, d, bytes([g.randrange(256)]), 1),
    lambda g, d: bytes(b ^ (1 << g.randrange(8)) if g.random() < 0.01 else b for b in d),
    lambda g, d: spot(g, d, g.choice(NASTY)),
    lambda g, d: spot(g, d, b"", g.randrange(1, 40)),
    lambda g, d: spot(g, d, g.choice([b"A", b"9", b"%41", b"\xc3\xa9", b"["]) * g.choice(
        [100, 3000, 30_000])),
    lambda g, d: d[:g.randrange(len(d) + 1)],
    lambda g, d: d + d,
    lambda g, d: d.replace(b"\r\n", b"\n") if g.random() < 0.5 else d.replace(b"\r\n", b"\n", 1),
    lambda g, d: lines(g, d, lambda r, i: r[:i] + [r[i]] + r[i:]),
    lambda g, d: lines(g, d, lambda r, i: r[:i] + r[i + 1:]),
    lambda g, d: lines(g, d, lambda r, i: r[:i + 1] + [g.choice(FIELDS)] + r[i + 1:]),
    lambda g, d: lines(g, d, lambda r, i: r[:i] + [r[i].replace(b":", b" :", 1)] + r[i + 1:]),
    lambda g, d: lines(g, d, lambda r, i: r + [b"X-%d: y" % k for k in range(g.choice([50, 500]))]),
    lambda g, d: re.sub(rb"Content-Length: \d+", b"Content-Length: %d" % g.choice(
        [0, 1, 7, 5000, 8 << 20, 1 << 40]), d),
    lambda g, d: re.sub(rb"(\r\n)[0-9a-f]+\r\n", rb"\g<1>" + g.choice(
        [b"0", b"fffffff", b"-1", b"1;x=\n", b"ffffffffffffffffff", b""]) + b"\r\n", d, count=1),
    lambda g, d: d.replace(b" HTTP/1.1", b"?" + b"&".join(b"p%d=1" % k for k in range(
        g.choice([3, 80, 900]))) + b" HTTP/1.1", 1),
    lambda g, d: d.replace(b"/", g.choice([b"//", b"/./", b"/../", b"%2f", b"/%2e%2e/"]), 1),
    lambda g, d: d.replace(b"{", b"[" * g.choice([3, 70, 9000]) + b"{", 1),
]


def mutate(rng, data):
    for _ in range(rng.choice([1, 1, 1, 2, 2, 3, 5])):
        data = rng.choice(MUTATIONS)(rng, data)
    return data


def complete(data):
    """Surely a whole request, so that it must be answered."""
    head, sep, body = data.partition(b"\r\n\r\n")
    if not sep or not re.match(rb"[A-Z]+ \S+ HTTP/1\.1\r\n", head):
        return False
    n = re.findall(rb"(?im)^content-length: *(\d{1,9})\r?$", head + b"\r")
    if b"ransfer-" in head or len(n) > 1 or head.lower().count(b"content-length") != len(n):
        return False
    return len(body) >= (int(n[0]) if n else 0)


class Try:
    def __init__(self, srv, n, data):
        self.n, self.data, self.got, self.over = n, data, b"", False
        self.sock = socket.create_connection(("127.0.0.1", srv.port), 20 * hk.SLOW)
        self.sock.setblocking(False)
        self.left = data or b"\r\n"

    def turn(self):
        """Sends and reads what goes; true when it is over."""
        try:
            while self.left:
                self.left = self.left[self.sock.send(self.left):]
                if not self.left:
                    self.sock.shutdown(socket.SHUT_WR)
        except BlockingIOError:
            pass
        except OSError:
            self.left = b""
        try:
            while True:
                got = self.sock.recv(65536)
                if not got:
                    self.over = True
                    break
                self.got = (self.got + got)[:4000]
        except BlockingIOError:
            pass
        except OSError:
            self.over = True
        return self.over

    def judge(self):
        self.sock.close()
        where = f"request {self.n}: {self.data[:300]!r}"
        if self.got:
            check(re.match(rb"HTTP/1\.1 [1-5]\d\d ", self.got), "an answer", self.got[:200], where)
            statuses = re.findall(rb"(?m)^HTTP/1\.1 (\d+) ", self.got)
            check(b"500" not in statuses, "our own fault", self.got[:600], where)
        else:
            check(not complete(self.data), "a whole request without an answer", where)


def wave(srv, tries):
    deadline = time.monotonic() + 30 * hk.SLOW
    open_ = list(tries)
    while open_:
        poll = select.poll()
        for t in open_:
            poll.register(t.sock, select.POLLIN | (select.POLLOUT if t.left else 0))
        poll.poll(200)
        open_ = [t for t in open_ if not t.turn()]
        check(time.monotonic() < deadline, "it is answered or closed in time",
              [f"{t.n}: {t.data[:300]!r} got {t.got[:200]!r}" for t in open_[:3]])
    for t in tries:
        t.judge()


def test_mutated(t):
    count, seed = int(os.environ.get("HK_MUTATED", "1000")), int(os.environ.get("HK_SEED", "1"))
    rng = random.Random(seed)
    srv = t.server(HTTP_REQUEST_TIMEOUT="5s", RATE_LIMIT_GENERAL="1000000")
    key = srv.new_key("publish", "read", "manage", "consume", "admin")["key"]
    valid = corpus(rng, key)
    for first in range(0, count, WAVE):
        wave(srv, [Try(srv, n, mutate(rng, rng.choice(valid)))
                   for n in range(first, min(first + WAVE, count))])
        if first % (WAVE * 8) == 0:
            check(srv.alive(), f"seed {seed}, about request {first}", srv.tail())
            valid = corpus(rng, key)
    same(srv.connect().get("/healthz").status, 200, "it lives")
    srv.client().publish(envelope()).want(202)


def test_valid(t):
    """The corpus itself: nothing in it is malformed."""
    srv = t.server(RATE_LIMIT_GENERAL="1000000")
    key = srv.new_key("publish", "read", "manage", "consume", "admin")["key"]
    for data in corpus(random.Random(7), key):
        if b"/v1/events/stream" in data:
            continue
        raw = srv.raw()
        raw.send(data)
        while b"\r\n\r\n" not in raw.buf:
            raw.more()
        check(b"CRLF" not in raw.buf and int(raw.buf.split(b" ")[1]) != 500, data, raw.buf[:300])
        raw.close()
