"""Two fetchers on one PostgreSQL: no feed twice; one that was killed is taken over (8.2)."""
import time

import feedsite
from feedsite import Site, change, rss
from hk import STORE, Skip, check, same, until

SETTINGS = {**feedsite.SETTINGS, "FETCH_INTERVAL": "200ms", "FETCH_TIMEOUT": "1s", "TIME_SCALE": "60",
            "FETCH_MAX_CONCURRENT": "4"}
N = 60


def two(t, **more):
    if STORE != "postgres":
        raise Skip("SQLite has one fetcher")
    key = feedsite.shared_key(t)
    a = t.server(**key, **more)
    b = t.server(url=a.url, **key, **more)
    return a, b


def plant(srv, sites, path="/f"):
    """N feeds on hosts of their own, straight into the store, not due yet."""
    change(srv, "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors, parse_errors, next_fetch_at,"
           " claimed_until, subscribers, items, version, created_at, updated_at) VALUES " + ",".join(
               f"(uuid_send(gen_random_uuid()), '{s.url(path)}', 'x', 'active', 0, 0, 9e18, 0, 1, 0, 0, 1, 1)"
               for s in sites))
    change(srv, "INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at)"
           " SELECT uuid_send(gen_random_uuid()), 1, id, 720, 1, 1 FROM feed")


def slow(seconds):
    def answer(h, r):
        time.sleep(seconds)
        body = rss(3)
        h.send_response_only(200)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)
    return answer


def test_8_2_no_feed_twice(t):
    a, b = two(t)
    sites = [Site(t, f"127.0.4.{i + 1}") for i in range(N)]
    plant(a, sites)
    for s in sites:
        s.put("/f", slow(0.05))
    change(a, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: sum(len(s.requests) for s in sites) >= N, "all are fetched", 60)
    until(lambda: a.rows("SELECT COUNT(*) FROM feed_fetch") == [(str(N),)], "and written", 30)
    time.sleep(1)
    same([len(s.requests) for s in sites], [1] * N, "each once")
    same(a.rows("SELECT COUNT(*) FROM feed_item"), [(str(3 * N),)], "articles")
    done = [len([l for l in srv.log() if l.get("msg") == "feed fetched"]) for srv in (a, b)]
    check(min(done) > 0 and sum(done) == N, "both worked", done)


def test_8_2_taken_over(t):
    """What the other had begun is backed off first: it may have died of it."""
    a, b = two(t, TIME_SCALE="600")
    sites = [Site(t, f"127.0.5.{i + 1}") for i in range(20)]
    plant(a, sites)
    b.stop()
    for s in sites:
        s.put("/f", slow(0.8))
    change(a, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: sum(len(s.requests) for s in sites) >= 2, "the first has begun", 20)
    a.kill9()
    had = int(b.rows("SELECT COUNT(*) FROM feed WHERE claimed_by IS NOT NULL")[0][0])
    check(had > 0, "it had some", had)
    begun = int(b.rows("SELECT COUNT(*) FROM feed WHERE begun_by IS NOT NULL")[0][0])
    check(2 <= begun <= 12 and begun < had, "and had begun with some of them", begun, had)
    for s in sites:
        s.put("/f", rss(3))
    b.start()
    until(lambda: b.rows("SELECT COUNT(*) FROM feed WHERE items = 3") == [("20",)], "the other took over", 40)
    same(b.rows("SELECT COUNT(*) FROM feed WHERE claimed_by IS NOT NULL"), [("0",)], "nothing is left behind")
    same(b.rows("SELECT COUNT(*) FROM feed_item"), [("60",)], "no article twice")
    same(b.rows("SELECT COUNT(*), COUNT(DISTINCT feed_id) FROM feed_fetch WHERE outcome = 'crashed'"),
         [(str(begun), str(begun))], "each of those was backed off, once")
