"""Counts of Hatena bookmarks: seed 002, 10.1 to 10.3."""
import json
import time
import urllib.parse

import feedsite
from feedsite import Site, add, change, person, rss
from hk import STORE, Skip, check, same, until

SETTINGS = {**feedsite.SETTINGS, "HATEBU_ENABLED": "true", "HATEBU_BATCH_INTERVAL": "200ms",
            "HATEBU_API_INTERVAL": "100ms", "FETCH_INTERVAL": "1h"}


class Hatena:
    def __init__(self, t, fail=0):
        self.site, self.calls, self.fail, self.counts = Site(t, "127.0.0.50"), [], fail, {}
        self.site._serve = self.serve

    def serve(self, h):
        parts = urllib.parse.urlsplit(h.path)
        urls = urllib.parse.parse_qs(parts.query).get("url", [])
        self.calls.append((time.monotonic(), parts.path, urls))
        status, body = 200, json.dumps({u: self.counts[u] for u in urls if u in self.counts}).encode()
        if self.fail:
            self.fail -= 1
            status, body = 503, b""
        h.send_response_only(status)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)

    @property
    def url(self):
        return self.site.url("")


def begin(t, items, fail=0, start=True, **settings):
    hatena, s = Hatena(t, fail), Site(t)
    srv = t.server(HATEBU_URL=hatena.url, **settings)
    s.put("/f", rss(items, link="https://example.com/"))
    if start:
        add(person(srv), s.url("/f"))
    return srv, hatena, s


def counts(srv):
    return {r[0]: (r[1], r[2]) for r in srv.rows(
        "SELECT link, hatebu_count, CASE WHEN hatebu_fetched_at IS NULL THEN 'no' ELSE 'yes' END FROM feed_item")}


def test_10_1_counts_are_kept(t):
    srv, hatena, _ = begin(t, 3, start=False)
    time.sleep(0.6)
    same(hatena.calls, [], "without feeds nobody is asked")
    s = Site(t)
    s.put("/f", rss(3, link="https://example.com/"))
    hatena.counts = {"https://example.com/a/1": 42}
    add(person(srv), s.url("/f"))
    until(lambda: all(v[1] == "yes" for v in counts(srv).values()), "asked for", 25)
    got = counts(srv)
    same(got["https://example.com/a/1"], ("42", "yes"), "as answered")
    same(got["https://example.com/a/0"], ("0", "yes"), "left out: none")
    same(hatena.calls[0][1], "/count/entries", "the bulk endpoint")
    same(len(hatena.calls[0][2]), 3, "all at once")
    time.sleep(1)
    same(len(hatena.calls), 1, "and not again before their time")


def test_never_about_private_addresses(t):
    """Links that are not public, or of a private feed, stay here; they have no bookmarks."""
    srv, hatena, s = begin(t, 1, start=False)
    local = ("http://127.0.0.1:9/x", "http://10.1.2.3/x", "http://[fd00::1]/x", "http://localhost/x", "http://wiki/x",
             "https://nas.local/x", "https://db.internal/x", "https://me:pw@example.com/x", "http://2130706433/x")
    items = "".join(f"<item><title>{i}</title><link>{u}</link><guid>l-{i}</guid></item>" for i, u in enumerate(local))
    s.put("/f", rss(2, link="https://example.com/").replace(b"</channel>", items.encode() + b"</channel>"))
    s.put("/p", rss(2, link="https://secret.example/", start=10))
    c = person(srv)
    c.post("/api/feeds", {"url": s.url("/p"), "private": True}).want(201)
    add(c, s.url("/f"))
    until(lambda: len(counts(srv)) >= 4 and all(v[1] == "yes" for v in counts(srv).values()), "all are through", 40)
    same({u for call in hatena.calls for u in call[2]}, {"https://example.com/a/0", "https://example.com/a/1"}, "asked about")
    same({v[0] for v in counts(srv).values()}, {"0"}, "none has any")


def test_10_1_fifty_a_call_and_a_pause(t):
    srv, hatena, _ = begin(t, 120, HATEBU_API_INTERVAL="500ms")
    until(lambda: len(hatena.calls) >= 3, "three calls", 30)
    same([len(c[2]) for c in hatena.calls[:3]], [50, 50, 20], "fifty at most")
    same(len({u for c in hatena.calls[:3] for u in c[2]}), 120, "each once")
    gaps = [b[0] - a[0] for a, b in zip(hatena.calls, hatena.calls[1:])]
    check(min(gaps) >= 0.45, "a pause between calls", gaps)


def test_10_1_calls_of_a_round(t):
    srv, hatena, _ = begin(t, 250, HATEBU_MAX_CALLS_PER_CYCLE="2", HATEBU_BATCH_INTERVAL="2s")
    until(lambda: len(hatena.calls) >= 4, "two rounds", 30)
    gaps = [b[0] - a[0] for a, b in zip(hatena.calls, hatena.calls[1:])]
    check(gaps[0] < 1.5 and gaps[1] >= 1.9 and gaps[2] < 1.5, "two, then a round's pause", gaps)


def test_10_2_again_after_a_day(t):
    srv, hatena, _ = begin(t, 60, HATEBU_TTL="2s")
    until(lambda: sum(len(c[2]) for c in hatena.calls) >= 60, "all once", 30)
    first = [u for c in hatena.calls for u in c[2]][:60]
    hatena.counts = {first[0]: 9}
    until(lambda: counts(srv)[first[0]] == ("9", "yes"), "again when it is old", 30)
    again = [u for c in hatena.calls for u in c[2]][60:110]
    check(first[0] in again, "the oldest first", again)


def test_10_2_new_ones_first(t):
    srv, hatena, _ = begin(t, 55)
    until(lambda: all(v[1] == "yes" for v in counts(srv).values()) and counts(srv), "asked for", 30)
    n = len(hatena.calls)
    change(srv, "UPDATE feed_item SET hatebu_fetched_at = CASE WHEN guid_or_id IN ('g-3', 'g-54') THEN NULL ELSE 1 END")
    until(lambda: len(hatena.calls) > n + 1, "more calls", 30)
    urls = next(c[2] for c in hatena.calls[n:] if "https://example.com/a/3" in c[2] and "https://example.com/a/54" in c[2])
    same(sorted(urls[:2]), ["https://example.com/a/3", "https://example.com/a/54"], "never asked comes first")


def test_10_3_failure_keeps_the_old_value(t):
    srv, hatena, _ = begin(t, 2, HATEBU_TTL="1s", TIME_SCALE="360")
    hatena.counts = {"https://example.com/a/0": 5, "https://example.com/a/1": 6}
    until(lambda: counts(srv).get("https://example.com/a/0") == ("5", "yes"), "a first value", 30)
    hatena.fail, n = 3, len(hatena.calls)
    until(lambda: len(hatena.calls) >= n + 3, "three that fail", 30)
    same(counts(srv)["https://example.com/a/0"], ("5", "yes"), "the old value stays")
    until(lambda: len(hatena.calls) >= n + 4, "and again", 30)
    pause = hatena.calls[n + 3][0] - hatena.calls[n + 2][0]
    check(4.5 <= pause < 15, "30 min of pause (5 s here) after three", pause)
    check([l for l in srv.log() if l.get("msg") == "counts of bookmarks can't be fetched"], "told in the log")
    same(srv.rows("SELECT fetch_status, consecutive_errors FROM feed"), [("active", "0")], "no matter of the feed")


def test_10_2_off(t):
    srv, hatena, _ = begin(t, 2, HATEBU_ENABLED="false")
    time.sleep(1)
    same(hatena.calls, [], "switched off")
    check(all(v == ("0", "no") for v in counts(srv).values()), "never fetched")


def test_10_2_one_node_asks(t):
    if STORE != "postgres":
        raise Skip("SQLite has one node")
    key = feedsite.shared_key(t)
    srv, hatena, _ = begin(t, 200, HATEBU_API_INTERVAL="300ms", **key)
    t.server(url=srv.url, HATEBU_URL=hatena.url, HATEBU_API_INTERVAL="300ms", **key)
    until(lambda: all(v[1] == "yes" for v in counts(srv).values()), "all", 40)
    asked = [u for c in hatena.calls for u in c[2]]
    same(len(asked), len(set(asked)), "none twice")
    gaps = [b[0] - a[0] for a, b in zip(hatena.calls, hatena.calls[1:])]
    check(min(gaps) >= 0.25, "the pause holds for both together", gaps)
