"""pages - stores of many articles, and what apps ask of them: for bench/reader.py.

  fill(srv, n)    n articles that are not read, and 5,000 of the oldest that are, in 100 feeds of
                  the first account: half of all in five of them. Made by SQL in the store.
  CALLS           (name, whose protocol, path): a page of 100, or counts
  Apps(srv).median(of, path, times)   of so many answers, in ms
"""
import hashlib
import os
import sqlite3
import statistics
import subprocess
import time

import apps
import hk

FEEDS, CATEGORIES = 100, 10
DAY_US = 86_400_000_000
# Articles came within a year, each published up to an hour before.
NOW_US = int(time.time()) * 1_000_000
TEXT = "Some words about nothing, as many as a short summary has. " * 5

FILL = (
    "INSERT INTO feed_category (uid, user_id, title, created_at, updated_at) SELECT @u(g), @me, 'c' || g, 1, 1"
    f" FROM @n({CATEGORIES})",
    "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors, parse_errors, next_fetch_at,"
    " claimed_until, subscribers, items, version, created_at, updated_at) SELECT @u(g), 'http://127.0.0.1:1/' || g,"
    f" 'feed ' || g, 'active', 0, 0, {NOW_US + 30 * DAY_US}, 0, 1, 0, 1, 1, 1 FROM @n({FEEDS})",
    "INSERT INTO feed_subscription (uid, user_id, feed_id, category_id, fetch_interval_minutes, created_at, updated_at)"
    f" SELECT uid, @me, id, (SELECT min(id) FROM feed_category) + id % {CATEGORIES}, 720, 1, 1 FROM feed",
    "INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated, fetched_at, created_at, updated_at,"
    " content_hash, state_hash, title, link, guid_or_id, same_as, summary, hatebu_fetched_at) SELECT @u(g),"
    f" CASE WHEN g % 2 = 0 THEN g / 2 % 5 + 1 ELSE g / 2 % {FEEDS - 5} + 6 END, @at(g) - g * 7919 % 3600 * 1000000, 0,"
    " @at(g), @at(g), @at(g), @u(g), @u(g), 'Article ' || g, 'http://127.0.0.1:1/a/' || g, 'g' || g, @u(g),"
    f" '{TEXT}', 1 FROM @n(@count)",
    "UPDATE feed SET items = (SELECT count(*) FROM feed_item i WHERE i.feed_id = feed.id)",
    "INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at) SELECT @me, id, feed_id,"
    " CASE WHEN @read THEN 1 ELSE 0 END, CASE WHEN id % 500 = 0 AND id <= 55000 THEN 1 ELSE 0 END, created_at FROM feed_item"
    " WHERE @read OR id % 500 = 0 AND id <= 55000",
    "INSERT INTO item_terms (@id, terms) SELECT id, @terms('word' || CASE WHEN id % 1000 = 0 THEN ' seldom' ELSE '' END ||"
    " CASE WHEN id = 77 THEN ' once' ELSE '' END) FROM feed_item",
)


def spelled(sql, pg, count, me, read):
    for word, lite, post in (
            ("@u(g)", "CAST(printf('%016d', g) AS BLOB)", "decode(lpad(to_hex(g), 32, '0'), 'hex')"),
            ("@at(g)", *2 * (f"({NOW_US - 365 * DAY_US} + g * {365 * DAY_US // count})",)), ("@read", *2 * (read,)),
            ("@count", *2 * (str(count),)), ("@me", *2 * (str(me),)), ("@id", "rowid", "item_id"),
            ("@terms", "", "to_tsvector")):
        sql = sql.replace(word, post if pg else lite)
    while "@n(" in sql:
        at = sql.index("@n(")
        end = sql.index(")", at)
        n = sql[at + 3:end]
        some = (f"generate_series(1::bigint, {n}) g" if pg else
                f"(WITH RECURSIVE s (g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < {n}) SELECT g FROM s)")
        sql = sql[:at] + some + sql[end + 1:]
    return sql


def fill(srv, unread, read="(id % 11 = 0 AND id <= 55000)"):
    """read: which are. PostgreSQL gets no statistics by it, as on a store that grew fast."""
    me = srv.rows("SELECT id FROM users WHERE name = 'admin'")[0][0]
    texts = [spelled(sql, bool(srv.url), unread + 5000, me, read) for sql in FILL]
    if srv.url:
        r = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", srv.url, "-f", "-"],
                           input=";\n".join(texts) + ";\n", capture_output=True, text=True, timeout=1200)
        hk.check(r.returncode == 0, "filled", r.stderr)
        return
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=60)
    db.execute("PRAGMA cache_size = -400000")
    with db:
        for sql in texts:
            db.execute(sql)
    db.close()


def seconds(days):
    return NOW_US // 1_000_000 - days * 86400


UNREAD = "user/-/state/com.google/read"
ALL = "user/-/state/com.google/reading-list"
CALLS = (
    ("all", "api", "/api/items"),
    ("unread", "api", "/api/items?filter=unread"),
    ("unread, oldest", "api", "/api/items?filter=unread&order=oldest"),
    ("unread, once", "api", "/api/items?filter=unread&unique=true"),
    ("starred", "api", "/api/items?filter=starred"),
    ("unread of a category", "api", "/api/items?filter=unread&category=@category"),
    ("unread of a feed", "api", "/api/feeds/@uid/items?filter=unread"),
    ("search, all", "api", "/api/items?search=word"),
    ("search, many", "api", "/api/items?search=seldom"),
    ("search, one", "api", "/api/items?search=once"),
    ("search, none", "api", "/api/items?search=never"),
    ("search, unread", "api", "/api/items?search=word&filter=unread"),
    ("search, all but", "api", "/api/items?search=-seldom"),
    ("subscriptions", "api", "/api/subscriptions"),
    ("entries", "mf", "/entries?limit=100"),
    ("unread, newest", "mf", "/entries?status=unread&direction=desc&limit=100"),
    ("unread, oldest", "mf", "/entries?status=unread&direction=asc&limit=100"),
    ("unread by id", "mf", "/entries?status=unread&order=id&direction=desc&limit=100"),
    ("unread, visible", "mf", "/entries?status=unread&direction=desc&limit=100&globally_visible=true"),
    ("read", "mf", "/entries?status=read&direction=desc&limit=100"),
    ("starred", "mf", "/entries?starred=true&direction=desc&limit=100"),
    ("not starred", "mf", "/entries?starred=false&direction=desc&limit=100"),
    ("offset 5000", "mf", "/entries?status=unread&direction=desc&limit=100&offset=5000"),
    ("since a day", "mf", f"/entries?status=unread&direction=desc&limit=100&published_after={seconds(1)}"),
    ("since half a year", "mf", f"/entries?status=unread&direction=desc&limit=100&after={seconds(180)}"),
    ("until half a year", "mf", f"/entries?status=unread&direction=desc&limit=100&before={seconds(180)}"),
    ("between", "mf", f"/entries?direction=asc&limit=100&after={seconds(300)}&before={seconds(100)}"),
    ("changed in a day", "mf", f"/entries?order=changed_at&limit=100&changed_after={seconds(1)}"),
    ("changed in half a year", "mf", f"/entries?limit=100&direction=desc&changed_after={seconds(180)}"),
    ("changed before", "mf", f"/entries?limit=100&direction=desc&changed_before={seconds(180)}"),
    ("after an id", "mf", "/entries?order=id&limit=100&after_entry_id=@middle"),
    ("before an id", "mf", "/entries?status=unread&order=id&direction=desc&limit=100&before_entry_id=@middle"),
    ("by date before an id", "mf", "/entries?status=unread&direction=desc&limit=100&before_entry_id=@middle"),
    ("a category", "mf", "/entries?status=unread&direction=desc&limit=100&category_id=@category"),
    ("a feed", "mf", "/feeds/@feed/entries?status=unread&direction=desc&limit=100"),
    ("a small feed", "mf", "/feeds/@small/entries?status=unread&direction=desc&limit=100"),
    ("search, all", "mf", "/entries?search=word&limit=100"),
    ("search, many", "mf", "/entries?search=seldom&limit=100"),
    ("search, unread", "mf", "/entries?search=word&status=unread&limit=100"),
    ("search, starred", "mf", "/entries?search=word&starred=true&limit=100"),
    ("entry ids", "mf", "/entries/ids?status=unread&limit=100"),
    ("feeds", "mf", "/feeds"),
    ("counters", "mf", "/feeds/counters"),
    ("categories", "mf", "/categories?counts=true"),
    ("reading list", "gr", f"/stream/contents/{ALL}?n=100"),
    ("unread", "gr", f"/stream/contents/{ALL}?n=100&xt={UNREAD}"),
    ("unread, oldest", "gr", f"/stream/contents/{ALL}?n=100&r=o&xt={UNREAD}"),
    ("unread since a day", "gr", f"/stream/contents/{ALL}?n=100&xt={UNREAD}&ot={seconds(1)}"),
    ("since half a year", "gr", f"/stream/contents/{ALL}?n=100&ot={seconds(180)}&r=o"),
    ("until half a year", "gr", f"/stream/contents/{ALL}?n=100&nt={seconds(180)}"),
    ("starred", "gr", "/stream/contents/user/-/state/com.google/starred?n=100"),
    ("read", "gr", "/stream/contents/user/-/state/com.google/read?n=100"),
    ("a feed", "gr", f"/stream/contents/feed/@feed?n=100&xt={UNREAD}"),
    ("a label", "gr", f"/stream/contents/user/-/label/c3?n=100&xt={UNREAD}"),
    ("ids", "gr", f"/stream/items/ids?s={ALL}&n=100&xt={UNREAD}"),
    ("ids since half a year", "gr", f"/stream/items/ids?s={ALL}&n=100&xt={UNREAD}&ot={seconds(180)}"),
    ("unread-count", "gr", "/unread-count?output=json"),
    ("subscriptions", "gr", "/subscription/list?output=json"),
    ("items", "fever", "items&since_id=0"),
    ("items in the middle", "fever", "items&since_id=@middle"),
    ("items down", "fever", "items&max_id=@middle"),
    ("feeds", "fever", "feeds"),
    ("saved", "fever", "saved_item_ids"),
)


class Apps:
    """The ways in; each with the words of CALLS that depend on the store."""

    def __init__(self, srv):
        self.api = srv.admin(timeout=600)
        token = apps.token(self.api)["token"]
        self.mf = srv.connect(hk.basic("admin", token), timeout=600)
        r = srv.connect(None).post("/accounts/ClientLogin", apps.form(("Email", "admin"), ("Passwd", token)), apps.FORM).want(200)
        auth = next(l[5:] for l in r.body.decode().split("\n") if l.startswith("Auth="))
        self.gr = srv.connect("GoogleLogin auth=" + auth, timeout=600)
        self.fever = srv.connect(None, timeout=600)
        self.key = hashlib.md5(f"admin:{token}".encode()).hexdigest()
        one = lambda sql: srv.rows(sql)[0][0]
        uid = "lower(hex(uid))" if not srv.url else "encode(uid, 'hex')"
        whole = lambda h: f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
        self.words = {
            "@feed": one("SELECT min(id) FROM feed"), "@small": one("SELECT max(id) FROM feed"),
            "@uid": whole(one(f"SELECT {uid} FROM feed ORDER BY id LIMIT 1")),
            "@middle": one("SELECT max(id) / 2 FROM feed_item"),
        }
        self.words["@category"] = one("SELECT min(id) FROM feed_category")
        self.words["@cuid"] = whole(one(f"SELECT {uid} FROM feed_category ORDER BY id LIMIT 1"))

    def ask(self, of, path):
        if of == "api":
            path = path.replace("@category", "@cuid")
        for k, v in self.words.items():
            path = path.replace(k, v)
        if of == "fever":
            return self.fever.post("/fever/?api&" + path, apps.form(("api_key", self.key)), apps.FORM).want(200)
        return {"api": self.api.get, "mf": lambda p: self.mf.get("/miniflux/v1" + p),
                "gr": lambda p: self.gr.get("/reader/api/0" + p)}[of](path).want(200)

    def median(self, of, path, times, most_s=3.0):
        """In ms; of fewer when they take long."""
        took, end = [], time.monotonic() + most_s
        self.ask(of, path)
        while len(took) < times and (not took or time.monotonic() < end):
            begin = time.monotonic()
            self.ask(of, path)
            took.append((time.monotonic() - begin) * 1000)
        return statistics.median(took)
