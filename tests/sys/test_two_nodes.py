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


def dead_letters(node, n):
    return until(lambda: (lambda d: d if len(d) == n else None)(
        node.client().get("/v1/dead-letters").want(200).json["data"]), f"{n} dead letters")


def every_call(p, at, path):
    """What only the engine can do, asked of the node `at`."""
    c, begin = at.client(), hk.now()
    s = subscribe(at, p.r.url(path), types=[path[1:] + ".*"], retry={"count": 0})
    sub = "/v1/subscriptions/" + s["id"]
    test = c.post(sub + "/test").want(200).json
    same((test["success"], test["statusCode"]), (True, 200), "a test of one made a moment ago")
    p.r.answer(path, 500, times=5)
    c.publish([envelope(type=path[1:] + ".x", payload={}) for _ in range(5)]).want(200)
    dead = dead_letters(at, 5)
    c.post(f"/v1/dead-letters/{dead[0]['id']}/requeue").want(202)
    c.post(f"/v1/dead-letters/{dead[1]['id']}/skip", {"reason": "no"}).want(200)
    c.post(f"/v1/deliveries/{dead[2]['id']}/retry").want(202)
    c.post(f"/v1/dead-letters/{dead[3]['id']}/requeue", {"payload": {"edited": True}}).want(202)
    p.r.wait_for(1 + 5 + 3, path)
    got = c.post("/v1/dead-letters/requeue", {"filter": {}}).want(200).json
    same((got["requeued"], got["failed"]), (1, 0), "all that are left")
    p.r.wait_for(1 + 5 + 4, path)
    # A delivery that succeeded, again: by its event.
    again = c.get("/v1/deliveries", subscription=s["id"], status="SUCCESS").want(200).json["data"][0]
    c.post(f"/v1/deliveries/{again['id']}/retry").want(202)
    p.r.wait_for(1 + 5 + 5, path)
    for more in ({}, {"exclusive": True}):
        n = p.r.count(path)
        x = c.post("/v1/replays", {"subscription": s["id"], "since": begin, **more}).want(202).json
        until(lambda: c.get("/v1/replays/" + x["id"]).want(200).json["state"] == "done", "a replay")
        check(p.r.count(path) >= n + 5, "it was sent", p.r.count(path), n)
    c.post(sub + "/disable").want(200)
    c.publish(envelope(type=path[1:] + ".x", payload={})).want(202)
    c.post(sub + "/enable", {"from": "now"}).want(200)
    c.delete(sub).want(204)


def work(at, name):
    c = at.client()
    c("PUT", "/v1/consumers/" + name, {"types": [name + ".*"]}).want(201)
    events = f"/v1/consumers/{name}/events"
    same(c.get(events).want(200).json["data"], [], "nothing yet")
    want = [envelope(type=name + ".x", payload={"n": i}) for i in range(3)]
    c.publish(want).want(200)
    got = []
    while len(got) < 3:
        got += c.get(events, wait=15).want(200).json["data"]
    same([(g["eventId"], g["payload"]) for g in got], [(e["eventId"], e["payload"]) for e in want], "fetched")
    for verb, more, say in (("ack", {}, "acked"), ("nack", {"dead": True, "reason": "bad"}, "dead"),
                            ("extend", {"seconds": 60}, "extended")):
        cursor = got.pop(0)["cursor"]
        said = c.post(f"/v1/consumers/{name}/{verb}", {"cursors": [cursor, "x"], **more}).want(200).json
        same([x["status"] for x in said["results"]], [say, "invalid"], verb)
    dead = c.get("/v1/dead-letters").want(200).json["data"]
    same([d["error"] for d in dead], ["bad"], "why") if "error" in dead[0] else None
    c.delete("/v1/consumers/" + name).want(204)


def test_any_node_takes_any_call(t):
    p = Pair(t)
    owner, other = p.nodes
    check(p.owns(owner) and not p.owns(other), "one delivers")
    every_call(p, other, "/far")
    every_call(p, owner, "/near")
    work(other, "far")
    same(p.owners(), 1, "one owner")
    until(lambda: hk.psql(p.url, "SELECT count(*) FROM errand") == "0", "no errand is left behind")


def test_a_node_that_never_delivers(t):
    p = Pair(t)
    p.nodes[1].stop()
    api = t.server(url=p.url, SERVER_ROLES="api", WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key"))
    api.admin_key = p.nodes[0].admin_key
    every_call(p, api, "/api")
    work(api, "api")


def test_changed_here_asked_there(t):
    """A change at one node counts for what is asked of the other right behind it."""
    p = Pair(t)
    owner, other = p.nodes
    for i in range(5):
        for a, b in ((owner, other), (other, owner)):
            path = f"/c{i}{p.nodes.index(a)}"
            s = subscribe(a, p.r.url(path))
            url = f"/v1/subscriptions/{s['id']}"
            same(b.client().post(url + "/test").want(200).json["success"], True, "made there")
            a.client()("PATCH", url, {"url": p.r.url(path + "x")}).want(200)
            same(b.client().post(url + "/test").want(200).json["success"], True, "changed there")
            same((p.r.count(path), p.r.count(path + "x")), (1, 1), "where the change says")
            a.client()("PUT", "/v1/consumers/" + path[1:], {}).want(201)
            b.client().get(f"/v1/consumers/{path[1:]}/events").want(200)
            a.client().delete(url).want(204)


def test_killed_with_an_errand(t):
    """kill -9 of the owner in the middle: the next one does it, or the answer says what is known."""
    p = Pair(t)
    owner, other = p.nodes
    s = subscribe(other, p.r.url("/e"), types=["e.*"], retry={"count": 0})
    p.r.answer("/e", 500, times=3)
    want = p.publish(other, 3, type="e.x", payload={})
    dead = dead_letters(other, 3)
    p.r.clear()
    owner.proc.send_signal(signal.SIGSTOP)
    got = []

    def ask(d):
        c = hk.Client(other, "Bearer " + other.admin_key, timeout=60)
        got.append(c.post(f"/v1/dead-letters/{d['id']}/requeue"))
        c.close()
    threads = [threading.Thread(target=ask, args=(d,)) for d in dead]
    for x in threads:
        x.start()
    until(lambda: hk.psql(p.url, "SELECT count(*) FROM errand") == "3", "they wait")
    owner.kill9()
    for x in threads:
        x.join(60 * hk.SLOW)
    check(len(got) == 3 and all(g.status == 202 for g in got), "the one that took over did it", got)
    check(p.owns(other), "it delivers")
    until(lambda: set(arrived(p.r, "/e")) == set(want), "all arrive", 20)
    until(lambda: hk.psql(p.url, "SELECT count(*) FROM errand") == "0", "no errand is left behind")
    same(other.client().get("/v1/dead-letters").want(200).json["data"], [], "none is left dead")


def test_nobody_delivers(t):
    """Within its bound the answer says so, and nothing is done later in silence."""
    p = Pair(t)
    for n in p.nodes:
        n.stop()
    api = t.server(url=p.url, SERVER_ROLES="api", WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key"))
    api.admin_key = p.nodes[0].admin_key
    s = subscribe(api, p.r.url("/n"))
    c = api.client(timeout=90)
    c("PUT", "/v1/consumers/none", {}).want(201)
    a = c.get("/v1/consumers/none/events").want(503, says="no server that delivers")
    check(a.headers["Retry-After"], "when to come again", dict(a.headers))
    same(hk.psql(p.url, "SELECT count(*) FROM errand"), "0", "the errand is gone")
    # A replay needs nobody to be awake.
    x = c.post("/v1/replays", {"subscription": s["id"], "since": "2020-01-01T00:00:00Z"}).want(202).json
    p.nodes[0].start()
    until(lambda: c.get("/v1/replays/" + x["id"]).want(200).json["state"] == "done", "it runs when one comes")


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


def test_event_types_on_both(t):
    """A type that one node took is known to the other within two seconds, and to itself at once."""
    p = Pair(t)
    one, two = (n.client() for n in p.nodes)
    ev = {"eventType": "shared.type", "payload": {}}
    for strict, status in ((True, 422), (False, 202)):
        one("PUT", "/v1/event-types/shared.type", {"schema": {"required": ["a"]}, "strict": strict})
        one.publish(ev).want(status)
        until(lambda: two.publish(ev).status == status, f"{status} there", 5)
