"""What spans several parts of the reader: identities, limits of adding, errors for people."""
import os
import time

import feedsite
import hk
from feedsite import Site, rss
from hk import check, same, until
from people import SITE, Browser, Fake, person

SETTINGS = feedsite.SETTINGS


def test_1_7_one_person_several_providers(t):
    """A person may have an identity at each provider; each leads to the same feeds."""
    f = Fake(t)
    srv = t.server(**{**SETTINGS, **f.settings()})
    b = Browser(srv, SITE)
    same(b.travel(f.sign_in()), SITE + "/", "home")
    me = b.get("/auth/me").json["id"]
    provider = srv.rows("SELECT provider FROM identities WHERE provider <> 'local'")[0][0]
    # the same person at another provider, as an operator would join them
    sql = ("INSERT INTO identities (user_id, provider, provider_user_id, created_at) "
           f"SELECT user_id, '{provider}', 'another-subject', 0 FROM identities "
           "WHERE provider <> 'local'")
    if srv.url:
        hk.psql(srv.url, sql)
    else:
        import sqlite3
        db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=20)
        with db:
            db.execute(sql)
        db.close()
    f.claims["sub"] = "another-subject"
    c = Browser(srv, SITE)
    same(c.travel(f.sign_in()), SITE + "/", "home")
    same(c.get("/auth/me").json["id"], me, "the same person")
    f.claims["sub"] = "a-third-subject"
    d = Browser(srv, SITE)
    d.travel(f.sign_in())
    check(d.get("/auth/me").json["id"] != me, "whom nobody joined is another")


def test_13_2_ten_feeds_a_minute(t):
    """Adding is limited to 10 a minute for each person; other requests go on."""
    srv = t.server(RATE_LIMIT_GENERAL=None, RATE_LIMIT_FEED_REG=None)
    site = Site(t)
    admin = Browser(srv)
    admin.login()
    got = []
    for i in range(12):
        site.put(f"/{i}", rss(1, title=f"F{i}", link=f"http://127.0.0.1/{i}/"))
        got.append(admin("POST", "/api/feeds", {"url": site.url(f"/{i}")}))
    same([a.status for a in got].count(201), 10, "ten are added")
    late = got[-1]
    person(late, 429, "RATE_LIMITED", "system")
    check(1 <= int(late.headers["Retry-After"]) <= 12, "Retry-After", late.headers.items())
    same(admin.get("/api/subscriptions").status, 200, "other requests go on")
    srv.admin().post("/v1/users", {"name": "bob", "password": "bob has a password", "role": "viewer"}).want(201)
    bob = Browser(srv)
    bob.login("bob", "bob has a password")
    same(bob("POST", "/api/feeds", {"url": site.url("/1")}).status, 201, "another person has ten of their own")


def test_15_4_errors_say_what_to_do(t):
    """Every error of a person's route has a code, a category and what to do about it."""
    srv, site = t.srv, Site(t)
    b, nobody = Browser(srv), Browser(srv)
    b.login()
    site.put("/page", b"<html><title>no feed</title>", feedsite.HTML)
    site.put("/gone", lambda h, r: h.send_error(500))
    nil = "00000000-0000-4000-8000-000000000000"
    site.put("/f", rss(1))
    same(b("POST", "/api/feeds", {"url": site.url("/f")}).status, 201, "a feed")
    sub = b.get("/api/subscriptions").json[0]["id"]
    for a, status, category in (
            (nobody.get("/api/subscriptions"), 401, "auth"),
            (b("POST", "/api/feeds", {"url": 7}), 400, "validation"),
            (b("POST", "/api/feeds", {"url": ""}), 400, "validation"),
            (b("POST", "/api/feeds", {"url": site.url("/page")}), 422, "feed"),
            (b("POST", "/api/feeds", {"url": site.url("/gone")}), 422, "feed"),
            (b("POST", "/api/feeds", {"url": "http://10.0.0.1/"}), 422, "feed"),
            (b("POST", "/api/feeds", {"url": site.url("/f")}), 409, "feed"),
            (b.get(f"/api/feeds/{nil}"), 404, "validation"),
            (b.get("/api/feeds/nothing/items"), None, "validation"),
            (b("PUT", f"/api/subscriptions/{sub}/settings", {"fetch_interval_minutes": 31}), 400, "validation"),
            (b("POST", f"/api/subscriptions/{sub}/resume"), 409, "feed"),
            (b.get("/api/nowhere"), 404, "validation")):
        person(a, status or a.status, category=category)
        check(a.status >= 400 and a.json["action"] and a.json["message"], "what to do", a)
        check(a.status != 400 or a.json["fields"][0]["field"], "a 400 names the field", a)


def test_the_database_goes_away_and_comes_back(t):
    """Adding is a 503 that says so, fetching waits; both go on by themselves, nothing is lost."""
    if hk.STORE != "postgres":
        raise hk.Skip("PostgreSQL only")
    os.chmod(t.folder, 0o755)
    pg = hk.Cluster(t.path("pg"))
    t.later(pg.stop)
    srv = t.server(url=hk.pg_database(pg.url), TIME_SCALE="3600", FETCH_INTERVAL="200ms")
    site, b = Site(t), Browser(srv)
    b.login()
    site.put("/a", rss(2, title="A", link="http://127.0.0.1/a/"))
    site.put("/b", rss(2, title="B", link="http://127.0.0.1/b/"))
    same(b("POST", "/api/feeds", {"url": site.url("/a")}).status, 201, "a feed")
    pg.kill()
    a = until(lambda: (lambda a: a if a.status == 503 else None)(
        b("POST", "/api/feeds", {"url": site.url("/b")})), "503 while it is away")
    person(a, 503, "UNAVAILABLE", "system")
    check(int(a.headers["Retry-After"]) >= 1, "Retry-After", a.headers.items())
    site.put("/a", rss(3, title="A", link="http://127.0.0.1/a/"))
    time.sleep(0.5)
    pg.start()
    until(lambda: b("POST", "/api/feeds", {"url": site.url("/b")}).status in (201, 409), "it adds again")
    feeds = {s["feed_title"]: s for s in b.get("/api/subscriptions").json}
    same(sorted(feeds), ["A", "B"], "both feeds, once")
    until(lambda: {s["feed_title"]: s["unread_count"] for s in b.get("/api/subscriptions").json}
          == {"A": 3, "B": 2}, "the fetcher goes on by itself", 60)
