"""Two nodes on one PostgreSQL: one delivers, the other takes over, nobody twice.

Each node has a proxy of its own, so that it is known who sent.
"""
import signal
import threading
import time

import hk
import receiver
from hk import Skip, check, envelope, same, until
from proxy import Proxy
from receiver import Receiver, verify

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
LEASE = 15


class Pair:
    def __init__(self, t):
        if hk.STORE != "postgres":
            raise Skip("two nodes share a PostgreSQL")
        self.url, self.r = hk.pg_database(hk.PG_URL), Receiver(t)
        self.proxies = [Proxy(t), Proxy(t)]
        with open(t.path("seal.key"), "w", opener=private) as f:
            f.write("k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n")
        self.nodes = [t.server(url=self.url, WEBHOOK_PROXY=p.url,
                               WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key"))
                      for p in self.proxies]
        key = self.nodes[0].key()
        for n in self.nodes:
            n.admin_key = key
        until(lambda: self.owners() == 1, "one delivers")
        if not self.owns(self.nodes[0]):
            self.nodes.reverse()
            self.proxies.reverse()

    def owns(self, node):
        return metric(node, "hikyaku_deliver_owner") == 1

    def owners(self):
        return sum(self.owns(n) for n in self.nodes if n.alive())

    def publish(self, node, n, **more):
        evs = [envelope(**more) for _ in range(n)]
        node.client().publish_ndjson(evs).want(200)
        return [e["eventId"] for e in evs]


def private(path, flags):
    import os
    return os.open(path, flags, 0o600)


def metric(node, name):
    text = node.client().get("/metrics").want(200).body.decode()
    line = next(l for l in text.split("\n") if l.startswith(name + " "))
    return float(line.split()[1])


def subscribe(node, url, **more):
    return node.client().post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def arrived(r, path):
    """Per event, how often it came; and that its deliveryId never changed."""
    count, ids = {}, {}
    for g in r.at(path):
        e = g.json["eventId"]
        count[e] = count.get(e, 0) + 1
        check(ids.setdefault(e, g.id) == g.id, "one deliveryId for one event", e)
    return count


def test_one_delivers(t):
    p = Pair(t)
    a, b = p.nodes
    # A subscription made at the one that stands by is the owner's to serve.
    s = subscribe(b, p.r.url("/one"))
    want = p.publish(a, 50) + p.publish(b, 50)
    got = p.r.wait_for(100, "/one", 20)
    check(all(verify(g, s["secret"]) for g in got), "signed", got[:1])
    p.r.quiet(1, "/one")
    same(sorted(arrived(p.r, "/one")), sorted(want), "from both, each once")
    check(p.proxies[0].asked and not p.proxies[1].asked, "one node sent them",
          p.proxies[0].asked[:2], p.proxies[1].asked[:2])
    same(p.owners(), 1, "one owner")
    # A good end gives the groups away at once.
    a.stop()
    until(lambda: p.owns(b), "the other delivers", 5)
    p.publish(b, 10)
    p.r.wait_for(110, "/one")
    p.r.quiet(0.5, "/one")
    a.start()


def test_killed(t):
    """kill -9 of the owner: nothing is lost, what was under way comes again."""
    p = Pair(t)
    a, b = p.nodes
    concurrency = 8
    subscribe(a, p.r.url("/k"), concurrency=concurrency)
    p.r.answer("/late", 503, times=4)
    subscribe(a, p.r.url("/late"), types=["late.*"], retry={"delaysMs": [1500000] * 3, "jitterMs": 0})
    late = p.publish(a, 4, type="late.one", payload={})
    p.r.wait_for(4, "/late")
    p.r.wait_for(4, "/k")
    time.sleep(1)  # written
    p.r.clear()
    p.r.answer("/k", 200, delay=0.02)
    want, stop = [], threading.Event()

    def load():
        c = hk.Client(b, "Bearer " + b.admin_key)
        while not stop.is_set():
            evs = [envelope() for _ in range(20)]
            c.publish_ndjson(evs).want(200)
            want.extend(e["eventId"] for e in evs)
            time.sleep(0.1)
        c.close()
    work = threading.Thread(target=load)
    work.start()
    try:
        time.sleep(1.5)
        a.kill9()
        at = time.monotonic()
        until(lambda: p.owns(b), "the other takes over", LEASE + 10, 0.1)
        took = time.monotonic() - at
        check(took >= LEASE - 3, "not before the lease is over", took)
        time.sleep(1)
    finally:
        stop.set()
        work.join()
    want = set(want)
    until(lambda: len(arrived(p.r, "/k")) == len(want), "nothing is lost", 30, 0.2)
    until(lambda: len(arrived(p.r, "/late")) == 4, "what waited for its time", 30, 0.2)
    p.r.quiet(1)
    count = arrived(p.r, "/k")
    same(set(count), want, "all that was accepted")
    same(set(arrived(p.r, "/late")), set(late), "all that waited")
    more = sum(count.values()) - len(count)
    # In flight, and answered since the last flush.
    check(more <= 200 and max(count.values()) <= 2, "repeats are bounded", more)


def test_stopped_and_continued(t):
    """SIGSTOP past the lease: fenced, the first sends and writes nothing, and lives on."""
    p = Pair(t)
    a, b = p.nodes
    subscribe(a, p.r.url("/c"))
    p.publish(a, 5)
    p.r.wait_for(5, "/c")
    time.sleep(1)  # written
    first = p.publish(a, 1)
    p.r.wait_for(6, "/c")
    a.proc.send_signal(signal.SIGSTOP)
    t.later(lambda: a.proc and a.proc.send_signal(signal.SIGCONT))
    # Ready in the log, so that the first would find work when it goes on.
    want = p.publish(b, 500)
    until(lambda: p.owns(b), "the other takes over", LEASE + 10, 0.1)
    want += p.publish(b, 500)
    until(lambda: set(want) <= set(arrived(p.r, "/c")), "the other delivers", 20, 0.1)
    p.r.answer("/c", 200, delay=0.01)
    sent = len(p.proxies[0].sent)
    want += p.publish(b, 500)
    a.proc.send_signal(signal.SIGCONT)
    until(lambda: any("another node" in str(l) for l in a.log()), "it is told, and logs it")
    want += p.publish(a, 200)
    until(lambda: set(want) <= set(arrived(p.r, "/c")), "all arrives", 30, 0.1)
    p.r.quiet(1)
    same(len(p.proxies[0].sent), sent, "the first starts no send")
    same(p.owners(), 1, "one owner")
    check(p.owns(b) and not p.owns(a), "it is the other")
    count = arrived(p.r, "/c")
    check(all(count[e] == 1 for e in want), "each once: the first wrote nothing of these",
          {e: n for e, n in count.items() if n > 1})
    check(count[first[0]] <= 2, "what was not yet written may come twice", count[first[0]])
    for n in p.nodes:
        same(n.connect().get("/readyz").status, 200, "healthy")
    # And back again.
    b.stop()
    until(lambda: p.owns(a), "the first delivers again", 10)
    last = p.publish(a, 50)
    until(lambda: set(last) <= set(arrived(p.r, "/c")), "and sends", 20, 0.1)
    check(len(p.proxies[0].sent) > sent, "by itself")
    b.start()


def test_paused_within_the_lease(t):
    """A short stop costs nothing: the same owner goes on."""
    p = Pair(t)
    a, b = p.nodes
    subscribe(a, p.r.url("/p"))
    a.proc.send_signal(signal.SIGSTOP)
    t.later(lambda: a.proc and a.proc.send_signal(signal.SIGCONT))
    want = p.publish(b, 20)
    time.sleep(6)
    check(not p.owns(b), "the lease still runs")
    same(p.r.count("/p"), 0, "nobody sends")
    a.proc.send_signal(signal.SIGCONT)
    p.r.wait_for(20, "/p")
    p.r.quiet(0.5, "/p")
    same(sorted(arrived(p.r, "/p")), sorted(want), "each once")
    check(p.owns(a) and not p.owns(b), "as before")


def test_first_start_together(t):
    """Two that start at once: the groups are taken once, not one from the other."""
    if hk.STORE != "postgres":
        raise Skip("two nodes share a PostgreSQL")
    with open(t.path("seal.key"), "w", opener=private) as f:
        f.write("k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n")
    for _ in range(4):
        url = hk.pg_database(hk.PG_URL)
        nodes = [t.server(url=url, start=False, WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key"))
                 for _ in range(2)]
        threads = [threading.Thread(target=n.start) for n in nodes]
        for x in threads:
            x.start()
        for x in threads:
            x.join(60 * hk.SLOW)
        check(all(n.alive() for n in nodes), "both have started")
        until(lambda: hk.psql(url, "SELECT count(*) FROM grp WHERE owner <> ''") != "0",
              "one delivers")
        time.sleep(1.5)
        same(hk.psql(url, "SELECT max(epoch) FROM grp"), "1", "times the groups were taken")
        for n in nodes:
            n.stop()
