"""Feeds are fetched: seed 002, 8.1 to 8.5, 9.1 to 9.4, 15.1, 15.3, 16.1."""
import time

import feedsite
from feedsite import Site, add, atom, change, due, feed, fetches, outcomes, person, rss, wrong
from hk import check, same, until

# 30 min become 0.5 s, and the fetcher looks five times a second.
SETTINGS = {**feedsite.SETTINGS, "TIME_SCALE": "3600", "FETCH_INTERVAL": "200ms"}
SLOWLY = {"TIME_SCALE": "1"}


def test_8_1_again_and_again(t):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(2))
    add(c, s.url("/f"))
    s.put("/f", rss(3))
    until(lambda: len(s.at("/f")) >= 4, "fetched every hour, which is a second here", 20)
    same(feed(t.srv, s.url("/f"), "items"), ("3",), "what is new was added")
    kinds = outcomes(t.srv, s.url("/f"))
    same(kinds[:2], ["updated", "updated"], "read twice")
    same(set(kinds[2:]), {"same"}, "then the same bytes, not read again")
    check("every 60 min" in fetches(t.srv, s.url("/f"))[-1][3], "why then", fetches(t.srv, s.url("/f"))[-1])


def test_8_1_nobody_subscribes(t):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(t.srv, f"UPDATE feed SET subscribers = 0 WHERE feed_url = '{s.url('/f')}'")
    time.sleep(0.3)
    n = len(s.at("/f"))
    time.sleep(2.5)
    same(len(s.at("/f")), n, "a feed without readers is left alone")


def test_8_2_ten_at_once_and_one_for_a_host(t):
    srv = t.server(**SLOWLY, FETCH_MAX_CONCURRENT="5")
    sites, state = [], {"now": 0, "most": 0}
    c = person(srv)

    def slow(h, r):
        state["now"] += 1
        state["most"] = max(state["most"], state["now"])
        time.sleep(0.4)
        state["now"] -= 1
        body = rss(1)
        h.send_response_only(200)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)
    for i in range(12):
        s = Site(t, f"127.0.3.{i + 1}")
        for path in ("/a", "/b"):
            s.put(path, rss(1, link=""))
            add(c, s.url(path))
            s.put(path, slow)
        s.busiest = 0
        sites.append(s)
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: all(len(s.at(p)) == 2 for s in sites for p in ("/a", "/b")), "each was fetched", 30)
    same([s.busiest for s in sites], [1] * 12, "one at a time to a host")
    check(2 <= state["most"] <= 5, "five at once", state)


def test_8_3_conditional(t):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(2), etag='"abc"', Last_Modified="Tue, 10 Nov 2026 12:00:00 GMT")
    add(c, s.url("/f"))
    until(lambda: "not_modified" in outcomes(t.srv, s.url("/f")), "a 304", 10)
    r = s.at("/f")[-1]
    same(r.headers["if-none-match"], '"abc"', "the ETag is shown")
    same(r.headers["if-modified-since"], "Tue, 10 Nov 2026 12:00:00 GMT", "and the date")
    check("gzip" in r.headers["accept-encoding"] and "br" in r.headers["accept-encoding"], "packed is fine", r.headers)
    s.put("/f", rss(2, start=1), etag='"abd"')
    until(lambda: feed(t.srv, s.url("/f"), "items, etag") == ("3", '"abd"'), "the next one is read", 10)
    same(feed(t.srv, s.url("/f"), "last_modified, items"), (None, "3"), "a validator that is gone is forgotten")


def test_8_4_slow_and_large(t):
    srv = t.server(FETCH_TIMEOUT="1s", FETCH_MAX_SIZE="100KiB")
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", rss(1, text="x" * 200_000))
    until(lambda: "too_large" in outcomes(srv, s.url("/f")), "over fetch.max.size", 15)

    def drip(h, r):
        h.send_response_only(200)
        h.end_headers()
        for _ in range(100):
            h.wfile.write(b"<!-- -->")
            h.wfile.flush()
            time.sleep(0.1)
    s.put("/f", drip)
    until(lambda: "timeout" in outcomes(srv, s.url("/f")), "a drip is cut", 20)
    bad = [f for f in fetches(srv, s.url("/f")) if f[0] in ("too_large", "timeout")]
    check("102400 bytes" in bad[0][2] and "time" in bad[-1][2], "in words", bad)


def test_8_5_the_shortest_interval(t):
    srv = t.server(**SLOWLY)
    s, c, d = Site(t), person(srv), person(srv, "dora")
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    add(d, s.url("/f"))
    change(srv, "UPDATE feed_subscription SET fetch_interval_minutes = 480 WHERE user_id = 1")
    change(srv, "UPDATE feed_subscription SET fetch_interval_minutes = 120 WHERE user_id <> 1")
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", 10)
    check("every 120 min" in fetches(srv, s.url("/f"))[-1][3], "the least of both", fetches(srv, s.url("/f")))
    at, next_at = map(int, feed(srv, s.url("/f"), "last_fetch_at, next_fetch_at"))
    check(120 * 60e6 <= next_at - at <= 127 * 60e6, "in two hours", (next_at - at) / 60e6)


def stops(t, status, says):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", b"no", "text/plain", status=status)
    until(lambda: feed(t.srv, s.url("/f"), "fetch_status") == ("stopped",), "stopped", 10)
    message = feed(t.srv, s.url("/f"), "error_message")[0]
    check(says in message and str(status) in message, "in words", message)
    n = len(s.at("/f"))
    time.sleep(1.5)
    same(len(s.at("/f")), n, "nobody asks any more")
    last = fetches(t.srv, s.url("/f"))[-1]
    check(last[0] == "http_error" and last[3].startswith("stopped"), "the fetch says so", last)


def test_9_1_gone_404(t):
    stops(t, 404, "no feed at this address")


def test_9_1_gone_410(t):
    stops(t, 410, "removed for good")


def test_9_2_forbidden_401(t):
    stops(t, 401, "login")


def test_9_2_forbidden_403(t):
    stops(t, 403, "refuses")


def test_9_3_ten_times_unreadable(t):
    srv = t.server(TIME_SCALE="60000", FETCH_INTERVAL="100ms")
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", b"<html><body>we moved</body></html>", "text/html")
    until(lambda: feed(srv, s.url("/f"), "fetch_status") == ("stopped",), "stopped", 40)
    kinds = outcomes(srv, s.url("/f"))
    same(kinds.count("unreadable"), 10, "at the tenth")
    check("HTML" in feed(srv, s.url("/f"), "error_message")[0], "what is there", feed(srv, s.url("/f"), "error_message"))
    same(feed(srv, s.url("/f"), "items"), ("1",), "articles stay")


def test_9_4_back_off_and_recovery(t):
    srv = t.server(TIME_SCALE="7200", FETCH_INTERVAL="100ms")
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    for status in (500, 503, 429, 400):
        n = len(fetches(srv, s.url("/f")))
        s.put("/f", b"", status=status)
        until(lambda: len(fetches(srv, s.url("/f"))) > n, f"a {status}", 20)
    rows = feed(srv, s.url("/f"), "fetch_status, consecutive_errors")
    same(rows[0], "active", "it goes on")
    check(int(rows[1]) >= 4, "counted", rows)
    waits = [f[3] for f in fetches(srv, s.url("/f")) if f[0] == "http_error"]
    check("30 min" in waits[0] and "60 min" in waits[1] and "120 min" in waits[2] and "240 min" in waits[3],
          "each twice as long", waits)
    s.put("/f", rss(2))
    until(lambda: feed(srv, s.url("/f"), "consecutive_errors, error_message, items") == ("0", None, "2"), "well again", 30)


def test_9_4_retry_after(t):
    srv = t.server(**SLOWLY)
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", b"", status=429, Retry_After="7200")
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", 10)
    check("120 min (Retry-After)" in fetches(srv, s.url("/f"))[-1][3], "as asked", fetches(srv, s.url("/f")))
    s.put("/f", rss(2), Cache_Control="public, max-age=10800")
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 3, "fetched", 10)
    check("180 min (max-age)" in fetches(srv, s.url("/f"))[-1][3], "as said", fetches(srv, s.url("/f")))


def test_nobody_answers(t):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(t.srv, f"UPDATE feed SET feed_url = 'http://127.0.0.9:1/f' WHERE feed_url = '{s.url('/f')}'")
    until(lambda: "unreachable" in outcomes(t.srv, "http://127.0.0.9:1/f"), "unreachable", 10)
    check("could not be fetched" in fetches(t.srv, "http://127.0.0.9:1/f")[-1][2], "in words")


def test_12_1_guard_when_fetching(t):
    s, c = Site(t), person(t.srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(t.srv, f"UPDATE feed SET feed_url = 'http://10.1.2.3/f' WHERE feed_url = '{s.url('/f')}'")
    until(lambda: "refused" in outcomes(t.srv, "http://10.1.2.3/f"), "refused", 10)
    check("not allowed" in fetches(t.srv, "http://10.1.2.3/f")[-1][2], "in words", fetches(t.srv, "http://10.1.2.3/f"))


def test_moved_for_good(t):
    s, c = Site(t), person(t.srv)
    s.put("/old", rss(1))
    s.put("/tmp", rss(1))
    s.put("/taken", rss(1))
    add(c, s.url("/old"))
    add(c, s.url("/tmp"))
    add(c, s.url("/taken"))
    s.put("/new", rss(2))
    s.put("/old", b"", status=308, Location="/mid")
    s.put("/mid", b"", status=301, Location="/new")
    until(lambda: feed(t.srv, s.url("/new"), "items") == ("2",), "the address follows", 10)
    s.put("/tmp", b"", status=302, Location="/new")
    until(lambda: outcomes(t.srv, s.url("/tmp"))[-1:] == ["updated"] and feed(t.srv, s.url("/tmp"), "items") == ("2",),
          "for now: it stays", 10)
    s.put("/tmp", b"", status=301, Location="/taken")
    n = len(outcomes(t.srv, s.url("/tmp")))
    until(lambda: len(outcomes(t.srv, s.url("/tmp"))) > n + 1, "goes on", 10)
    same(feed(t.srv, s.url("/tmp"), "fetch_status, consecutive_errors"), ("active", "0"), "another has that address: it stays")
    said = feed(t.srv, s.url("/tmp"), "error_message")[0]
    check("moved for good" in said and s.url("/taken") in said, "and says so", said)
    row = fetches(t.srv, s.url("/tmp"))[-1]
    check(s.url("/taken") in row[2] and "address of another feed" in row[3], "with each fetch", row)
    sub = [x for x in c.get("/api/subscriptions").want(200).json if x["feed_url"] == s.url("/tmp")][0]
    same((sub["feed_status"], sub["error_message"]), ("active", said), "the person sees it; it is no error")
    s.put("/tmp", rss(3))
    until(lambda: feed(t.srv, s.url("/tmp"), "items") == ("3",), "it is back", 10)
    same(feed(t.srv, s.url("/tmp"), "coalesce(error_message, '-')"), ("-",), "nothing to say")


def test_changed_article_is_an_event(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(2))
    add(c, s.url("/f"))
    s.put("/f", rss(3, text="new text"))
    until(lambda: feed(srv, s.url("/f"), "items") == ("3",), "one more", 10)
    types = [e["eventType"] for e in srv.client().events()]
    same((types.count("feed.item.created"), types.count("feed.item.updated")), (3, 2), "events")


def test_gzip_and_br(t):
    import gzip
    s, c = Site(t), person(t.srv)
    s.put("/gz", gzip.compress(rss(40)), Content_Encoding="gzip")
    add(c, s.url("/gz"))
    same(feed(t.srv, s.url("/gz"), "items"), ("40",), "unpacked")
    sent = int(t.srv.rows("SELECT x.bytes FROM feed_fetch x JOIN feed f ON f.id = x.feed_id "
                          f"WHERE f.feed_url = '{s.url('/gz')}'")[0][0])
    same(sent, len(gzip.compress(rss(40))), "bytes as they came")
    s.put("/bad", b"this is no gzip", Content_Encoding="gzip")
    a = c.post("/api/feeds", {"url": s.url("/bad")})
    feedsite.wrong(a, 422, "FEED_UNREACHABLE")


def test_stop_is_quick(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", lambda h, r: time.sleep(9))
    until(lambda: len(s.at("/f")) > 1, "it hangs", 10)
    begin = time.monotonic()
    srv.stop()
    check(time.monotonic() - begin < 3, "SIGTERM", time.monotonic() - begin)
    same(feed(srv, s.url("/f"), "claimed_until"), ("0",), "the feed is anybody's")


def test_kill9_and_again(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    for p in ("/f", "/g"):
        s.put(p, rss(1))
        add(c, s.url(p))
        s.put(p, lambda h, r: time.sleep(9))
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: len(s.at("/f")) + len(s.at("/g")) > 2, "one hangs, the other waits for its host", 10)
    srv.kill9()
    s.put("/f", rss(2))
    s.put("/g", rss(2))
    srv.start()
    until(lambda: srv.rows("SELECT COUNT(*) FROM feed WHERE items = 2") == [("1",)],
          "what was not begun is fetched at once, without waiting for the lease", 10)


def test_9_5_resume_is_at_once(t):
    srv = t.server(**{**SLOWLY, "FETCH_INTERVAL": "1h"})
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(srv, "UPDATE feed SET fetch_status = 'stopped', error_message = 'x', consecutive_errors = 3")
    sub = c.get("/api/subscriptions").want(200).json
    sub = (sub["subscriptions"] if isinstance(sub, dict) else sub)[0]
    s.put("/f", rss(2))
    a = c.post(f"/api/subscriptions/{sub['id']}/resume")
    check(a.status == 200, "resumed", a)
    until(lambda: feed(srv, s.url("/f"), "items, fetch_status") == ("2", "active"), "without waiting for the tick", 10)


def test_9_5_now_while_it_backs_off(t):
    """Resume is for what backs off too: it is due at once, and backs off further when it fails again."""
    srv = t.server(**{**SLOWLY, "FETCH_INTERVAL": "1h"})
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    change(srv, "UPDATE feed SET error_message = 'x', consecutive_errors = 3, next_fetch_at = 9000000000000000")
    s.put("/f", b"", status=500)
    path = f"/api/subscriptions/{c.get('/api/subscriptions').want(200).json[0]['id']}/resume"
    c.post(path).want(200)
    until(lambda: feed(srv, s.url("/f"), "consecutive_errors") == ("4",), "tried, and failed", 30)
    s.put("/f", rss(2))
    c.post(path).want(200)
    until(lambda: feed(srv, s.url("/f"), "items, consecutive_errors") == ("2", "0"), "tried again", 30)
    wrong(c.post(path), 409, "NOT_STOPPED")


def test_15_1_logs(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    j = add(c, s.url("/f"))
    s.put("/f", b"", status=500)
    until(lambda: [l for l in srv.log() if l.get("msg") == "feed fetch failed"], "a line", 10)
    line = [l for l in srv.log() if l.get("msg") == "feed fetch failed"][0]
    same((line["level"], line["feed_id"], line["url"], line["http_status"], line["error_kind"]),
         ("warn", j["id"], s.url("/f"), 500, "http_error"), "its fields")
    check(isinstance(line["duration_ms"], int), "how long it took", line)
    line = [l for l in srv.log() if l.get("msg") == "feed registered"][0]
    same((line["user_id"], line["feed_id"]), (1, j["id"]), "who added it")


def test_15_3_metrics(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(3))
    add(c, s.url("/f"))

    def metric(name):
        text = srv.client().get("/metrics").want(200).body.decode()
        return next((float(l.split()[-1]) for l in text.split("\n") if l.startswith(name + " ")), None)
    s.put("/f", b"nothing")
    until(lambda: (metric("parse_fail_count") or 0) >= 1, "parse_fail_count", 10)
    s.put("/f", b"", status=503)
    until(lambda: metric('http_status_count{status_code="503"}'), "http_status_count", 10)
    until(lambda: metric("fetch_fail_count") >= 2, "fetch_fail_count", 10)
    s.put("/f", rss(5))
    until(lambda: metric("fetch_success_count") >= 1 and metric("items_upserted_count") == 5, "good ones", 20)
    check(metric("fetch_latency_count") >= 3 and metric("fetch_latency_sum") > 0, "fetch_latency")
    check(metric('http_status_count{status_code="200"}') >= 2, "200s")


def test_16_1_settings(t):
    """The seed's names of environment variables."""
    srv = t.server(FETCH_TIMEOUT="7s", FETCH_MAX_SIZE="1000000", FETCH_MAX_CONCURRENT="3", FETCH_INTERVAL="1m",
                   HATEBU_TTL="12h", HATEBU_BATCH_INTERVAL="20m", HATEBU_API_INTERVAL="6s", HATEBU_MAX_CALLS_PER_CYCLE="9")
    check(srv.alive(), "it starts")


def test_fetch_history_is_trimmed(t):
    srv = t.server(FETCH_HISTORY_DAYS="1s")
    s, c = Site(t), person(srv)
    s.put("/f", atom())
    add(c, s.url("/f"))
    until(lambda: len(s.at("/f")) >= 5, "fetched", 20)
    check(len(fetches(srv, s.url("/f"))) < 5, "old ones go", fetches(srv, s.url("/f")))


def test_12_3_through_the_operators_proxy(t):
    from proxy import Proxy
    p, s = Proxy(t), Site(t)
    srv = t.server(WEBHOOK_PROXY=p.url)
    s.put("/f", rss(1, link=""))
    add(person(srv), s.url("/f"))
    until(lambda: len(s.at("/f")) > 1, "fetched again", 10)
    same(set(p.asked), {f"127.0.0.1:{s.port}"}, "all of it went through the proxy")
