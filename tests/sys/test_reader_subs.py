"""Subscriptions, feeds and categories of a person (seed 002: 1.6, 2.8, 8.5, 9.5, 14.2, 14.4)."""
import re
import time

import hk
from feedsite import PNG, wrong
from hk import check, same
from readers import (SETTINGS, Site, add, article, execute, ok, one, pages, person, put, put_state,
                     refetch, wrong_field)

COUNTS = ("feed_count", "item_count", "unread_count", "starred_count")


def somebody(t):
    return person(t.srv, "p" + hk.new_id()[:8])


def made(t, n=3, c=None, path="/f"):
    site, c = Site(t), c or somebody(t)
    put(site, path, [article(i) for i in range(n)], "The feed")
    f = add(c, site.url(path))
    return site, c, f["id"], sub_of(c, f["id"])


def sub_of(c, feed):
    return [s for s in ok(c.get("/api/subscriptions")) if s["feed_id"] == feed][0]


def test_subscription_json(t):
    site, c, f, s = made(t)
    same(set(s), {"id", "user_id", "feed_id", "feed_title", "feed_url", "fetch_interval_minutes", "feed_status",
                  "unread_count", "category_id", "created_at", "site_url", "last_fetch_at", "next_fetch_at",
                  "why_next", "item_count", "starred_count"}, "its members")
    same((s["feed_id"], s["feed_title"], s["feed_url"], s["fetch_interval_minutes"], s["feed_status"], s["unread_count"]),
         (f, "The feed", site.url("/f"), 60, "active", 3), "its values")
    j = ok(c.get("/api/feeds/" + f))
    same((j["id"], j["feed_url"], j["title"], j["fetch_status"], j["consecutive_errors"], j["favicon_url"]),
         (f, site.url("/f"), "The feed", "active", 0, None), "Feed")
    check({"site_url", "etag", "last_modified", "error_message", "next_fetch_at", "created_at", "updated_at"} <= set(j),
          "its columns", j)
    url = site.url("/f")
    execute(t.srv, f"UPDATE feed SET consecutive_errors = 2, error_message = 'HTTP 500' WHERE feed_url = '{url}'")
    s = sub_of(c, f)
    same((s["feed_status"], s["error_message"]), ("error", "HTTP 500"), "while it backs off")
    same(ok(c.get("/api/feeds/" + f))["fetch_status"], "error", "the feed says so too")


def test_counts_and_when_it_is_fetched(t):
    """U20, U21: all, unread and starred by feed and category; last and next fetch, and why."""
    site, c, f, s = made(t, 5)
    home = {"version": "https://jsonfeed.org/version/1.1", "title": "G", "home_page_url": "https://example.com/home",
            "items": [article(i) for i in range(10, 13)]}
    site.put("/g", hk.dump(home), "application/feed+json")
    g = add(c, site.url("/g"))["id"]
    news, empty = (ok(c.post("/api/categories", {"title": x}), 201) for x in ("News", "Empty"))
    same({k: news[k] for k in COUNTS}, dict.fromkeys(COUNTS, 0), "a new one is empty")
    for sub in (s["id"], sub_of(c, g)["id"]):
        ok(c("PATCH", f"/api/subscriptions/{sub}", {"category_id": news["id"]}))
    mine, theirs = pages(c, f"/api/feeds/{f}/items"), pages(c, f"/api/feeds/{g}/items")
    ok(put_state(c, mine[0]["id"], is_read=True, is_starred=True))
    ok(put_state(c, mine[1]["id"], is_starred=True))
    ok(put_state(c, theirs[0]["id"], is_read=True))
    d = somebody(t)
    add(d, site.url("/f"))
    for who, feed, want in ((c, f, (5, 4, 2)), (c, g, (3, 2, 0)), (d, f, (5, 5, 0))):
        s = sub_of(who, feed)
        same((s["item_count"], s["unread_count"], s["starred_count"]), want, "of a feed")
    same({x["title"]: tuple(x[k] for k in COUNTS) for x in ok(c.get("/api/categories"))},
         {"News": (2, 8, 6, 2), "Empty": (0, 0, 0, 0)}, "of categories")
    s, j = sub_of(c, g), ok(c.get("/api/feeds/" + g))
    same(s["site_url"], "https://example.com/home", "site_url")
    same((s["last_fetch_at"], s["next_fetch_at"]), (j["last_fetch_at"], j["next_fetch_at"]), "as the feed has it")
    check(s["last_fetch_at"] < s["next_fetch_at"], "the next is later", s)
    same(s["why_next"], ok(c.get(f"/api/feeds/{g}/fetches"))["fetches"][0]["why_next"], "why then")
    url = site.url("/g")
    execute(t.srv, f"UPDATE feed SET fetch_status = 'stopped', error_message = 'HTTP 410' WHERE feed_url = '{url}'")
    s = sub_of(c, g)
    same((s["feed_status"], s["error_message"], s["next_fetch_at"]), ("stopped", "HTTP 410", None), "stopped")


def test_2_8_a_hundred(t):
    site, c, _, s = made(t)
    user = one(t.srv, "SELECT max(user_id) FROM feed_subscription")
    made_up = ("decode(lpad(to_hex(g + {0} * 1000), 32, '0'), 'hex')" if t.srv.url
               else "randomblob(16)").format(user)
    series = ("generate_series(1, 99) g" if t.srv.url else
              "(WITH RECURSIVE n(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n WHERE g < 99) SELECT g FROM n)")
    execute(t.srv, "INSERT INTO feed (uid, feed_url, title, fetch_status, consecutive_errors, parse_errors, next_fetch_at, "
            "claimed_until, subscribers, items, version, created_at, updated_at) "
            f"SELECT {made_up}, 'http://127.0.0.1:1/' || '{user}/' || g, 't', 'stopped', 0, 0, 9000000000000000, 0, 1, 0, 1, 1, 1 "
            f"FROM {series}")
    execute(t.srv, "INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at) "
            f"SELECT uid, {user}, id, 60, 1, 1 FROM feed WHERE feed_url LIKE 'http://127.0.0.1:1/{user}/%'")
    same(len(ok(c.get("/api/subscriptions"))), 100, "a hundred")
    put(site, "/more", [article(1)])
    j = wrong(c.post("/api/feeds", {"url": site.url("/more")}), 409, "SUBSCRIPTION_LIMIT")
    check("100" in j["message"] and j["category"] == "feed" and j["action"], "what to do", j)
    wrong(c.post("/api/feeds", {"url": site.url("/f")}), 409, "ALREADY_SUBSCRIBED")
    same(c.delete("/api/subscriptions/" + s["id"]).status, 204, "one ends")
    add(c, site.url("/more"))


def test_8_5_interval(t):
    site, c, f, s = made(t)
    path = f"/api/subscriptions/{s['id']}/settings"
    for m in (30, 60, 90, 720):
        same(ok(c("PUT", path, {"fetch_interval_minutes": m}))["fetch_interval_minutes"], m, "set")
    for bad in (0, 29, 31, 45, 721, 750, -30, 30.5, "60", None, True, 10 ** 30):
        wrong_field(c("PUT", path, {"fetch_interval_minutes": bad}), "fetch_interval_minutes")
    wrong_field(c("PUT", path, {}), "fetch_interval_minutes")
    wrong_field(c("PUT", path, {"fetch_interval_minutes": 60, "x": 1}), "x")
    same(sub_of(c, f)["fetch_interval_minutes"], 720, "as it was")
    url = site.url("/f")
    execute(t.srv, f"UPDATE feed SET next_fetch_at = last_fetch_at + 43200000000 WHERE feed_url = '{url}'")
    ok(c("PUT", path, {"fetch_interval_minutes": 30}))
    same(one(t.srv, f"SELECT next_fetch_at - last_fetch_at FROM feed WHERE feed_url = '{url}'"), "1800000000",
         "the next fetch is sooner")
    ok(c("PUT", path, {"fetch_interval_minutes": 720}))
    same(one(t.srv, f"SELECT next_fetch_at - last_fetch_at FROM feed WHERE feed_url = '{url}'"), "1800000000",
         "but not put off")
    same(c("PUT", f"/api/subscriptions/{hk.new_id()}/settings", {"fetch_interval_minutes": 60}).status, 404, "not mine")


def test_9_5_resume(t):
    site, c, f, s = made(t)
    path = f"/api/subscriptions/{s['id']}/resume"
    wrong(c.post(path), 409, "NOT_STOPPED")
    url = site.url("/f")
    execute(t.srv, "UPDATE feed SET fetch_status = 'stopped', consecutive_errors = 1, error_message = 'HTTP 410' "
            f"WHERE feed_url = '{url}'")
    same(sub_of(c, f)["feed_status"], "stopped", "stopped")
    n = len(site.at("/f"))
    j = ok(c.post(path))
    same((j["feed_status"], "error_message" in j), ("active", False), "active again")
    hk.until(lambda: len(site.at("/f")) > n, "it is fetched at once", 20)
    wrong(c.post(path), 409, "NOT_STOPPED")
    wrong(c.post(f"/api/subscriptions/{hk.new_id()}/resume"), 404, "NOT_FOUND")


def test_14_2_unsubscribe(t):
    site, c, f, s = made(t, 5)
    d = somebody(t)
    add(d, site.url("/f"))
    for x in (c, d):
        for i in pages(x, f"/api/feeds/{f}/items"):
            ok(put_state(x, i["id"], is_read=True, is_starred=True))
    i = pages(c, f"/api/feeds/{f}/items")[0]["id"]
    url = site.url("/f")
    states = ("SELECT count(*) FROM item_state s JOIN feed f ON f.id = s.feed_id "
              f"WHERE f.feed_url = '{url}'")
    row = f"SELECT subscribers || ' ' || items FROM feed WHERE feed_url = '{url}'"
    same((one(t.srv, states), one(t.srv, row)), ("10", "2 5"), "before")
    same(c.delete("/api/subscriptions/" + s["id"]).status, 204, "gone")
    same(c.delete("/api/subscriptions/" + s["id"]).status, 404, "once")
    same((one(t.srv, states), one(t.srv, row)), ("5", "1 5"), "states of one go; 14.4: feed and articles stay")
    same(ok(c.get("/api/subscriptions")), [], "none left")
    for path in (f"/api/feeds/{f}", f"/api/feeds/{f}/items", f"/api/items/{i}"):
        same(c.get(path).status, 404, path)
    same(len(pages(d, "/api/items", filter="starred")), 5, "the other's are there")
    same(d.delete(f"/api/feeds/{f}").status, 204, "by the feed")
    same(d.delete(f"/api/feeds/{f}").status, 404, "once")
    same((one(t.srv, states), one(t.srv, row)), ("0", "0 5"), "the feed stays")
    add(c, url)
    same(sub_of(c, f)["unread_count"], 5, "again from the beginning")


def test_own_title_and_category(t):
    _, c, f, s = made(t)
    path = "/api/subscriptions/" + s["id"]
    same(ok(c("PATCH", path, {"title": "Mine"}))["feed_title"], "Mine", "own title")
    same(ok(c("PATCH", path, {}))["feed_title"], "Mine", "not given: as it was")
    same(ok(c("PATCH", path, {"title": None}))["feed_title"], "The feed", "the feed's again")
    cat = ok(c.post("/api/categories", {"title": " Tech "}), 201)
    same((cat["title"], set(cat)), ("Tech", {"id", "title", "created_at", "updated_at", *COUNTS}), "a category")
    same(c.post("/api/categories", {"title": "Tech"}).status, 409, "twice")
    for bad in ("", " ", 5, None, "x" * 201):
        wrong_field(c.post("/api/categories", {"title": bad}), "title")
    ok(c("PATCH", path, {"category_id": cat["id"]}))
    for bad in ("x", 5, hk.new_id()):
        wrong_field(c("PATCH", path, {"category_id": bad}), "category_id")
    wrong_field(c("PATCH", path, {"title": ""}), "title")
    wrong_field(c("PATCH", path, {"name": "x"}), "name")
    same(ok(c("PATCH", "/api/categories/" + cat["id"], {"title": "News"}))["title"], "News", "renamed")
    same([x["title"] for x in ok(c.get("/api/categories"))], ["News"], "the list")
    same(c.delete("/api/categories/" + cat["id"]).status, 204, "removed")
    same(sub_of(c, f)["category_id"], None, "its feed stays")
    same(c.delete("/api/categories/" + cat["id"]).status, 404, "once")


def test_favicon(t):
    site, c, f, s = made(t)
    same(c.get(f"/api/feeds/{f}/favicon").status, 404, "none yet")
    url = site.url("/f")

    def icon(data, mime):
        h = data.hex()
        lit = f"decode('{h}', 'hex')" if t.srv.url else f"x'{h}'"
        execute(t.srv, f"UPDATE feed SET favicon_mime = '{mime}', favicon_data = {lit} WHERE feed_url = '{url}'")

    icon(PNG, "image/png")
    same(sub_of(c, f)["favicon_url"], f"/api/feeds/{f}/favicon", "favicon_url")
    a = c.get(f"/api/feeds/{f}/favicon")
    same((a.status, a.body, a.headers["Content-Type"]), (200, PNG, "image/png"), "the bytes")
    same(a.headers["X-Content-Type-Options"], "nosniff", "nosniff")
    check("max-age" in a.headers["Cache-Control"], "cacheable", a.headers)
    b = c.get(f"/api/feeds/{f}/favicon", headers={"If-None-Match": a.headers["ETag"]})
    same((b.status, b.body), (304, b""), "not again")
    svg = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
    icon(svg, "image/svg+xml")
    a = c.get(f"/api/feeds/{f}/favicon", headers={"If-None-Match": a.headers["ETag"]})
    same((a.status, a.body), (200, svg), "another picture")
    csp = a.headers["Content-Security-Policy"]
    check("sandbox" in csp and "default-src 'none'" in csp and "script" not in csp, "it can't run", csp)
    icon(b"<script>", "text/html")
    same(c.get(f"/api/feeds/{f}/favicon").headers["Content-Type"], "application/octet-stream", "no page of ours")


def test_fetches(t):
    site, c, f, s = made(t)
    put(site, "/f", [article(i) for i in range(4)])
    refetch(t.srv, site, "/f")
    j = ok(c.get(f"/api/feeds/{f}/fetches"))
    same((len(j["fetches"]), j["has_more"], "next_cursor" in j), (2, False, False), "two")
    new, old = j["fetches"]
    same((new["http_status"], new["inserted"], new["outcome"]), (200, 1, "updated"), "the last")
    check(new["at"] > old["at"] and new["why_next"] and new["next_at"], "newest first", new)
    url = site.url("/f")
    gen = ("generate_series(1, 60) g" if t.srv.url else
           "(WITH RECURSIVE n(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n WHERE g < 60) SELECT g FROM n)")
    now = int(time.time() * 1e6)
    execute(t.srv, "INSERT INTO feed_fetch (feed_id, at, took_us, outcome, http_status, bytes, inserted, updated, why_next) "
            f"SELECT f.id, {now} + g, 1, 'same', 304, 0, 0, 0, 'interval' FROM feed f, {gen} WHERE f.feed_url = '{url}'")
    j = ok(c.get(f"/api/feeds/{f}/fetches"))
    same((len(j["fetches"]), j["has_more"]), (50, True), "a page")
    k = ok(c.get(f"/api/feeds/{f}/fetches", cursor=j["next_cursor"]))
    same((len(k["fetches"]), k["has_more"]), (12, False), "the rest")
    wrong_field(c.get(f"/api/feeds/{f}/fetches", cursor="x"), "cursor")


def test_1_6_nobody_elses(t):
    """Each route, with what belongs to somebody else: a 404, and nothing changed."""
    site, c, f, s = made(t, 3)
    i = pages(c, f"/api/feeds/{f}/items")[0]["id"]
    ok(put_state(c, i, is_starred=True))
    cat = ok(c.post("/api/categories", {"title": "mine"}), 201)["id"]
    ok(c("PATCH", "/api/subscriptions/" + s["id"], {"category_id": cat}))
    url = site.url("/f")
    execute(t.srv, f"UPDATE feed SET fetch_status = 'stopped' WHERE feed_url = '{url}'")

    def seen():
        return (ok(c.get("/api/subscriptions")), pages(c, "/api/items"), ok(c.get("/api/categories")),
                ok(c.get("/api/feeds/" + f)), one(t.srv, "SELECT count(*) FROM item_state"))

    before, d = seen(), somebody(t)
    own = made(t, 2, d, "/own")
    own_before = ok(d.get("/api/subscriptions"))
    rows = [
        ("GET", f"/api/feeds/{f}", None, 404),
        ("DELETE", f"/api/feeds/{f}", None, 404),
        ("PATCH", f"/api/feeds/{f}", {"feed_url": site.url("/x")}, 404),
        ("GET", f"/api/feeds/{f}/items", None, 404),
        ("POST", f"/api/feeds/{f}/read", {}, 404),
        ("POST", f"/api/feeds/{f}/refresh", {}, 404),
        ("GET", f"/api/feeds/{f}/favicon", None, 404),
        ("GET", f"/api/feeds/{f}/fetches", None, 404),
        ("GET", f"/api/items?feed={f}", None, 404),
        ("GET", f"/api/items?category={cat}", None, 404),
        ("POST", "/api/items/read", {"category_id": cat}, 404),
        ("GET", f"/api/items/{i}", None, 404),
        ("PUT", f"/api/items/{i}/state", {"is_read": True}, 404),
        ("PATCH", f"/api/subscriptions/{s['id']}", {"title": "x"}, 404),
        ("DELETE", f"/api/subscriptions/{s['id']}", None, 404),
        ("PUT", f"/api/subscriptions/{s['id']}/settings", {"fetch_interval_minutes": 30}, 404),
        ("POST", f"/api/subscriptions/{s['id']}/resume", {}, 404),
        ("PATCH", f"/api/categories/{cat}", {"title": "x"}, 404),
        ("DELETE", f"/api/categories/{cat}", None, 404),
        ("PATCH", f"/api/subscriptions/{own[3]['id']}", {"category_id": cat}, 400),
    ]
    tested = {(m, p.split("?")[0].replace(f, "{id}").replace(i, "{id}").replace(s["id"], "{id}")
               .replace(cat, "{id}").replace(own[3]["id"], "{id}")) for m, p, _, _ in rows}
    for method, path, body, status in rows:
        a = d(method, path, body)
        same((a.status, method, path), (status, method, path), "somebody else's")
        check(a.json.get("code"), "the error shape", a)
    # These answer for the caller alone.
    same([x["feed_id"] for x in ok(d.get("/api/subscriptions"))], [own[2]], "their feeds")
    same({x["feed_id"] for x in pages(d, "/api/items")}, {own[2]}, "their articles")
    same(pages(d, "/api/items", filter="starred"), [], "their stars")
    same({x["feed_id"] for x in pages(d, "/api/items", search="article")}, {own[2]}, "their searches")
    same(ok(d.get("/api/categories")), [], "their categories")
    same(ok(d("PUT", "/api/items/state", {"ids": [i], "is_read": True})), {"marked": 0, "absent": [i]}, "states")
    same(ok(d.post("/api/feeds/refresh"), 202), {"due": 0}, "none of somebody else's")
    same(ok(d.post("/api/items/read", {})), {"marked": 2}, "theirs alone")
    tested |= {("PUT", "/api/items/state"), ("GET", "/api/subscriptions"), ("GET", "/api/items"), ("GET", "/api/categories"),
               ("POST", "/api/categories"), ("POST", "/api/feeds"), ("POST", "/api/feeds/discover"),
               ("POST", "/api/feeds/refresh")}
    now = seen()
    same(now[:4], before[:4], "nothing of the first one's has changed")
    same(ok(d.get("/api/subscriptions"))[0]["fetch_interval_minutes"], own_before[0]["fetch_interval_minutes"], "nor theirs")
    # No route is left out, and none is open to a program or a stranger.
    routes = set()
    for path, methods in ok(c.get("/openapi.json"))["paths"].items():
        if path.startswith(("/api/feeds", "/api/items", "/api/subscriptions", "/api/categories")):
            path = re.sub(r"\{\w+\}", "{id}", path)
            routes |= {(m.upper(), path) for m in methods if m in ("get", "post", "put", "patch", "delete")}
    same(routes - tested, set(), "routes that are not looked at here")
    key, nobody = t.srv.client(), t.srv.connect()
    for method, path in sorted(routes):
        at = path.replace("{id}", f)
        body = {} if method in ("POST", "PUT", "PATCH") else None
        same(key(method, at, body).status, 403, f"a key: {method} {path}")
        same(nobody(method, at, body).status, 401, f"nobody: {method} {path}")
    same(seen()[:4], before[:4], "still nothing changed")
