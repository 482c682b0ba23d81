"""Documents of strangers are read in a cage: one that ends its reader costs itself, and the feed says why."""
import json
import os
import signal
import sys
import threading
import time
import uuid

import feedsite
import hk
import test_reader_websub as websub
from apps import opml, outline
from feedsite import HTML, Site, change, fetches, person, rss, wrong
from hk import check, run, same, until

sys.path.insert(0, os.path.join(hk.ROOT, "tests", "feeds"))
import matrix  # noqa: E402
import single  # noqa: E402
import wild  # noqa: E402

SETTINGS = {**feedsite.SETTINGS, "FETCH_INTERVAL": "200ms"}
HOSTS = 6


def corpus(n):
    """Documents of every kind that feeds are tested with, and some that are none: (bytes, type)."""
    rows = [(r[1], r[3] or "application/xml") for r in [*matrix.cases(), *single.cases(), *wild.cases()]]
    step = max(1, len(rows) // (n - 2))
    return rows[::step][:n - 2] + [(b"<!doctype html><title>x</title>", HTML), (b"", "text/plain")]


class Feeds:
    """Sites with a document at each address, and rows of feeds that nobody had to read to add."""

    def __init__(self, t, srv, documents):
        self.srv, sites = srv, [Site(t, f"127.0.9.{1 + i}") for i in range(HOSTS)]
        self.docs = {}
        for i, (body, kind) in enumerate(documents):
            site = sites[i % HOSTS]
            site.put(f"/{i}", body, kind, etag='"1"')
            self.docs[site.url(f"/{i}")] = body, kind
        for url in self.docs:
            raw = uuid.uuid4().hex
            raw = f"'\\x{raw}'" if srv.url else f"X'{raw}'"
            change(srv, "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors, parse_errors,"
                   " next_fetch_at, claimed_until, subscribers, items, version, created_at, updated_at)"
                   f" VALUES ({raw}, '{url}', 'x', 'active', 0, 0, 9000000000000000000, 0, 1, 0, 0, 1, 1)")
        change(srv, "INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at)"
               " SELECT uid, 1, id, 60, 1, 1 FROM feed")

    def fetch(self, which="1 = 1", seconds=60):
        """All of them, or some, once; {url: (outcome, error, why)} of that fetch."""
        last = int(self.srv.rows("SELECT COALESCE(MAX(id), 0) FROM feed_fetch")[0][0])
        n = int(self.srv.rows(f"SELECT COUNT(*) FROM feed WHERE {which}")[0][0])
        change(self.srv, f"UPDATE feed SET next_fetch_at = 0, claimed_until = 0, fetch_status = 'active' WHERE {which}")

        def got():
            check(self.srv.alive(), "the server goes on")
            rows = self.srv.rows("SELECT f.feed_url, x.outcome, x.error, x.why_next FROM feed_fetch x"
                                 f" JOIN feed f ON f.id = x.feed_id WHERE x.id > {last}")
            return {r[0]: r[1:] for r in rows} if len(rows) >= n else None
        return until(got, f"{n} feeds are fetched", seconds)

    def items(self):
        return {url: int(n) for url, n in self.srv.rows("SELECT feed_url, items FROM feed")}

    def wanted(self, t):
        """How many articles each has, as the command line reads it; None: it is no feed."""
        out = {}
        for url, (body, kind) in self.docs.items():
            with open(t.path("doc"), "wb") as f:
                f.write(body)
            r = run([hk.BINARY, "feed", "parse", "--json", "--url", url, "--content-type", kind, t.path("doc")],
                    env=hk.environment({}, ""))
            out[url] = len(json.loads(r.out)["items"]) if r.code == 0 else None
        return out



def test_objects_of_many_members(t):
    """Past some members an object is looked up by a hash, whose secret is random."""
    srv = t.server(**SETTINGS)
    item = {"id": "1", "title": "x", **{f"_m{i}": i for i in range(100)}}
    doc = {"version": "https://jsonfeed.org/version/1.1", "title": "t", "items": [dict(item, id=str(i)) for i in range(40)]}
    feeds = Feeds(t, srv, [(json.dumps(doc).encode(), "application/feed+json")])
    same([v[0] for v in feeds.fetch().values()], ["updated"], "it was read")
    same(list(feeds.items().values()), [40], "all of it")


def restart(srv, *args):
    srv.stop()
    return srv.start(*args)


def all_is_read(t, feeds, got):
    """Every document was read, and is what it is without a cage."""
    for url, n in feeds.wanted(t).items():
        same(got[url][0], "unreadable" if n is None else "updated", f"{url}: {got[url]} {feeds.docs[url]}")
        if n is None:
            check("ended its reader" not in got[url][1], "it is no feed, and that is all", got[url])
    held = feeds.items()
    for url, n in feeds.wanted(t).items():
        # Of two that are one, one is kept.
        check((held[url] > 0) == bool(n) and held[url] <= (n or 0), f"articles of {url}", held[url], n)


def metric(srv, name):
    text = srv.client().get("/metrics").want(200).body.decode()
    return next(float(l.split()[1]) for l in text.splitlines() if l.split()[0] == name)


def ends_each(t, fault, says, documents, seconds=60):
    """At each document; then without."""
    srv = t.server(args=("--fault", f"cage.{fault}:0"))
    feeds = Feeds(t, srv, documents)
    got = feeds.fetch(seconds=seconds)
    for url, (outcome, error, why) in got.items():
        same(outcome, "unreadable", f"{url}: {error}")
        check("the document ended its reader: it " in error and says in error, "why", error)
        check("failed 1 times in a row: tried again" in why, "and when next", why)
    same(set(feeds.items().values()), {0}, "nothing was taken")
    check(metric(srv, "hikyaku_documents_ended_reader_total") >= len(documents), "counted")
    c = person(srv)
    some = uuid.UUID(srv.rows("SELECT hex(uid) FROM feed" if not srv.url else "SELECT encode(uid, 'hex') FROM feed")[0][0])
    shown = c.get(f"/api/feeds/{some}/fetches").want(200).json["fetches"][0]
    check(says in shown["error"] and shown["outcome"] == "unreadable", "the person is told", shown)
    srv.args = ()
    restart(srv)
    all_is_read(t, feeds, feeds.fetch(seconds=seconds))


def test_crashes_at_each_document(t):
    ends_each(t, "crash", "crashed it (signal 4)", corpus(120))


def test_out_of_memory_at_each_document(t):
    ends_each(t, "memory", "took more memory than a document may", corpus(80))


def test_forbidden_call_at_each_document(t):
    ends_each(t, "call", "try what it may not do", corpus(80))


def test_loops_at_each_document(t):
    documents = corpus(120)
    ends_each(t, "loop", "ms of CPU time", documents[::60] + documents[-1:], 240)


def test_killed_at_each_document(t):
    """Whoever kills it each time: the feeds wait, are not blamed for long, and lose nothing."""
    srv = t.server(args=("--fault", "cage.kill:0"))
    feeds = Feeds(t, srv, corpus(40))
    for url, (outcome, error, why) in feeds.fetch().items():
        check((outcome == "unreadable" and "killed (signal 9)" in error) or
              (outcome == "not_read" and "documents can't be read now" in error), url, outcome, error, why)
    srv.args = ()
    restart(srv)
    all_is_read(t, feeds, feeds.fetch())


def test_one_document_alone(t):
    """The Nth ends its reader, when it is parsed or when it is cleaned: one feed fails, and comes back."""
    for nth in (1, 2, 7, 16):
        srv = t.server(args=("--fault", f"cage.crash:{nth}"))
        feeds = Feeds(t, srv, [(rss(3, title=f"F {i}"), "application/rss+xml") for i in range(20)])
        got = feeds.fetch()
        bad = [u for u, g in got.items() if g[0] != "updated"]
        same(len(bad), 1, f"one of them: {got}")
        check("ended its reader" in got[bad[0]][1], "says why", got[bad[0]])
        same(sorted(feeds.items().values()), [0] + [3] * 19, "the others have their articles")
        again = feeds.fetch(f"feed_url = '{bad[0]}'")
        same(again[bad[0]][0], "updated", "read at the next fetch, ETag or not")
        same(set(feeds.items().values()), {3}, "nothing is lost")
        srv.stop()


def children(srv):
    out = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f, open(f"/proc/{pid}/cmdline") as line:
                if int(f.read().rsplit(")", 1)[1].split()[1]) == srv.proc.pid and "read-child" in line.read():
                    out.append(int(pid))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return out


def test_kill9_from_outside(t):
    srv = t.server()
    feeds = Feeds(t, srv, [(rss(40, title=f"F {i}", text="word " * 200), "application/rss+xml") for i in range(150)])
    stop, kills = threading.Event(), []

    def killer():
        while not stop.is_set() and len(kills) < 25:
            for pid in children(srv):
                try:
                    os.kill(pid, signal.SIGKILL)
                    kills.append(pid)
                except ProcessLookupError:
                    pass
            time.sleep(0.1)
    thread = threading.Thread(target=killer)
    thread.start()
    try:
        got = feeds.fetch(seconds=120)
    finally:
        stop.set()
        thread.join()
    check(len(kills) >= 2, "it was killed in between", kills)
    for url, (outcome, error, why) in got.items():
        check(outcome == "updated" or "killed" in error or "can't be read now" in error, url, outcome, error)
    late = [u for u, g in got.items() if g[0] != "updated"]
    print(f"{len(kills)} kills, {len(late)} of {len(got)} feeds later", flush=True)
    if late:
        again = feeds.fetch(f"feed_url IN ({','.join(repr(u) for u in late)})")
        same({again[u][0] for u in late}, {"updated"}, "read at the next fetch")
    same(set(feeds.items().values()), {40}, "nothing is lost, nothing twice")


def test_no_reader_at_all(t):
    """It can't be started: nobody is blamed, everybody is told to come again."""
    srv = t.server(args=("--fault", "cage.start:0"))
    feeds = Feeds(t, srv, [(rss(2), "application/rss+xml")] * 5)
    for url, (outcome, error, why) in feeds.fetch().items():
        same(outcome, "not_read", f"{url}: {error}")
        check("documents can't be read now" in error and "tried again after 30 min" in why, "said", error, why)
    same(set(srv.rows("SELECT consecutive_errors, parse_errors, etag IS NULL FROM feed")),
         {("0", "0", "t" if srv.url else "1")}, "not the feed's fault")
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    a = c.post("/api/feeds", {"url": s.url("/f")})
    wrong(a, 503, "UNAVAILABLE", "documents can't be read now")
    check(int(a.headers["Retry-After"]) > 0, "when to come again", a.headers.items())
    wrong(c.post("/api/opml", opml(outline(s.url("/f"), "F"))), 503, "UNAVAILABLE")
    check(metric(srv, "hikyaku_documents_away_total") >= 6, "counted")
    srv.args = ()
    restart(srv)
    same({g[0] for g in feeds.fetch().values()}, {"updated"}, "read as soon as it can be")


def test_by_people(t):
    """Whoever brings such a document is told; the next one works."""
    srv = t.server(args=("--fault", "cage.crash:1"))
    s, c = Site(t), person(srv)
    s.put("/f", rss(2))
    wrong(c.post("/api/feeds", {"url": s.url("/f")}), 422, "FEED_UNREADABLE", "ended its reader: it crashed it")
    same(c.post("/api/feeds", {"url": s.url("/f")}).status, 201, "once more")
    # A reader of its own for each list: the first document of each.
    for _ in range(2):
        wrong(c.post("/api/opml", opml(outline(s.url("/f"), "F"))), 422, "DOCUMENT_UNREAD", "ended its reader")
    srv.args = ("--fault", "cage.crash:2")
    restart(srv)
    s.put("/page", b"<!doctype html><link rel=alternate type=application/rss+xml href=/f>", HTML)
    wrong(c.post("/api/feeds", {"url": s.url("/page")}), 422, "FEED_UNREADABLE", "ended its reader: it crashed it")
    same(c.post("/api/opml", opml(outline(s.url("/g"), "G"))).want(200).json["added"], 1, "a list is read again")


def test_icon_is_no_loss(t):
    srv = t.server(args=("--fault", "cage.crash:3"))
    s, c = Site(t), person(srv)
    s.put("/f", rss(2, link=s.url("/")))
    s.put("/", b"<!doctype html><link rel=icon href=/i.png>", HTML)
    s.put("/i.png", feedsite.PNG, "image/png")
    same(c.post("/api/feeds", {"url": s.url("/f")}).status, 201, "the feed is there")
    same(srv.rows("SELECT items FROM feed"), [("2",)], "with its articles")


def test_what_a_hub_sends(t):
    srv = t.server(args=("--fault", "cage.crash:5"), **websub.SETTINGS)
    s, h, c, url = websub.subscribed(t, srv)
    n = len(fetches(srv, url))
    for i in range(6):
        same(h.send(websub.named(h.url, url, 2 + i)).status, 202, "sent again it would be no better")
    new = fetches(srv, url)[n:]
    same(sorted(f[0] for f in new), ["pushed"] * 5 + ["unreadable"], "each is kept")
    bad = next(f for f in new if f[0] == "unreadable")
    check("ended its reader" in bad[2], "why", bad)
    same(feedsite.feed(srv, url, "items, fetch_status, consecutive_errors"), ("7", "active", "0"), "the feed goes on")
    check(any("ended its reader" in str(l.get("error")) for l in srv.log()), "a line in the log")
