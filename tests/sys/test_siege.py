"""Strangers, and one greedy tenant, stop nobody else: each kind of siege for some seconds."""
import select
import time

import hk
from crowd import HEAD, KINDS, Crowd
from hk import check, dump, envelope, new_id, request, same, until

class Publisher:
    """With a key, on connections that live on and on new ones: only 202 will do."""

    def __init__(self, srv, key):
        self.srv, self.key, self.bad, self.n, self.fresh = srv, key, [], 0, 0
        self.head = {"Authorization": "Bearer " + key, "Content-Type": "application/json"}
        self.raw = srv.raw()

    def publish(self, raw, pad):
        raw.send(request("POST", "/v1/events", self.head, dump(envelope(payload={"x": pad}))))
        a = raw.answer()
        if a.status != 202:
            self.bad.append((a.status, a.body[:200]))
        self.n += 1

    def work(self, seconds):
        until_ = time.monotonic() + seconds
        while time.monotonic() < until_:
            for pad in ("", "y" * 50_000, "y" * 500_000):
                self.publish(self.raw, pad)
            raw = self.srv.raw()
            self.publish(raw, "")
            raw.close()
            self.fresh += 1
            time.sleep(0.01)
        same(self.bad[:3], [], f"of {self.n} publishes")
        check(self.fresh >= 3 * seconds, "new connections are let in", self.fresh, seconds)


def siege(t, srv, crowds, seconds=2, cut=False):
    try:
        time.sleep(1)
        Publisher(srv, srv.new_key("publish")["key"]).work(seconds)
        check(not cut or any(c.lost for c in crowds), "some of the besiegers were cut")
    finally:
        for c in crowds:
            c.end()
    check(srv.alive(), "the server lives", srv.tail())
    srv.client().get("/healthz").want(200)


def besieged(t, kind, places=400, cut=False, **settings):
    srv = t.server(HTTP_CONNECTIONS_MAX=str(places), **settings)
    crowds = KINDS[kind](srv, places)
    siege(t, srv, crowds, cut=cut)
    return crowds


def test_withheld_bodies(t):
    """8 MiB that never come, on a route that is open to anybody: not even begun."""
    crowd, = besieged(t, "bodies")
    check(b" 413 " in crowd.seen, "a password is no 8 MiB", crowd.seen)


def test_withheld_webhooks(t):
    """/in takes large bodies of strangers; they share a quarter of the memory."""
    besieged(t, "webhooks")


def test_half_sent_heads(t):
    """More than there are places, from one address; those that are oldest are cut."""
    besieged(t, "heads", cut=True)


def test_five_thousand_heads(t):
    """At the setting that is given."""
    srv = t.server()
    crowd = Crowd(srv, 5000, HEAD)
    until(lambda: len(crowd.socks) + crowd.lost >= 5000, "5,000 came", 30)
    siege(t, srv, [crowd], cut=True)


def test_networks(t):
    """Many networks together can't have the last quarter."""
    besieged(t, "networks", cut=True)


def test_slow_bodies(t):
    besieged(t, "drips", cut=True)


def test_slow_readers(t):
    """Answers that nobody takes: asked for again and again, never read."""
    besieged(t, "readers")


def test_junk(t):
    """What is no HTTP: TLS to a plain port, noise, half lines."""
    besieged(t, "junk")


def test_bodies_of_a_key(t):
    """A tenant's key withholds bodies; another's publisher does not notice."""
    besieged(t, "key")


def stream_of(srv, key, **more):
    raw = srv.raw()
    raw.send(request("GET", "/v1/events/stream", {"Authorization": "Bearer " + key}))
    while b"\r\n\r\n" not in raw.buf:
        raw.more()
    return int(raw.buf.split(b" ")[1]), raw


def test_streams_of_a_key(t):
    """One key has a quarter of the streams, its network a half; others follow the log."""
    srv = t.server()
    greedy, second, honest = (srv.new_key("read", tenants=[new_id()])["key"] for _ in range(3))
    got = [stream_of(srv, greedy) for _ in range(256)]
    same(sum(s == 200 for s, _ in got), 64, "streams of one key")
    status, raw = next(g for g in got if g[0] != 200)
    same(status, 429, "past its share")
    check(b"64 live streams" in raw.buf and b"retry-after" in raw.buf.lower(), "says why", raw.buf)
    s = srv.stream(honest)
    same(s.answer.status, 200, "a stream of another")
    mine = srv.client(second).get("/v1/events?wait=1")
    same(mine.status, 200, "a long poll of a third")
    Publisher(srv, srv.new_key("publish")["key"]).work(1)
    for _, r in got:
        r.close()
    until(lambda: stream_of(srv, greedy)[0] == 200, "room again")


def test_polls_of_a_key(t):
    srv = t.server()
    greedy, honest = (srv.new_key("read")["key"] for _ in range(2))
    ask = request("GET", "/v1/events?wait=20", {"Authorization": "Bearer " + greedy})
    raws = [srv.raw() for _ in range(100)]
    for r in raws:
        r.send(ask)
    ready = select.poll()
    for r in raws:
        ready.register(r.sock, select.POLLIN)
    until(lambda: len(ready.poll(0)) == 36, "100 asked, 64 wait")
    same(srv.client(honest).get("/v1/events?wait=1").status, 200, "another waits as it likes")


def test_few_files(t):
    """Under a small limit of open files the connections are fewer, and it says so."""
    srv = t.server(start=False)
    srv.under = ["prlimit", "--nofile=900:900"]
    srv.start()
    check("fewer connections than http.connections.max" in srv.tail(50), "a warning", srv.tail(50))
    siege(t, srv, [Crowd(srv, 900, HEAD)], cut=True)
    check("can't accept" not in srv.tail(2000), "it never ran out", srv.tail(20))
