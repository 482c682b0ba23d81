"""WebSub: feeds that name a hub are sent to us (W3C WebSub, the subscriber's part)."""
import hashlib
import hmac
import os
import sqlite3
import threading
import time
import urllib.parse

import feedsite
from feedsite import Site, add, change, feed, fetches, outcomes, person, rss
from hk import SLOW, STORE, Client, Skip, check, psql, same, until

# The hub knows which server is meant by this address.
BASE = "http://reader.test"
SETTINGS = {**feedsite.SETTINGS, "BASE_URL": BASE, "FETCH_INTERVAL": "200ms", "TIME_SCALE": "1"}


def named(hub, self, *args, **kw):
    """An RSS feed that names its hub and itself."""
    links = (f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="{hub}"/>'
             f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="{self}"/>')
    return rss(*args, **kw).replace(b"<description>d</description>", b"<description>d</description>" + links.encode(), 1)


class Hub:
    """A hub as small as it gets: verifies what it is asked for, and sends."""

    def __init__(self, t, srv, host="127.0.5.1", answers="verify", lease=864000):
        self.site, self.srv, self.answers, self.lease = Site(t, host), srv, answers, lease
        self.asked, self.told, self.lock = [], [], threading.Lock()
        self.site.put("/hub", self.take)
        self.url = self.site.url("/hub")

    def take(self, h, r):
        form = dict(urllib.parse.parse_qsl(r.body.decode()))
        with self.lock:
            self.asked.append(form)
        status = 500 if self.answers == "fail" else 202
        h.send_response_only(status)
        h.send_header("Content-Length", "0")
        h.end_headers()
        if status == 202 and self.answers != "silent":
            threading.Thread(target=self.call, args=(form, self.answers), daemon=True).start()

    def call(self, form, answers="verify", **other):
        q = {"hub.mode": form["hub.mode"], "hub.topic": form["hub.topic"], "hub.challenge": "ch-" + str(time.time_ns()),
             "hub.lease_seconds": str(self.lease)}
        if answers == "deny":
            q = {"hub.mode": "denied", "hub.topic": form["hub.topic"], "hub.reason": "no"}
        q.update({"hub." + k: v for k, v in other.items()})
        a = Client(self.srv).get(self.path(form) + "?" + urllib.parse.urlencode(q))
        with self.lock:
            self.told.append((q, a))
        return q, a

    def path(self, form=None):
        url = (form or self.last())["hub.callback"]
        check(url.startswith(BASE + "/websub/"), "our address", url)
        return url[len(BASE):]

    def last(self):
        return [f for f in self.asked if f["hub.mode"] == "subscribe"][-1]

    def send(self, body, hash="sha256", signature=None, path=None, **headers):
        if signature is None:
            secret = self.last()["hub.secret"].encode()
            signature = hash + "=" + hmac.new(secret, body, getattr(hashlib, hash)).hexdigest()
        headers = {"Content-Type": "application/rss+xml", **headers}
        if signature:
            headers["X-Hub-Signature"] = signature
        return Client(self.srv).post(path or self.path(), body, headers=headers)


def row(srv, url, columns):
    rows = srv.rows(f"SELECT {columns} FROM feed_hub h JOIN feed f ON f.id = h.feed_id WHERE f.feed_url = '{url}'")
    return rows[0] if rows else None


def subscribed(t, srv=None, state="verified", lease=864000, answers="verify", path="/f"):
    """A site, its hub and a feed of theirs, when the hub's row has the state."""
    srv = srv or t.srv
    s, h, c = Site(t), Hub(t, srv, answers=answers, lease=lease), person(srv)
    url = s.url(path)
    s.put(path, named(h.url, url, 1))
    add(c, url)
    until(lambda: row(srv, url, "h.state") == (state,), f"the hub is {state}", 20)
    return s, h, c, url


def test_subscribe_and_push(t):
    s, h, c, url = subscribed(t)
    form = h.asked[0]
    same((form["hub.mode"], form["hub.topic"], form["hub.lease_seconds"]), ("subscribe", url, "864000"), "what was asked")
    same(len(form["hub.secret"]), 64, "a secret")
    until(lambda: len(h.told) == 1, "told")
    q, a = h.told[0]
    same((a.status, a.body.decode()), (200, q["hub.challenge"]), "the challenge comes back")
    check(a.headers["content-type"].startswith("text/plain"), "as text", a.headers)
    n, before = len(s.at("/f")), feed(t.srv, url, "etag, body_hash, next_fetch_at")
    for i, hash in enumerate(("sha1", "sha256", "sha384", "sha512")):
        same(h.send(named(h.url, url, 2 + i), hash).status, 202, hash)
        same(feed(t.srv, url, "items"), (str(2 + i),), "written when it is answered")
    same(len(s.at("/f")), n, "nobody fetched it")
    same(outcomes(t.srv, url)[-4:], ["pushed"] * 4, "kept like a fetch")
    same(feed(t.srv, url, "etag, body_hash, next_fetch_at"), before, "the schedule and the validators are as they were")
    same(fetches(t.srv, url)[-1][4], "1", "what came of it")
    types = [e["eventType"] for e in t.srv.client().events()]
    check(types.count("feed.item.created") >= 5, "events", types)
    secret = t.srv.rows("SELECT secret FROM feed_hub")[0][0]
    check(form["hub.secret"] not in secret and '"ct"' in secret, "sealed at rest")


def test_by_link_header(t):
    s, h, c = Site(t), Hub(t, t.srv), person(t.srv)
    s.put("/l", rss(1), Link=f'<{h.url}>; rel="hub", </l>; rel="self"')
    add(c, s.url("/l"))
    until(lambda: row(t.srv, s.url("/l"), "h.state, h.topic") == ("verified", s.url("/l")), "verified", 20)


def test_wrong_signature(t):
    s, h, c, url = subscribed(t)
    body = named(h.url, url, 5)
    for bad in ("", "sha256=" + "0" * 64, "sha256=xyz", "md5=" + "0" * 32,
                "sha256=" + hmac.new(b"other", body, "sha256").hexdigest()):
        a = h.send(body, signature=bad)
        same((a.status, a.body), (202, b""), f"{bad!r}: nothing to learn from")
    same(feed(t.srv, url, "items"), ("1",), "and nothing is taken")
    check("pushed" not in outcomes(t.srv, url), "no fetch", outcomes(t.srv, url))
    check([l for l in t.srv.log() if l.get("msg") == "push not signed by its hub"], "it is in the log")
    same(h.send(body).status, 202, "the right one")
    same(feed(t.srv, url, "items"), ("5",), "is taken")


def test_not_its_feed(t):
    s, h, c, url = subscribed(t)
    same(h.send(named(h.url, s.url("/other"), 5)).status, 202, "signed, another feed")
    same(h.send(b"no feed at all").status, 202, "signed, no feed")
    same(feed(t.srv, url, "items"), ("1",), "neither is taken")
    same(h.send(rss(3)).status, 202, "one that names nothing")
    same(feed(t.srv, url, "items"), ("3",), "is taken: the address is the topic's")


def test_nothing_here(t):
    s, h, c, url = subscribed(t)
    form, some = h.last(), "/websub/00000000-0000-4000-8000-000000000000"
    for path in (some, "/websub/x", some + "/y"):
        same(Client(t.srv).get(path + "?hub.mode=subscribe&hub.topic=x&hub.challenge=y").status, 404, "GET " + path)
        same(h.send(b"x", path=path).status, 404, "POST " + path)
    for other in ({"topic": url + "x"}, {"mode": "unsubscribe"}, {"mode": "publish"}, {"challenge": ""}):
        same(h.call(form, **other)[1].status, 404, f"not asked for: {other}")
    same(Client(t.srv).get(h.path()).status, 404, "and nothing at all")
    same(row(t.srv, url, "h.state"), ("verified",), "still verified")


def test_too_large(t):
    srv = t.server(FETCH_MAX_SIZE="100KiB")
    s, h, c, url = subscribed(t, srv)
    same(h.send(named(h.url, url, 1, text="x" * 200_000)).status, 413, "over fetch.max.size")
    same(feed(srv, url, "items"), ("1",), "nothing of it")


def test_denied(t):
    s, h, c, url = subscribed(t, state="denied", answers="deny")
    same(h.told[0][1].status, 200, "taken note of")
    form = h.last()
    same(h.call(form, "verify")[1].status, 404, "what was denied is not verified")
    same(h.send(named(h.url, url, 3)).status, 404, "and not taken")
    n, (at, next_at) = len(h.asked), map(int, row(t.srv, url, "h.updated_at, h.next_at"))
    check(23.9 * 3600e6 <= next_at - at <= 24.1 * 3600e6, "asked again in a day", next_at - at)
    time.sleep(1)
    same(len(h.asked), n, "not before")
    same(feed(t.srv, url, "fetch_status"), ("active",), "fetched as ever")


def test_renewed_before_its_end(t):
    # A lease of two hours is 6 s here; renewed after 4.
    srv = t.server(TIME_SCALE="1200")
    s, h, c, url = subscribed(t, srv, lease=7200)
    first, until1 = h.last(), int(row(srv, url, "h.lease_until")[0])
    seen = []

    def renewed():
        seen.append(row(srv, url, "h.state, h.lease_until"))
        return int(seen[-1][1]) > until1
    until(renewed, "the lease is longer", 20)
    same({x[0] for x in seen}, {"verified"}, "verified all the time")
    same(h.last()["hub.callback"], first["hub.callback"], "at the same address")
    same(h.last()["hub.secret"], first["hub.secret"], "with the same secret")
    if SLOW == 1:
        check(h.told[-1][1].status == 200, "verified again", h.told[-1])


def test_back_off_and_lapse(t):
    # The hub fails from then on: the lease ends, and the feed is fetched as subscribed.
    srv = t.server(TIME_SCALE="1200")
    s, h, c, url = subscribed(t, srv, lease=1200)
    h.answers = "fail"
    until(lambda: row(srv, url, "h.state") == ("failed",), "failed", 30)
    check("500" in row(srv, url, "h.error")[0], "why", row(srv, url, "h.error"))
    n = int(row(srv, url, "h.failures")[0])
    until(lambda: int(row(srv, url, "h.failures")[0]) > n, "asked again", 30)
    s.put("/f", named(h.url, url, 4))
    until(lambda: feed(srv, url, "items") == ("4",), "polling goes on", 30)
    h.answers = "verify"
    until(lambda: row(srv, url, "h.state, h.failures") == ("verified", "0"), "well again", 60)


def test_polled_seldom_once_it_sends(t):
    s, h, c, url = subscribed(t)
    feedsite.due(t.srv, url)
    until(lambda: len(fetches(t.srv, url)) == 2, "fetched", 10)
    check("every 60 min" in fetches(t.srv, url)[-1][3], "it has sent nothing yet", fetches(t.srv, url)[-1])
    same(h.send(named(h.url, url, 2)).status, 202, "now it has")
    feedsite.due(t.srv, url)
    until(lambda: len(fetches(t.srv, url)) == 4, "fetched", 10)
    check("hub" in fetches(t.srv, url)[-1][3] and "720 min" in fetches(t.srv, url)[-1][3], "seldom", fetches(t.srv, url)[-1])
    change(t.srv, "UPDATE feed_hub SET lease_until = 1")
    feedsite.due(t.srv, url)
    until(lambda: len(fetches(t.srv, url)) == 5, "fetched", 10)
    check("every 60 min" in fetches(t.srv, url)[-1][3], "the lease is over: as subscribed", fetches(t.srv, url)[-1])


def test_nobody_subscribes_any_more(t):
    s, h, c, url = subscribed(t)
    j = c.get("/api/subscriptions").want(200).json
    sub = [x for x in (j["subscriptions"] if isinstance(j, dict) else j) if url in str(x)][0]
    a = c.delete(f"/api/subscriptions/{sub['id']}")
    check(a.status in (200, 204), "unsubscribed", a)
    until(lambda: row(t.srv, url, "h.state") is None, "left", 20)
    same([f["hub.mode"] for f in h.asked], ["subscribe", "unsubscribe"], "told so")
    until(lambda: len(h.told) == 2, "answered")
    q, a = h.told[-1]
    same((q["hub.mode"], a.status, a.body.decode()), ("unsubscribe", 200, q["hub.challenge"]), "confirmed, since we asked")
    same(h.send(named(h.url, url, 3)).status, 404, "nothing is taken any more")


def test_another_hub(t):
    s, h, c, url = subscribed(t)
    other = Hub(t, t.srv, "127.0.5.2")
    s.put("/f", named(other.url, url, 2))
    feedsite.due(t.srv, url)
    until(lambda: row(t.srv, url, "h.hub, h.state") == (other.url, "verified"), "the new one", 20)
    check(other.last()["hub.callback"] != h.last()["hub.callback"], "at another address")
    same(h.send(named(h.url, url, 5)).status, 404, "the old one is nobody")


def test_switched_off(t):
    for settings in ({"WEBSUB_ENABLED": "false"}, {"BASE_URL": ""}):
        srv = t.server(**settings)
        s, h, c = Site(t), Hub(t, srv, "127.0.5.3"), person(srv)
        s.put("/f", named(h.url, s.url("/f"), 1))
        add(c, s.url("/f"))
        time.sleep(1)
        same((h.asked, srv.rows("SELECT id FROM feed_hub")), ([], []), f"{settings}: no hub is asked")


def test_guard(t):
    s, c = Site(t), person(t.srv)
    s.put("/g", named("http://10.1.2.3/hub", s.url("/g"), 1))
    add(c, s.url("/g"))
    until(lambda: row(t.srv, s.url("/g"), "h.state") == ("failed",), "refused", 20)


def test_rotation_finds_the_secret(t):
    srv = t.server()
    s, h, c, url = subscribed(t, srv)
    before = srv.rows("SELECT secret FROM feed_hub")
    srv.admin().post("/v1/seal/rotate")
    until(lambda: srv.rows("SELECT secret FROM feed_hub") != before, "sealed anew", 20)
    same(h.send(named(h.url, url, 2)).status, 202, "sent")
    same(feed(srv, url, "items"), ("2",), "and still verified")


def test_kill9_loses_nothing_answered(t):
    srv = t.server()
    s, h, c, url = subscribed(t, srv)
    answered, stop = [], threading.Event()

    def send():
        n = 2
        while not stop.is_set():
            try:
                if h.send(named(h.url, url, 1, start=n)).status == 202:
                    answered.append(n)
            except Exception:
                return
            n += 1
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    until(lambda: len(answered) >= 10, "some were answered", 30)
    srv.kill9()
    stop.set()
    sender.join(20)
    n = len(answered)
    srv.start()
    have = {r[0] for r in srv.rows("SELECT guid_or_id FROM feed_item")}
    same([i for i in answered[:n] if f"g-{i}" not in have], [], "each that was answered is there")
    same(h.send(named(h.url, url, 1, start=5000)).status, 202, "and it goes on")


def held(srv, seconds):
    """Nothing can be written to the store for a while."""
    def hold():
        if srv.url:
            psql(srv.url, f"BEGIN; LOCK TABLE feed_item, feed_fetch; SELECT pg_sleep({seconds}); COMMIT")
            return
        db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=20, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        db.execute("COMMIT")
        db.close()
    holder = threading.Thread(target=hold, daemon=True)
    holder.start()
    time.sleep(0.5)
    return holder


def test_full_is_503(t):
    srv = t.server()
    s, h, c, url = subscribed(t, srv)
    holder, got = held(srv, 4), {}

    def send(n):
        got[n] = h.send(named(h.url, url, 1, start=n))
    senders = [threading.Thread(target=send, args=(100 + i,), daemon=True) for i in range(48)]
    for x in senders:
        x.start()
    for x in senders + [holder]:
        x.join(60 * SLOW)
    statuses = [a.status for a in got.values()]
    same(len(statuses), 48, "each has an answer")
    check(set(statuses) == {202, 503}, "some had to come again", sorted(statuses))
    check(all(a.headers.get("retry-after") for a in got.values() if a.status == 503), "and are told when")
    have = {r[0] for r in srv.rows("SELECT guid_or_id FROM feed_item")}
    same([n for n, a in got.items() if a.status == 202 and f"g-{n}" not in have], [], "what was taken is there")


def test_one_node_asks_any_node_is_sent(t):
    if STORE != "postgres":
        raise Skip("SQLite has one node")
    key = feedsite.shared_key(t)
    a = t.server(**key)
    b = t.server(url=a.url, **key)
    s, h, c = Site(t), Hub(t, a), person(a)
    for i in range(12):
        s.put(f"/{i}", named(h.url, s.url(f"/{i}"), 1))
        add(c, s.url(f"/{i}"))
    until(lambda: a.rows("SELECT count(*) FROM feed_hub WHERE state = 'verified'") == [("12",)], "all of them", 40)
    change(a, "UPDATE feed_hub SET next_at = 0")
    until(lambda: len(h.asked) >= 24, "all are renewed", 40)
    time.sleep(1)
    topics = [f["hub.topic"] for f in h.asked]
    same(sorted(topics), sorted(list(set(topics)) * 2), "each once, whoever asked")
    h.srv = b
    form = h.last()
    topic = form["hub.topic"]
    same(h.send(named(h.url, topic, 2)).status, 202, "to the other node")
    same(feed(a, topic, "items"), ("2",), "written")
