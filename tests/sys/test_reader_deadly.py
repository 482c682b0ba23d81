"""Documents that end a process, and a process that was ended: neither takes the feeds of others along."""
import time

import feedsite
from apps import imported, opml, outline
from feedsite import Site, add, change, due, feed, fetches, outcomes, person, rss
from hk import STORE, check, same, until

SETTINGS = {**feedsite.SETTINGS, "FETCH_INTERVAL": "200ms", "FETCH_TIMEOUT": "20s"}

# What iconv goes past before it refuses it: name, what the header says, the bytes at the end.
DEADLY = [("euc-kr", "", b"\xa2\xe8"), ("ks_c_5601-1987", "text/xml; charset=euc-kr", b"\xe9\xa2\xe8"),
          ("ISO-2022-CN-EXT", "", b"\x0e"), ("ISO2022CNEXT", "text/xml; charset=ISO2022CNEXT", b"\xe9\x0e"),
          ("utf-8", "text/xml; charset=ISO-2022-CN-EXT", b"\xe9\x0e"), ("HZ-GB-2312", "", b"~{\xe9"),
          ("gb18030", "", b"\x81\x30\x81"), ("euc-jp", "", b"\x8f\xa1"), ("utf-7", "", b"\xe9+AD"),
          ("iso-2022-jp", "", b"\xe9\x1b$B~")]


def document(name, end, body=b"<rss version='2.0'><channel><title>"):
    return f'<?xml version="1.0" encoding="{name}"?>'.encode() + body + end


def lives(srv, c):
    check(srv.alive(), "the server lives", srv.tail())
    c.get("/v1/whoami").want(200)


def test_feeds_that_were_good(t):
    """Each is a feed that somebody has, and turns deadly; one that is good is still fetched."""
    srv = t.server()
    good, c = Site(t), person(srv)
    good.put("/f", rss(1))
    add(c, good.url("/f"))
    sites = [Site(t, f"127.0.7.{i + 1}") for i in range(len(DEADLY))]
    for s in sites:
        s.put("/f", rss(1))
        add(c, s.url("/f"))
    for s, (name, kind, end) in zip(sites, DEADLY):
        s.put("/f", document(name, end), kind or "text/xml")
    good.put("/f", rss(2))
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    for s in sites:
        until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", 20)
    until(lambda: feed(srv, good.url("/f"), "items") == ("2",), "the good one too", 20)
    same({x for s in sites for x in outcomes(srv, s.url("/f"))} - {"updated", "unreadable"}, set(), "each is read or refused")
    lives(srv, c)
    srv.restart()
    check(all("crashed" not in outcomes(srv, s.url("/f")) for s in sites), "nobody died")


def test_by_address(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    for i, (name, kind, end) in enumerate(DEADLY):
        s.put(f"/{i}", document(name, end), kind or "text/xml")
        a = c.post("/api/feeds", {"url": s.url(f"/{i}")})
        check(a.status in (201, 422), "an answer in words", name, a)
        lives(srv, c)


def test_lists(t):
    """OPML that is deadly itself, then one that names feeds which are: fetched after a restart too."""
    srv = t.server()
    s, good, c = Site(t, "127.0.0.9"), Site(t), person(srv)
    for name, kind, end in DEADLY:
        body = document(name, end, b'<opml version="2.0"><body><outline xmlUrl="' + good.url("/f").encode() +
                        b'"/><outline text="')
        a = c("POST", "/api/opml", body, {"Content-Type": kind or "text/xml"})
        check(a.status in (200, 201, 400), "an answer in words", name, a)
        check(a.status != 400 or a.json["message"], "in words", a)
        lives(srv, c)
    good.put("/g", rss(2))
    for i, (name, kind, end) in enumerate(DEADLY):
        s.put(f"/{i}", document(name, end), kind or "text/xml")
    imported(c, opml(*[outline(s.url(f"/{i}")) for i in range(len(DEADLY))], outline(good.url("/g"))))
    srv.restart()
    until(lambda: feed(srv, good.url("/g"), "items") == ("2",), "the good one", 20)
    for i in range(len(DEADLY)):
        until(lambda: fetches(srv, s.url(f"/{i}")), "fetched", 30)
    lives(srv, person(srv))


def hold(h, r):
    time.sleep(30)


def in_work(t, **more):
    """A server with two feeds, one of which it is fetching."""
    srv = t.server(**more)
    bad, good, c = Site(t, "127.0.0.8"), Site(t), person(srv)
    for s in (bad, good):
        s.put("/f", rss(1))
        add(c, s.url("/f"))
    bad.put("/f", hold)
    due(srv, bad.url("/f"))
    until(lambda: len(bad.at("/f")) == 2, "it is being fetched", 10)
    until(lambda: feed(srv, bad.url("/f"), "begun_by, id")[0], "which is written down", 10)
    return srv, bad, good


def test_killed_while_in_work(t):
    """It is backed off, further each time; others are not."""
    srv, bad, good = in_work(t)
    for n in (1, 2):
        srv.kill9()
        good.put("/f", rss(1 + n))
        due(srv, good.url("/f"))
        before = time.time()
        srv.start()
        until(lambda: outcomes(srv, bad.url("/f")).count("crashed") == n, "told", 10)
        until(lambda: feed(srv, good.url("/f"), "items") == (str(1 + n),), "the other is fetched at once", 10)
        last = fetches(srv, bad.url("/f"))[-1]
        check("died" in last[2] and f"failed {n} times in a row" in last[3], "in words", last)
        status, errors, message, at, begun = feed(
            srv, bad.url("/f"), "fetch_status, consecutive_errors, error_message, next_fetch_at, begun_by")
        same((status, errors, begun or None), ("active", str(n), None), "it stays a feed")
        check("died" in message, "its row says so", message)
        check(29 * 60 * n < int(at) / 1e6 - before < 35 * 60 * n, "later each time", int(at) / 1e6 - before)
        same(len(bad.at("/f")), 1 + n, "not asked again")
        if n == 1:
            due(srv, bad.url("/f"))
            until(lambda: len(bad.at("/f")) == 3, "when its time has come", 10)
            until(lambda: feed(srv, bad.url("/f"), "begun_by, id")[0], "begun", 10)
    check(any(l.get("outcome") == "crashed" for l in srv.log()), "the log has it")
    bad.put("/f", rss(2))
    due(srv, bad.url("/f"))
    until(lambda: feed(srv, bad.url("/f"), "items, consecutive_errors") == ("2", "0"), "and it recovers", 10)


def test_waiting_is_not_in_work(t):
    """What was claimed and had to wait for its host is fetched at once."""
    srv = t.server()
    s, c = Site(t, "127.0.0.8"), person(srv)
    for p in "abcd":
        s.put(f"/{p}", rss(1))
        add(c, s.url(f"/{p}"))
    for p in "abcd":
        s.put(f"/{p}", hold)
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: srv.rows("SELECT COUNT(*) FROM feed WHERE begun_by IS NOT NULL") == [("1",)], "one is begun", 10)
    same(srv.rows("SELECT COUNT(*) FROM feed WHERE claimed_by IS NOT NULL"), [("4",)], "four are claimed")
    srv.kill9()
    for p in "abcd":
        s.put(f"/{p}", rss(2))
    srv.start()
    until(lambda: srv.rows("SELECT COUNT(*) FROM feed WHERE items = 2") == [("3",)], "three are fetched", 15)
    same(sum("crashed" in outcomes(srv, s.url(f"/{p}")) for p in "abcd"), 1, "one was in work")


def test_stopped_while_in_work(t):
    """SIGTERM is nobody's fault."""
    srv, bad, _ = in_work(t)
    srv.stop()
    same(feed(srv, bad.url("/f"), "begun_by, claimed_until, consecutive_errors"), (None, "0", "0"), "it is anybody's")
    bad.put("/f", rss(2))
    srv.start()
    until(lambda: feed(srv, bad.url("/f"), "items") == ("2",), "fetched at once", 10)
    check("crashed" not in outcomes(srv, bad.url("/f")), "not told", outcomes(srv, bad.url("/f")))


def test_result_that_cannot_be_written(t):
    """The store's fault is not the feed's either."""
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(srv, "CREATE TRIGGER no BEFORE INSERT ON feed_fetch BEGIN SELECT RAISE(ABORT, 'no'); END" if STORE == "sqlite"
           else "ALTER TABLE feed_fetch ADD CONSTRAINT no CHECK (outcome = '') NOT VALID")
    s.put("/f", rss(2))
    due(srv, s.url("/f"))
    until(lambda: any(l.get("msg") == "a fetch can't be stored" for l in srv.log()), "it can't be written", 20)
    until(lambda: not feed(srv, s.url("/f"), "begun_by, id")[0], "the mark goes", 10)
    check(int(feed(srv, s.url("/f"), "claimed_until")[0]) > 0, "the lease stays")
    change(srv, "DROP TRIGGER no" if STORE == "sqlite" else "ALTER TABLE feed_fetch DROP CONSTRAINT no")
    srv.kill9()
    srv.start()
    until(lambda: feed(srv, s.url("/f"), "items") == ("2",), "fetched at once", 10)
