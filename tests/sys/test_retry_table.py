"""What is tried again, when, and how often: seed 000, 2.6.3, and "Presets at a glance"."""
import email.utils
import hashlib
import hmac
import json
import threading
import time

import receiver
from hk import check, envelope, new_id, same, until
from receiver import Receiver, verify

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}
# reasons.tbl
HTTP_STATUS, TIMEOUT, NETWORK, TLS, EXHAUSTED, DEADLINE, GONE = (
    "1", "2", "3", "5", "9", "10", "11")
# Three tries 3 s apart, scaled: what is mended after the first is mended in time, where a
# preset's own would all be over within milliseconds.
LATER = {"retry": {"delaysMs": [3000000] * 3, "jitterMs": 0}}
AGAIN, FINAL, GOOD, LEAVE = "again", "final", "good", "gone"
TABLE = [  # (status or what happens, what it means: everywhere but in `task`)
    *[(s, GOOD) for s in (200, 201, 202, 204, 299)],
    *[(s, AGAIN) for s in (408, 429, 500, 501, 502, 503, 504, 599)],
    *[(s, FINAL) for s in (400, 401, 402, 403, 404, 405, 409, 413, 422, 451, 499)],
    *[(s, FINAL) for s in (300, 301, 302, 303, 304, 307, 308)],
    (410, LEAVE), ("timeout", AGAIN), ("refused", AGAIN), ("cut", AGAIN), ("tls", AGAIN)]


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def of(srv, sub, what, table):
    text = sub["id"].replace("-", "")
    uid = f"'\\x{text}'" if srv.url else f"x'{text}'"
    return srv.rows(f"SELECT {what} FROM {table} x JOIN subscription s ON s.id = x.sub "
                    f"WHERE s.uid = {uid} ORDER BY seq")


def dead(srv, sub, what="reason, tries"):
    return of(srv, sub, what, "dead")


def waiting(srv, sub, what="state, tries, n"):
    return of(srv, sub, what, "delivery")


def attempts(srv, sub):
    """The reasons, 0 for a success."""
    return [r[0] for r in of(srv, sub, "x.reason, n", "attempt")]


class Snapshot:
    """What became of all subscriptions: one look for many, as each is a psql of its own."""

    def __init__(self, srv):
        self.uid = "encode(s.uid, 'hex')" if srv.url else "lower(hex(s.uid))"
        self.attempts = self.by_sub(srv, "x.reason", "attempt", "seq, n")
        self.dead = self.by_sub(srv, "reason, tries", "dead", "seq")

    def by_sub(self, srv, what, table, order):
        got = {}
        for uid, *row in srv.rows(f"SELECT {self.uid}, {what} FROM {table} x JOIN subscription s "
                                  f"ON s.id = x.sub ORDER BY {order}"):
            got.setdefault(uid, []).append(tuple(row))
        return got

    def of(self, sub):
        """The reasons of its attempts, 0 for a success; its dead letters."""
        uid = sub["id"].replace("-", "")
        return [r[0] for r in self.attempts.get(uid, [])], self.dead.get(uid, [])


def fresh():
    return "case." + new_id()[:8]


def event(type, **more):
    return envelope(type, payload={"a": 1}, **more)


# ---------------------------------------------------------------- the table

class Case:
    """One row for one preset: an answer once, and 200 from then on."""

    def __init__(self, t, c, r, preset, what, meaning):
        self.what, self.preset, self.meaning = what, preset, meaning
        self.type, path = fresh(), "/c" + new_id()[:8]
        url, more, self.fix = r.url(path), {}, None
        if what == "timeout":
            r.answer(path, 200, delay=1.2, times=1)
            more = {"timeoutMs": 300}
        elif what == "refused":
            other = Receiver(t)
            other.stop()
            self.fix = other.start
            url, more = other.url(path), LATER
        elif what == "cut":
            r.answer(path, 0)  # until it is known: libcurl sends again by itself
            self.fix = lambda: r.answer_as_usual(path)
            more = LATER
        elif what == "tls":
            url = r.url(path).replace("http:", "https:")
        elif what != 200:
            r.answer(path, what, {"Location": r.url("/elsewhere")}, times=1)
        if preset == "task":
            more = {**more, "secret": "a secret of a task's receiver, long enough"}
        self.sub = subscribe(c, url, preset=preset, types=[self.type], **more)

    def settled(self, seen):
        got, dead = seen.of(self.sub)
        if self.what == "tls":
            return len(got) >= 2
        if self.meaning == AGAIN:
            return got[-1:] == ["0"]
        if self.meaning == GOOD:
            return got == ["0"]
        return bool(dead)

    def judge(self, seen):
        name = f"{self.preset}, {self.what}"
        got, dead = seen.of(self.sub)
        reason = {"timeout": TIMEOUT, "refused": NETWORK, "cut": NETWORK, "tls": TLS,
                  410: GONE if self.meaning == LEAVE else HTTP_STATUS}.get(self.what, HTTP_STATUS)
        if self.meaning == GOOD:
            same(got, ["0"], name + ": once")
        elif self.what == "tls":
            same(set(got), {TLS}, name + ": tried again")
        elif self.meaning == AGAIN:
            check(len(got) >= 2 and set(got[:-1]) == {reason}, name + ": tried again", got)
        else:
            same((got, dead), ([reason], [(reason, "1")]), name + ": once, then dead")


def table(t, preset):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    cases = []
    for what, meaning in TABLE:
        if preset == "task" and meaning != GOOD:
            meaning = AGAIN
        cases.append(Case(t, c, r, preset, what, meaning))
    for x in cases:
        c.publish(event(x.type)).want(202)
    for x in cases:
        if x.fix:
            until(lambda: attempts(srv, x.sub), "a first try")
            x.fix()
    seen = Snapshot(srv)
    for x in cases:
        if not x.settled(seen):
            seen = until(lambda: (lambda s: s if x.settled(s) else None)(Snapshot(srv)),
                         f"{preset}, {x.what}: it ends", 60)
    time.sleep(0.3)
    seen = Snapshot(srv)
    for x in cases:
        x.judge(seen)
    same(r.count("/elsewhere"), 0, "no redirect is followed")


def test_table_standard(t):
    table(t, "standard")


def test_table_cloudevents(t):
    table(t, "cloudevents")


def test_table_repository(t):
    table(t, "repository")


def test_table_task(t):
    """Everything but 2xx is tried again: the list is the law."""
    table(t, "task")


# ---------------------------------------------------------------- how often, and when

def count(t, preset, delays, slack, **more):
    """Calls until it is given up. Another key succeeds, so no breaker opens."""
    srv, r = t.server(), Receiver(t)
    c, type = srv.client(), fresh()
    sub = subscribe(c, r.url("/n"), preset=preset, types=[type], **more)
    c.publish(event(type, key="good")).want(202)
    r.wait_for(1, "/n")
    until(lambda: attempts(srv, sub) == ["0"], "the good one")
    r.answer("/n", 503)
    r.clear()
    c.publish(event(type, key="bad")).want(202)
    got = r.wait_for(len(delays) + 1, "/n", 40)
    for i, ms in enumerate(delays):
        gap = (got[i + 1].at - got[i].at) * 1000
        check(ms * 0.999 <= gap <= ms * slack + 1500, f"retry {i + 1} after {ms} ms", gap)
    until(lambda: dead(srv, sub) == [(EXHAUSTED, str(len(delays) + 1))], "then a dead letter")
    r.quiet(0.5, "/n")
    same(len({g.headers.get("webhook-id") or g.headers["X-Webhook-Id"] for g in got}), 1,
         "one delivery id")
    return got


def test_count_standard(t):
    """min(2^n s, 1 h) + up to a fifth, 10 retries; scaled by 1000."""
    count(t, "standard", [2 ** n for n in range(1, 11)], 1.2)


def test_count_repository(t):
    """Seed 2.6.3: 2 s, 4 s, 8 s; 3 by default."""
    count(t, "repository", [2, 4, 8], 1)


def test_count_repository_asked(t):
    """More when asked for, up to webhook.retry.max.count; never over 300 s."""
    c, r = t.srv.client(), Receiver(t)
    body = {"name": "s", "url": r.url("/x"), "preset": "repository", "retry": {"count": 11}}
    c.post("/v1/subscriptions", body).want(422, pointer="/retry/count")
    count(t, "repository", [2, 4, 8, 16, 32, 64, 128, 256, 300, 300], 1, retry={"count": 10})


def test_count_task(t):
    """60, 300, 1800 s."""
    count(t, "task", [60, 300, 1800], 1, secret="a secret of a task's receiver, long enough")


def test_count_own(t):
    count(t, "standard", [50, 20], 1, retry={"delaysMs": [50000, 20000], "jitterMs": 0})


def retry_after(t, value, least, most, **more):
    srv, r = t.server(TIME_SCALE="100"), Receiver(t)
    c, type = srv.client(), fresh()
    sub = subscribe(c, r.url("/ra"), types=[type], **more)
    r.answer("/ra", 429, {"Retry-After": value()}, times=1)
    c.publish(event(type)).want(202)
    first, = r.wait_for(1, "/ra")
    until(lambda: attempts(srv, sub)[:1] == [HTTP_STATUS], "it is known")
    c.publish(event(type)).want(202)
    c.publish(event(type)).want(202)
    got = r.wait_for(4, "/ra", 15)
    for g in got[1:]:
        check(least <= g.at - first.at, "the whole endpoint rests", g.at - first.at)
    check(got[1].at - first.at <= most, "and no longer", got[1].at - first.at)
    until(lambda: attempts(srv, sub).count("0") == 3, "all are delivered")


def test_retry_after_seconds(t):
    retry_after(t, lambda: "100", 1.0, 2.5)


def test_retry_after_date(t):
    retry_after(t, lambda: email.utils.formatdate(time.time() + 150, usegmt=True), 1.4, 3)


def test_retry_after_never_beyond_the_maximum(t):
    """300 s for `repository`, whatever the receiver asks for."""
    retry_after(t, lambda: "86400", 3.0, 4.5, preset="repository")


def test_retry_after_with_own_delays(t):
    """The longest of one's own waits is the most."""
    retry_after(t, lambda: "86400", 1.5, 3.0,
                retry={"delaysMs": [1000, 150000, 1000], "jitterMs": 0})


def test_retry_after_nonsense(t):
    retry_after(t, lambda: "soon", 0.02, 1.5)


# ---------------------------------------------------------------- 410

def test_gone(t):
    srv, r = t.server(), Receiver(t)
    c, type = srv.client(), fresh()
    for preset in ("standard", "repository"):
        path = "/gone-" + preset
        r.answer(path, 410, delay=0.2)
        sub = subscribe(c, r.url(path), preset=preset, types=[type])
        for _ in range(2):
            c.publish(event(type)).want(202)
        r.wait_for(2, path)
        got = until(lambda: next((x for x in [c.get("/v1/subscriptions/" + sub["id"]).want(200).json]
                                  if not x["enabled"]), None), "it is disabled")
        check("410" in got["disabledReason"], "and says why", got)
        until(lambda: dead(srv, sub) == [(GONE, "1")] * 2, "the deliveries")
        told = c.get("/v1/audit", category="SUBSCRIPTION_DISABLED").want(200).json["data"]
        told = [x for x in told if sub["id"] in json.dumps(x)]
        check(len(told) == 1 and "410" in json.dumps(told), "audited, once", told)
        ops = [e for e in c.events() if e["eventType"] == "ops.endpoint.disabled"
               and e["payload"]["subscriptionId"] == sub["id"]]
        same(len(ops), 1, "an event tells of it")
        c.publish(event(type)).want(202)
        r.quiet(0.5, path)


# ---------------------------------------------------------------- the repository's wire

def test_repository_to_the_letter(t):
    """3.1, 3.2, 3.3, and the Standard Webhooks headers beside."""
    c, r, secret = t.srv.client(), Receiver(t), "a secret of the repository"
    sub = subscribe(c, r.url("/nemaki"), preset="repository", types=["cmis.updated"], secret=secret,
                    headers={"X-Custom-Header": "value1"})
    check("secret" in sub, "shown once", sub)
    payload = {"repository": {"id": "bedroom", "name": "Default Repository"},
               "object": {"id": "o-1", "name": "例.pdf", "changeToken": "1706365800000"},
               "changes": {"properties": {"cmis:name": {"oldValue": "a", "newValue": "例.pdf"}}},
               "actor": {"userId": "user1", "displayName": "User One"}}
    ev = envelope("cmis.updated", payload=payload)
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/nemaki")
    h = got.headers
    same(got.method, "POST", "method")
    same(h["Content-Type"], "application/json", "Content-Type")
    same(h["X-NemakiWare-Event"], "UPDATED", "event")
    same(h["X-Custom-Header"], "value1", "custom header")
    same(h["X-NemakiWare-Signature"],
         "sha256=" + hmac.new(secret.encode(), got.body, hashlib.sha256).hexdigest(), "3.3")
    check(time.strptime(h["X-NemakiWare-Timestamp"][:19], "%Y-%m-%dT%H:%M:%S")
          and h["X-NemakiWare-Timestamp"].endswith("Z"), "ISO 8601", h["X-NemakiWare-Timestamp"])
    same(list(got.json), ["event", *payload, "webhookConfig"], "3.2: the members, in order")
    same({k: got.json[k] for k in payload}, payload, "what the event has")
    same(got.json["event"], {"type": "UPDATED", "timestamp": ev["occurredAt"],
                             "deliveryId": h["X-NemakiWare-Delivery"]}, "3.2: event")
    same(h["webhook-id"], h["X-NemakiWare-Delivery"], "one id")
    stamp = h["webhook-timestamp"]
    check(abs(int(stamp) - time.time()) < 60 and h["webhook-signature"].startswith("v1,"),
          "Standard Webhooks beside", dict(h))
    usual = {"host", "accept", "content-length", "content-type", "user-agent"}
    same({k.lower() for k in h} - usual,
         {"x-nemakiware-event", "x-nemakiware-signature", "x-nemakiware-delivery",
          "x-nemakiware-timestamp", "x-custom-header", "webhook-id", "webhook-timestamp",
          "webhook-signature"}, "no other header")
    # without a secret there is no signature
    subscribe(c, r.url("/plain"), preset="repository", types=["cmis.updated"])
    c.publish(ev | {"eventId": new_id()}).want(202)
    got, = r.wait_for(1, "/plain")
    check("X-NemakiWare-Signature" not in got.headers and "webhook-signature" not in got.headers,
          "unsigned", dict(got.headers))


# ---------------------------------------------------------------- limits

def spread(got, per_second):
    """No second has more; arrivals may be late, so a little is allowed for."""
    at = sorted(g.at for g in got)
    for i in range(len(at) - per_second):
        check(at[i + per_second] - at[i] >= 0.9, f"{per_second} a second", at)


def test_repository_ten_a_second_for_a_url(t):
    """9.3; two subscriptions of one URL share it, another URL has its own."""
    c, r, type = t.server().client(), Receiver(t), fresh()
    for path in ("/same", "/same", "/other"):
        subscribe(c, r.url(path), preset="repository", types=[type])
    began = time.monotonic()
    for _ in range(14):
        c.publish(event(type)).want(202)
    spread(r.wait_for(28, "/same", 15), 10)
    took = time.monotonic() - began
    check(took >= 2.6, "28 at 10 a second", took)
    spread(r.at("/other"), 10)
    same(r.count("/other"), 14, "the other URL")
    check(max(x.at for x in r.at("/other")) - began < took, "is not held up")


def test_rate_per_second(t):
    c, r, type = t.server().client(), Receiver(t), fresh()
    subscribe(c, r.url("/rate"), types=[type], ratePerSecond=5)
    for _ in range(12):
        c.publish(event(type)).want(202)
    got = r.wait_for(12, "/rate", 15)
    spread(got, 5)
    check(got[-1].at - got[0].at >= 2.1, "12 at 5 a second", got[-1].at - got[0].at)


def test_concurrency(t):
    c, r, type = t.server().client(), Receiver(t), fresh()
    busy, most, lock = [0], [0], threading.Lock()

    def slow(request):
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.1)
        with lock:
            busy[0] -= 1
        return 200
    r.answer("/busy", slow)
    subscribe(c, r.url("/busy"), types=[type], concurrency=3)
    for _ in range(24):
        c.publish(event(type)).want(202)
    r.wait_for(24, "/busy", 15)
    same(most[0], 3, "three at once, never more")


def test_breaker(t):
    """Five failures open it; it holds, tries one, and costs nobody a try."""
    srv, r = t.server(TIME_SCALE="100"), Receiver(t)
    c, type = srv.client(), fresh()
    r.answer("/b", 503)
    sub = subscribe(c, r.url("/b"), types=[type], retry={"delaysMs": [200000] * 6, "jitterMs": 0})
    c.publish_ndjson([event(type, key=f"k{i}") for i in range(8)]).want(200)
    opened = r.wait_for(5, "/b")[4].at
    time.sleep(0.4)
    n = r.count("/b")
    check(5 <= n <= 6, "five, and what was in flight", n)
    until(lambda: srv.rows("SELECT count(*) FROM endpoint_state WHERE open_until > 0") == [("1",)],
          "it is written")
    tries = lambda: sum(int(x[1]) for x in waiting(srv, sub))
    until(lambda: tries() == n, "each a try")
    r.quiet(max(0, opened + 2.6 - time.monotonic()), "/b")
    got = r.wait_for(n + 1, "/b", 5)
    check(got[-1].at - opened >= 2.9, "held for 5 minutes, scaled", got[-1].at - opened)
    r.quiet(2.5, "/b")
    same(tries(), n, "the probe cost none")
    # closed again across a restart: it holds as before
    srv.restart()
    r.answer_as_usual("/b")
    r.wait_for(n + 1 + 8, "/b", 10)
    until(lambda: not waiting(srv, sub), "all are delivered")
    same(dead(srv, sub), [], "none was given up")
    same(len({x.id for x in r.at("/b")}), 8, "eight deliveries")


def opened(srv):
    """When the open breakers end, in seconds."""
    return [int(x[0]) / 1e6 for x in
            srv.rows("SELECT open_until FROM endpoint_state WHERE open_until > 0")]


def test_breaker_and_one_poison_event(t):
    """The tries of one event open no breaker, however many: others are not held."""
    srv, r = t.server(), Receiver(t)
    c, type = srv.client(), fresh()
    r.answer("/p", lambda q: 503 if "poison" in q.body.decode() else 200)
    sub = subscribe(c, r.url("/p"), types=[type], retry={"delaysMs": [100000] * 12, "jitterMs": 0})
    c.publish(event(type, key="poison")).want(202)
    for n in range(1, 13):  # on and on, and others go between
        r.wait_for(n, "/p", when=lambda q: "poison" in q.body.decode())
        same(opened(srv), [], f"no breaker after {n} tries")
    c.publish(event(type, key="good")).want(202)
    r.wait_for(1, "/p", when=lambda q: "good" in q.body.decode())
    until(lambda: dead(srv, sub) == [(EXHAUSTED, "13")], "its own tries are used up")
    same(opened(srv), [], "no breaker at the end")


def test_breaker_holds_first_tries_of_repository(t):
    """Seed 000, 2.6.3: what was tried has its retries and its dead letter, breaker or not."""
    srv, r = t.server(TIME_SCALE="15"), Receiver(t)  # open for 20 s
    c, type = srv.client(), fresh()
    r.answer("/f", 503)
    sub = subscribe(c, r.url("/f"), preset="repository", types=[type])
    c.publish_ndjson([event(type, key=f"first{i}") for i in range(5)]).want(200)
    until(lambda: opened(srv), "the breaker is open")
    c.publish_ndjson([event(type, key=f"later{i}") for i in range(3)]).want(200)
    until(lambda: dead(srv, sub) == [(EXHAUSTED, "4")] * 5, "each had three retries")
    until_open, = opened(srv)
    calls = r.at("/f")
    if time.time() < until_open:  # else the machine was too slow to see it
        same(len(calls), 20, "and those that came later were not tried")
    tried = {x.id: [y.at for y in calls if y.id == x.id] for x in calls}
    for at in sorted(tried.values())[:5]:
        for i, ms in enumerate((2000, 4000, 8000)):
            check(at[i + 1] - at[i] >= 0.99 * ms / 15000, f"retry {i + 1}", at)
    r.answer_as_usual("/f")
    until(lambda: attempts(srv, sub).count("0") == 3, "the others, once it is well", 60)


def test_floor_of_task(t):
    """However often it failed, eight calls go at once: nobody waits for all before him."""
    srv, r = t.server(TIME_SCALE="1"), Receiver(t)
    c, type, gate = srv.client(), fresh(), threading.Event()
    t.later(gate.set)
    sub = subscribe(c, r.url("/t"), preset="task", types=[type])
    r.answer("/t", 503)
    c.publish_ndjson([event(type) for _ in range(12)]).want(200)
    until(lambda: len(attempts(srv, sub)) == 12, "twelve failures")
    r.answer("/t", lambda q: (gate.wait(25), 200)[1])
    c.publish_ndjson([event(type) for _ in range(12)]).want(200)
    r.wait_for(12 + 8, "/t")
    gate.set()
    until(lambda: attempts(srv, sub).count("0") == 12, "and then the others")


def test_deadline(t):
    srv, r = t.server(), Receiver(t)
    c, type = srv.client(), fresh()
    r.answer("/d", 500)
    sub = subscribe(c, r.url("/d"), types=[type], deadlineSeconds=1,
                    retry={"delaysMs": [400000] * 9, "jitterMs": 0})
    c.publish(event(type)).want(202)
    first, = r.wait_for(1, "/d")
    until(lambda: dead(srv, sub) == [(DEADLINE, "3")], "three tries fit in")
    check(all(g.at - first.at <= 1 for g in r.at("/d")), "none came later", r.at("/d"))
    r.quiet(0.6, "/d")
    # one that is held is not sent late either
    path = "/v1/subscriptions/" + sub["id"]
    c.post(path + "/disable").want(200)
    c.publish(event(type)).want(202)
    time.sleep(1.2)
    c.post(path + "/enable").want(200)
    until(lambda: dead(srv, sub) == [(DEADLINE, "3"), (DEADLINE, "0")], "given up untried")
    same(r.count("/d"), 3, "no call")


def test_on_dead_block(t):
    """A dead letter stops its key, and no other; without it the key goes on."""
    srv, r = t.server(), Receiver(t)
    c, type = srv.client(), fresh()

    def refuse(request):
        return 400 if request.json["payload"]["n"] == 0 else 200
    for path in ("/block", "/skip"):
        r.answer(path, refuse)
    block = subscribe(c, r.url("/block"), types=[type], order="key", onDead="block")
    subscribe(c, r.url("/skip"), types=[type], order="key")
    for n in range(3):
        c.publish(envelope(type, key="k", payload={"n": n})).want(202)
    c.publish(envelope(type, key="other", payload={"n": 9})).want(202)
    same(sorted(g.json["payload"]["n"] for g in r.wait_for(4, "/skip")), [0, 1, 2, 9], "goes on")
    same(sorted(g.json["payload"]["n"] for g in r.wait_for(2, "/block")), [0, 9], "the other key")
    r.quiet(0.5, "/block")
    same(dead(srv, block), [(HTTP_STATUS, "1")], "a dead letter")
    srv.restart()
    r.quiet(1, "/block")
    until(lambda: len(waiting(srv, block)) == 3, "held, also after a restart")
