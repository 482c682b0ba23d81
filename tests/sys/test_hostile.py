"""Receivers that misbehave: each costs its own delivery, and only that.

While a hostile one has its way, another subscription gets all of its events
in time, the server's memory stays small, and the error says what happened.
"""
import gzip
import os
import socket
import ssl
import threading
import time

import hk
import receiver
from hk import check, envelope, same, until
from pki import Pki
from proxy import Proxy
from receiver import Receiver, verify

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}
TIMEOUT_MS = 1500
MEMORY = 100 * 1024  # KiB


class Hostile:
    """Runs fn(socket, head) for each connection, head read unless `blind`."""

    def __init__(self, t, fn, blind=False, tls=None):
        self.fn, self.blind, self.tls, self.over = fn, blind, tls, False
        self.connections, self.requests, self.open = 0, [], []
        self.sock = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.sock.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()
        t.later(self.stop)

    def url(self, path="/x", scheme="http"):
        return f"{'https' if self.tls else scheme}://127.0.0.1:{self.port}{path}"

    def stop(self):
        self.over = True
        for s in [self.sock] + list(self.open):
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()

    def accept(self):
        while True:
            try:
                s, _ = self.sock.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        self.open.append(s)
        try:
            s.settimeout(60)
            if self.tls:
                s = self.tls.wrap_socket(s, server_side=True)
            head = b"" if self.blind else self.request(s)
            if head is not None:
                self.fn(s, head)
        except OSError:
            pass
        finally:
            s.close()

    def request(self, s, body=True):
        """Head and body of the next request; None when there is none."""
        data = b""
        while b"\r\n\r\n" not in data:
            got = s.recv(65536)
            if not got:
                return None
            data += got
        head, rest = data.split(b"\r\n\r\n", 1)
        length = next((int(l.split(b":")[1]) for l in head.split(b"\r\n")
                       if l.lower().startswith(b"content-length:")), 0)
        while body and len(rest) < length:
            rest += s.recv(65536)
        self.requests.append(head.decode("latin-1"))
        return head


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def drip_head(s, _):
    for b in OK:
        s.sendall(bytes([b]))
        time.sleep(1)


def drip_body(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
    for _ in range(60):
        s.sendall(b"x")
        time.sleep(1)


def huge(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n")
    for _ in range(1024):
        s.sendall(b"x" * 1048576)


def endless(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(1024):
        s.sendall(b"100000\r\n" + b"x" * 1048576 + b"\r\n")


BOMB = gzip.compress(gzip.compress(b"\0" * (64 << 20)))


def bomb(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip, gzip\r\nContent-Length: %d\r\n\r\n"
              % len(BOMB) + BOMB)


def early_none(s, _):
    pass


def early_head(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-")


def early_body(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf")


def garbage(s, _):
    s.sendall(os.urandom(4096).replace(b"\n", b"."))


def ssh(s, _):
    s.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    time.sleep(0.2)


def no_answer(s, _):
    s.recv(1)


def headers(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\n")
    for i in range(100000):
        s.sendall(b"X-Flood-%d: %s\r\n" % (i, b"y" * 200))


def long_header(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    for _ in range(1024):
        s.sendall(b"y" * 65536)


def long_status(s, _):
    s.sendall(b"HTTP/1.1 200 ")
    for _ in range(1024):
        s.sendall(b"y" * 65536)


def continues(s, _):
    while True:
        s.sendall(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def odd_status(s, _):
    s.sendall(b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")


def split_head(s, _):
    s.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhelloxx")


def control(s, _):
    s.sendall(b"HTTP/1.1 500 \x1b[2J\xff\xfe\r\nContent-Length: 6\r\n\r\n\xff\x00\x1b[2J")


# What it does, what the test send's error names; None: an answer of 2xx stands.
WAYS = [
    (drip_head, "timed out"), (drip_body, "timed out"), (huge, None), (endless, None), (bomb, None),
    (early_none, "empty reply"), (early_head, "closed"), (early_body, "bytes remaining"),
    (garbage, "http/0.9"), (ssh, "http/0.9"), (no_answer, "timed out"), (headers, "head is over"),
    (long_header, "head is over"), (long_status, "head is over"),
    (continues, "head is over"), (odd_status, "http 999"),
    (split_head, ""), (control, "http 500"),
]


def subscribe(c, url, **more):
    more.setdefault("timeoutMs", TIMEOUT_MS)
    more.setdefault("retry", {"delaysMs": [1000, 1000], "jitterMs": 0})
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def try_out(c, s):
    return c.post(f"/v1/subscriptions/{s['id']}/test").want(200).json


def memory(srv, name="VmHWM"):
    with open(f"/proc/{srv.proc.pid}/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith(name + ":"))


def frugal(srv):
    if hk.SLOW == 1:
        check(memory(srv) < MEMORY, "memory stays below 100 MB", memory(srv))


def test_each_way(t):
    """What is said of each, and how long it may take."""
    srv = t.server()
    c = srv.client()
    for fn, says in WAYS:
        s = subscribe(c, Hostile(t, fn).url(), enabled=False)
        at = time.monotonic()
        a = try_out(c, s)
        took = time.monotonic() - at
        if says is None:
            check(a["success"] and a["statusCode"] == 200, f"{fn.__name__}: the status stands", a)
        elif says:
            check(not a["success"] and says in a["error"].lower(), f"{fn.__name__}: says {says}", a)
        check(took < (TIMEOUT_MS / 1000 + 1.5) * hk.SLOW, f"{fn.__name__} ends in time", took)
        frugal(srv)


def test_others_go_on(t):
    """All at once, and a good one beside them loses and waits for nothing."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    bad = [(Hostile(t, fn), fn.__name__) for fn, _ in WAYS]
    for h, name in bad:
        subscribe(c, h.url("/" + name))
    s = subscribe(c, r.url("/good"))
    want, waits = [], []
    for _ in range(40):
        ev = envelope()
        at = time.monotonic()
        c.publish(ev).want(202)
        want.append(ev["eventId"])
        r.wait_for(len(want), "/good", 5)
        waits.append(time.monotonic() - at)
        time.sleep(0.05)
    got = r.at("/good")
    same(sorted(g.json["eventId"] for g in got), sorted(want), "each, once")
    check(all(verify(g, s["secret"]) for g in got), "signed")
    check(max(waits) < 2 * hk.SLOW, "in time", max(waits), sorted(waits)[20])
    until(lambda: all(h.requests for h, _ in bad), "all were called", 15)
    frugal(srv)
    c.get("/v1/events").want(200)


def test_a_big_body_that_nobody_reads(t):
    """Answered before the body was read, and never read at all."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()

    def before(s, _):
        s.recv(1024)
        s.sendall(OK)
        time.sleep(30)

    def before_and_close(s, _):
        s.recv(1024)
        s.sendall(OK)

    def refuses(s, _):
        s.recv(1024)
        s.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        time.sleep(0.2)

    def never(s, _):
        time.sleep(30)
    big = {"eventType": "TEST", "payload": {"x": "y" * 900000}}
    for fn in (before, before_and_close, refuses, never):
        s = subscribe(c, Hostile(t, fn, blind=True).url(), enabled=False)
        at = time.monotonic()
        a = c.post(f"/v1/subscriptions/{s['id']}/test", {"event": big}).want(200).json
        took = time.monotonic() - at
        check(took < 3.5 * hk.SLOW, f"{fn.__name__} ends", took, a)
        check(a["success"] or a["error"], f"{fn.__name__} is told", a)
        if fn is never:
            check("timed out" in a["error"].lower(), "why", a)
        if fn is refuses:
            check(not a["success"], "not taken", a)
    subscribe(c, r.url("/good"))
    c.publish(envelope(payload={"x": "y" * 900000})).want(202)
    r.wait_for(1, "/good")
    frugal(srv)


def test_kept_connections_that_close(t):
    """A connection kept by the receiver and closed between requests: none is lost or doubled."""
    c = t.srv.client()
    seen = []

    def keeps(s, head):
        n = 0
        while head is not None:
            seen.append(head)
            s.sendall(OK)
            n += 1
            if n == 3:  # closes without a word
                return
            head = h.request(s)
    h = Hostile(t, keeps)
    subscribe(c, h.url("/keep"), retry={"delaysMs": [100] * 10, "jitterMs": 0})
    evs = []
    for i in range(30):
        ev = envelope()
        c.publish(ev).want(202)
        evs.append(ev["eventId"])
        time.sleep(0.02 if i % 3 else 0.1)
    until(lambda: len(seen) >= 30, "all arrive", 15)
    time.sleep(0.3)
    same(len(seen), 30, "each once")
    check(h.connections >= 10, "each connection three", h.connections)


def test_nobody_there(t):
    c = t.srv.client()
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))  # bound, not listening
        a = try_out(c, subscribe(c, f"http://127.0.0.1:{s.getsockname()[1]}/", enabled=False))
    check(not a["success"] and "connect" in a["error"].lower(), "refused", a)
    full = socket.create_server(("127.0.0.1", 0), backlog=0)
    t.later(full.close)
    port = full.getsockname()[1]
    held = [socket.socket() for _ in range(4)]
    for x in held:
        t.later(x.close)
        x.setblocking(False)
        x.connect_ex(("127.0.0.1", port))
    a = try_out(c, subscribe(c, f"http://127.0.0.1:{port}/", enabled=False))
    check(not a["success"] and "time" in a["error"].lower(), "nobody takes it", a)


# ---------------------------------------------------------------- TLS

def context(pair, client_ca=None, least=None):
    x = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    x.load_cert_chain(*pair)
    if client_ca:
        x.verify_mode = ssl.CERT_REQUIRED
        x.load_verify_locations(client_ca)
    if least:
        x.minimum_version, x.maximum_version = least, least
    return x


def good(s, _):
    s.sendall(OK)


def read(path):
    with open(path) as f:
        return f.read()


def test_certificates(t):
    p = Pki(t.folder)
    srv = t.server(WEBHOOK_TLS_CA=p.ca)
    c = srv.client()
    local = "IP:127.0.0.1"
    rows = [
        (p.make("good", local), None), (p.alone("self", local), "self"),
        (p.make("expired", local, days=-1), "expired"),
        (p.make("other", "IP:127.0.0.9,DNS:other.test"), "no alternative certificate subject name"),
    ]
    for pair, says in rows:
        h = Hostile(t, good, tls=context(pair))
        a = try_out(c, subscribe(c, h.url(), enabled=False))
        name = os.path.basename(pair[0])
        if says is None:
            check(a["success"], f"{name} is trusted", a)
        else:
            check(not a["success"] and a["statusCode"] is None and says in a["error"],
                  f"{name}: {says}", a)
            same(h.requests, [], f"{name}: nothing was sent")

    def silent(s, _):
        time.sleep(30)
    # Garbage may end the connection before all of our part is out.
    for fn, says in ((silent, ("timed out",)), (garbage, ("ssl", "broken pipe"))):
        h = Hostile(t, fn, blind=True)
        a = try_out(c, subscribe(c, h.url(scheme="https"), enabled=False))
        check(not a["success"] and any(x in a["error"].lower() for x in says), fn.__name__, a)
    # Without the setting it is unknown.
    h = Hostile(t, good, tls=context(rows[0][0]))
    a = try_out(t.srv.client(), subscribe(t.srv.client(), h.url(), enabled=False))
    check(not a["success"] and "certificate" in a["error"], "an authority nobody knows", a)


def test_mutual_tls(t):
    p = Pki(t.folder)
    srv = t.server(WEBHOOK_TLS_CA=p.ca)
    c = srv.client()
    h = Hostile(t, good, tls=context(p.make("server", "IP:127.0.0.1"), client_ca=p.ca))
    ours, wrong = p.make("ours", "DNS:ours"), p.alone("wrong", "DNS:wrong")

    def with_cert(pair):
        return subscribe(c, h.url(), enabled=False, auth={
            "type": "mtls", "certificate": read(pair[0]), "key": read(pair[1])})
    a = try_out(c, with_cert(ours))
    check(a["success"], "with a certificate", a)
    for s in (with_cert(wrong), subscribe(c, h.url(), enabled=False)):
        n = len(h.requests)
        a = try_out(c, s)
        check(not a["success"] and a["error"], "without the right one", a)
        same(len(h.requests), n, "nothing was sent")
    a = try_out(c, with_cert((ours[0], wrong[1])))
    check(not a["success"] and a["error"], "a key of another certificate", a)
    for bad in ({"certificate": "x", "key": read(ours[1])}, {"certificate": read(ours[0])}):
        c.post("/v1/subscriptions", {"name": "s", "url": h.url(), "auth": {"type": "mtls", **bad}}
               ).want(422)
    s = with_cert(ours)
    c.post(f"/v1/subscriptions/{s['id']}/enable").want(200)
    n = len(h.requests)
    c.publish(envelope()).want(202)
    until(lambda: len(h.requests) > n, "a delivery")


# ---------------------------------------------------------------- auth, proxy

def test_auth_types(t):
    c, r = t.srv.client(), Receiver(t)
    for auth, name, value in (
            ({"type": "basic", "username": "u", "password": "p:w ö"}, "Authorization",
             hk.basic("u", "p:w ö")),
            ({"type": "bearer", "token": "tok-1"}, "Authorization", "Bearer tok-1"),
            ({"type": "apikey", "header": "X-Api-Key", "value": "k-1"}, "X-Api-Key", "k-1")):
        path = "/" + auth["type"]
        s = subscribe(c, r.url(path), auth=auth)
        c.publish(envelope()).want(202)
        got, = r.wait_for(1, path)
        same(got.headers[name], value, auth["type"])
        check(verify(got, s["secret"]), "signed too", got)


def test_oauth2(t):
    """A token is fetched once, used, and fetched anew when it is refused; failures are told."""
    c, r = t.srv.client(), Receiver(t)
    tokens = []

    def token(request):
        if request.headers["Authorization"] != hk.basic("cid", "sec"):
            return 401, {"Content-Type": "application/json"}, b'{"error":"invalid_client"}'
        tokens.append(request.body)
        return 200, {"Content-Type": "application/json"}, (
            b'{"access_token":"t%d","token_type":"Bearer","expires_in":3600}' % len(tokens))
    r.answer("/token", token)
    r.answer("/o", lambda q: 401 if q.headers["Authorization"] == "Bearer t1"
             and tokens and revoked else 200)
    revoked = []
    auth = {"type": "oauth2", "tokenUrl": r.url("/token"), "clientId": "cid", "clientSecret": "sec",
            "scope": "a b"}
    s = subscribe(c, r.url("/o"), auth=auth)
    for _ in range(5):
        c.publish(envelope()).want(202)
    got = r.wait_for(5, "/o")
    same({g.headers["Authorization"] for g in got}, {"Bearer t1"}, "one token for all")
    same(len(tokens), 1, "fetched once")
    check(b"grant_type=client_credentials" in tokens[0] and b"scope=a+b" in tokens[0]
          or b"scope=a%20b" in tokens[0], "what was asked", tokens)
    revoked.append(True)
    ev = envelope()
    c.publish(ev).want(202)
    r.wait_for(1, "/o", when=lambda q: q.json["eventId"] == ev["eventId"]
               and q.headers["Authorization"] == "Bearer t2")
    same(len(tokens), 2, "fetched again, and the delivery was not given up")
    a = try_out(c, s)
    check(a["success"], "in use", a)
    bad = subscribe(c, r.url("/o"), auth={**auth, "clientSecret": "wrong"}, enabled=False)
    a = try_out(c, bad)
    check(not a["success"] and "401" in a["error"] and "token" in a["error"], "refused", a)
    for path, answer, says in (
            ("/junk", (200, {}, b"<html>"), "token"), ("/500", (500, {}, b"x" * 1000), "500"),
            ("/long", (200, {}, b'{"access_token":"' + b"x" * 200000 + b'"}'), "token")):
        r.answer(path, *answer)
        a = try_out(c, subscribe(c, r.url("/o"), enabled=False,
                                 auth={**auth, "tokenUrl": r.url(path)}))
        check(not a["success"] and says in a["error"], path, a)
    for fn in (no_answer, garbage, huge, early_none):
        a = try_out(c, subscribe(c, r.url("/o"), enabled=False,
                                 auth={**auth, "tokenUrl": Hostile(t, fn).url("/t")}))
        check(not a["success"] and a["error"], fn.__name__, a)


def test_proxy(t):
    """All goes through it, to the address that was judged; what it says is not the receiver's."""
    p, r = Proxy(t), Receiver(t)
    # "localhost" is ::1 as well on most machines: all addresses of a name are judged.
    srv = t.server(WEBHOOK_PROXY=p.url, WEBHOOK_URL_ALLOW_PRIVATE="127.0.0.0/8,::1/128")
    c = srv.client()
    s = subscribe(c, r.url("/p"))
    named = subscribe(c, f"http://localhost:{r.port}/n")
    c.publish(envelope()).want(202)
    got, = r.wait_for(1, "/p")
    check(verify(got, s["secret"]), "as it was sent", got)
    check(verify(r.wait_for(1, "/n")[0], named["secret"]), "by name")
    same(set(p.asked), {f"127.0.0.1:{r.port}"}, "the checked address is asked for")
    for url in ("http://10.0.0.1/", "http://169.254.169.254/"):
        c.post("/v1/subscriptions", {"name": "s", "url": url}).want(422, says="not public")
    with socket.socket() as x:
        x.bind(("127.0.0.1", 0))
        a = try_out(c, subscribe(c, f"http://127.0.0.1:{x.getsockname()[1]}/", enabled=False))
    check(not a["success"] and a["statusCode"] is None and "502" in a["error"],
          "the proxy's answer is told as the proxy's", a)
    p.stop()
    a = try_out(c, s)
    check(not a["success"] and a["error"], "a proxy that is gone", a)


def test_a_proxy_that_says_gone(t):
    """410 of a proxy does not disable the subscription."""
    h = Hostile(t, lambda s, _: s.sendall(b"HTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"))
    srv, r = t.server(WEBHOOK_PROXY=f"http://127.0.0.1:{h.port}"), Receiver(t)
    c = srv.client()
    s = subscribe(c, r.url("/p"))
    c.publish(envelope()).want(202)
    until(lambda: h.requests, "it was asked")
    time.sleep(0.5)
    check(c.get("/v1/subscriptions/" + s["id"]).want(200).json["enabled"], "still enabled")
    same(r.count(), 0, "nothing passed")
