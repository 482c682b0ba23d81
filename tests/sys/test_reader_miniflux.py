"""The Miniflux REST API, as newsboat, ReactFlux and the client libraries use it."""
from apps import ICON, JSON, SETTINGS, World, dump, no, opml, outline  # noqa: F401
from feedsite import HTML, change, due, feed, fetches, person, rss
from hk import basic, check, same, until

V1 = "/miniflux/v1"


def put(c, path, body=None):
    return c("PUT", V1 + path, dump(body) if body is not None else b"", JSON)


def post(c, path, body):
    return c("POST", V1 + path, dump(body), JSON)


def titles(page):
    return [e["title"] for e in page["entries"]]


def test_who(t):
    w = World(t.srv, t)
    me = w.mf.get(V1 + "/me").want(200).json
    same(me["username"], w.name, "me")
    by_token = t.srv.connect().get(V1 + "/me", {"X-Auth-Token": w.token}).want(200).json
    same(by_token, me, "the same by token")
    a = no(t.srv.connect().get(V1 + "/me"), 401)
    same(list(a.json), ["error_message"], "Miniflux' error shape")
    no(t.srv.connect(basic(w.name, "wrong")).get(V1 + "/me"), 401)
    same(t.srv.connect().get("/miniflux/healthcheck").want(200).body, b"OK", "alive")
    check(w.mf.get(V1 + "/version").want(200).json["version"] == t.srv.connect().get(
        "/miniflux/version").body.decode(), "one version")
    same(w.mf.get(V1 + "/integrations/status").want(200).json, {"has_integrations": False}, "none")


def test_feeds(t):
    w = World(t.srv, t)
    feeds = w.mf.get(V1 + "/feeds").want(200).json
    same({f["title"]: f["category"]["title"] for f in feeds}, {"alpha": "News", "beta": "All"}, "feeds")
    f = w.mf.get(f"{V1}/feeds/{w.alpha}").want(200).json
    same((f["feed_url"], f["parsing_error_count"]), (w.site.url("/alpha"), 0), "one")
    counters = w.mf.get(V1 + "/feeds/counters").want(200).json
    same(counters["unreads"], {str(w.alpha): 3, str(w.beta): 2}, "unread")
    no(w.mf.get(V1 + "/feeds/999999"), 404)
    no(w.mf.get(V1 + "/feeds/x"), 404)
    f = put(w.mf, f"/feeds/{w.beta}", {"title": "My beta", "category_id": f["category"]["id"]}).want(201).json
    same((f["title"], f["category"]["title"]), ("My beta", "News"), "edited")
    w.mf("PUT", f"{V1}/feeds/{w.beta}/refresh").want(204)
    w.mf("PUT", f"{V1}/feeds/refresh").want(204)
    w.mf.delete(f"{V1}/feeds/{w.beta}").want(204)
    same([f["title"] for f in w.mf.get(V1 + "/feeds").json], ["alpha"], "unsubscribed")
    no(w.mf.delete(f"{V1}/feeds/{w.beta}"), 404)


def test_refresh_of_what_failed(t):
    """One that is named is fetched now, though it is stopped or failed just now; all are those that are not stopped."""
    w = World(t.srv, t)
    a, b = w.site.url("/alpha"), w.site.url("/beta")
    change(t.srv, f"UPDATE feed SET fetch_status = 'stopped', consecutive_errors = 1 WHERE feed_url = '{a}'")
    change(t.srv, "UPDATE feed SET consecutive_errors = 2, next_fetch_at = 9000000000000000, last_fetch_at = 1 "
           f"WHERE feed_url = '{b}'")
    n, m = len(fetches(t.srv, a)), len(fetches(t.srv, b))
    w.mf("PUT", f"{V1}/feeds/refresh").want(204)
    until(lambda: len(fetches(t.srv, b)) > m, "what backs off is among all", 40)
    same((feed(t.srv, a, "fetch_status"), len(fetches(t.srv, a))), (("stopped",), n), "what is stopped is not")
    w.mf("PUT", f"{V1}/feeds/{w.alpha}/refresh").want(204)
    until(lambda: len(fetches(t.srv, a)) > n, "it is when it is named", 40)
    same(feed(t.srv, a, "fetch_status, consecutive_errors"), ("active", "0"), "and goes on")
    w.site.put("/alpha", b"", status=500)
    due(t.srv, a)
    until(lambda: feed(t.srv, a, "consecutive_errors") == ("1",), "it fails", 40)
    w.site.put("/alpha", rss(4, title="Alpha", link=w.site.url("/")))
    w.mf("PUT", f"{V1}/feeds/{w.alpha}/refresh").want(204)
    until(lambda: feed(t.srv, a, "items, consecutive_errors") == ("4", "0"), "at once", 40)


def test_add_a_feed(t):
    w = World(t.srv, t)
    news = [c["id"] for c in w.mf.get(V1 + "/categories").json if c["title"] == "News"][0]
    w.site.put("/page", b'<html><head><link rel="alternate" type="application/rss+xml" href="/gamma">'
               b'<link rel="icon" href="/icon.png"></head></html>', HTML)
    w.site.put("/gamma", rss(1, title="Gamma", link=w.site.url("/page")))
    w.site.put("/icon.png", ICON, "image/png")
    made = post(w.mf, "/feeds", {"feed_url": w.site.url("/page"), "category_id": news}).want(201).json
    f = w.mf.get(f"{V1}/feeds/{made['feed_id']}").want(200).json
    same((f["title"], f["feed_url"], f["category"]["id"]), ("Gamma", w.site.url("/gamma"), news), "found, and put in its place")
    check(f["icon"], "it has an icon", f)
    icon = w.mf.get(f"{V1}/icons/{f['icon']['icon_id']}").want(200).json
    check(icon["data"].startswith(icon["mime_type"] + ";base64,iVBORw0"), "the icon", icon)
    same(w.mf.get(f"{V1}/feeds/{made['feed_id']}/icon").json, icon, "by its feed")
    no(w.mf.get(f"{V1}/feeds/{w.alpha}/icon"), 404)
    a = post(w.mf, "/feeds", {"feed_url": w.site.url("/gamma"), "category_id": news})
    check(a.status >= 400 and a.json["error_message"], "twice", a)
    for body in ({}, {"feed_url": ""}, {"feed_url": "ftp://x/"}, {"feed_url": w.site.url("/none")},
                 {"feed_url": w.site.url("/gamma"), "category_id": "x"}):
        a = post(w.mf, "/feeds", body)
        check(400 <= a.status < 500 and a.json["error_message"], "refused", body, a)
    no(w.mf("POST", V1 + "/feeds", b"{", JSON), 400)


def test_discover(t):
    """What an address names, without adding any of it."""
    w = World(t.srv, t)
    w.site.put("/page", b'<html><head><link rel="alternate" type="application/rss+xml" title="News &amp; more" href="/gamma">'
               b'<link rel="alternate" type="application/atom+xml" href="/atom"></head></html>', HTML)
    w.site.put("/gamma", rss(1, title="Gamma"))
    w.site.put("/moved", b"", status=301, Location="/gamma")
    w.site.put("/json", dump({"version": "https://jsonfeed.org/version/1.1", "title": "J", "items": []}), "application/feed+json")
    w.site.put("/plain", b"<html><body>nothing</body></html>", HTML)
    w.site.put("/picture", ICON, "image/png")
    w.site.put("/broken", b"", status=500)
    u = w.site.url

    def found(path):
        return [(f["url"], f["title"], f["type"]) for f in post(w.mf, "/discover", {"url": u(path)}).want(200).json]

    same(found("/page"), [(u("/atom"), u("/atom"), "atom"), (u("/gamma"), "News & more", "rss")], "a page, best first")
    same(found("/gamma"), [(u("/gamma"), "Gamma", "rss")], "a feed")
    same(found("/moved"), [(u("/gamma"), "Gamma", "rss")], "where it is now")
    same(found("/json"), [(u("/json"), "J", "json")], "JSON")
    same(found("/alpha"), [(u("/alpha"), "Alpha", "rss")], "one that is known")
    same([f["title"] for f in w.mf.get(V1 + "/feeds").json], ["beta", "alpha"], "none was added")
    for path, status in (("/plain", 404), ("/picture", 404), ("/nothing", 500), ("/broken", 500)):
        a = no(post(w.mf, "/discover", {"url": u(path)}), status)
        same(list(a.json), ["error_message"], "Miniflux' error shape")
    w.site.put("/feed", rss(1, title="Usual"))
    same(found("/plain"), [(u("/feed"), "Usual", "rss")], "where feeds often lie")
    for body in ({}, {"url": ""}, {"url": 1}, {"url": "x" * 3000}, []):
        no(post(w.mf, "/discover", body), 400)
    no(post(w.mf, "/discover", {"url": "http://10.1.2.3/"}), 403)
    no(t.srv.connect()("POST", V1 + "/discover", dump({"url": u("/page")}), JSON), 401)


def test_entries(t):
    w = World(t.srv, t)
    page = w.entries(order="published_at", direction="desc", limit=2)
    same((page["total"], titles(page)), (5, ["Article 11", "Article 10"]), "newest first")
    page = w.entries(order="published_at", direction="desc", limit=2, offset=2)
    same(titles(page), ["Article 2", "Article 1"], "on")
    e = page["entries"][0]
    same((e["status"], e["starred"], e["feed"]["title"], e["feed"]["category"]["title"]),
         ("unread", False, "alpha", "News"), "an entry with its feed")
    check("text 2" in e["content"] and e["url"].endswith("a/2") and e["published_at"].startswith("2026-11-10T12:02"), "all of it", e)
    same(w.mf.get(f"{V1}/entries/{e['id']}").want(200).json, e, "by its id")
    same(w.mf.get(f"{V1}/feeds/{w.alpha}/entries/{e['id']}").want(200).json["id"], e["id"], "and by its feed")
    no(w.mf.get(V1 + "/entries/99999999"), 404)
    same(sorted(titles(w.mf.get(f"{V1}/feeds/{w.beta}/entries").want(200).json)), ["Article 10", "Article 11"], "of a feed")
    news = e["feed"]["category"]["id"]
    same(w.mf.get(f"{V1}/categories/{news}/entries").want(200).json["total"], 3, "of a category")
    same(w.entries(category_id=news)["total"], 3, "the same as a filter")
    for words, n in (("article 1", 1), ("ARTICLE 1*", 3), ('"article 10"', 1), ("1 article", 1), ("10 11", 0), ("100%", 0), ("art", 0)):
        same(w.entries(search=words)["total"], n, f"searched by words: {words}")
    same(w.entries(search="article 1*", category_id=news)["total"], 1, "of these only")
    for bad in ("!!", "x" * 501):
        no(w.mf.get(V1 + "/entries", search=bad), 400)
    ids = sorted(x["id"] for x in w.entries(limit=0)["entries"])
    same([x["id"] for x in w.entries(order="id", direction="asc", after_entry_id=ids[1])["entries"]], ids[2:], "after an id")
    same([x["id"] for x in w.entries(order="id", direction="desc", before_entry_id=ids[2])["entries"]], ids[1::-1], "before one")
    noon = 1794312000 + 60 * 1  # 2026-11-10 12:01 UTC
    same(w.entries(published_after=noon)["total"] + w.entries(published_before=noon)["total"], 5, "by date")
    same(w.entries(status="removed")["total"], 0, "nothing is ever removed")
    for bad in ({"status": "x"}, {"order": "x"}, {"direction": "x"}, {"limit": "x"}, {"offset": "-1"}):
        a = no(w.mf.get(V1 + "/entries", **bad), 400)
        check(a.json["error_message"], "in words", a)


def test_changed(t):
    """changed_after and changed_before: what the article or its state changed at, in seconds."""
    srv = t.server()
    w = World(srv, t)
    all_of = w.entries()["entries"]
    change(srv, "UPDATE feed_item SET published_at = 1700000000000000, created_at = 1700000000000000, updated_at = 1700000000000000 "
                  f"WHERE id IN ({', '.join(str(e['id']) for e in all_of)})")
    ids = {e["title"]: e["id"] for e in all_of}
    long_ago = 1700000000
    same(w.entries(changed_after=long_ago)["total"], 0, "nothing since")
    same(w.entries(changed_after=long_ago - 1)["total"], 5, "all since")
    same(w.entries(changed_before=long_ago)["total"], 0, "nothing before")
    same(w.entries(changed_before=long_ago + 1)["total"], 5, "all before")
    put(w.mf, "/entries", {"entry_ids": [ids["Article 1"]], "status": "read"}).want(204)
    change(srv, f"UPDATE feed_item SET updated_at = 1800000000000000 WHERE id = {ids['Article 10']}")
    same(sorted(titles(w.entries(changed_after=long_ago))), ["Article 1", "Article 10"], "a state, an article")
    same(sorted(titles(w.entries(changed_before=long_ago + 1))), ["Article 0", "Article 11", "Article 2"], "the rest")
    no(w.mf.get(V1 + "/entries", changed_after="x"), 400)


def test_states(t):
    w = World(t.srv, t)
    ids = {e["title"]: e["id"] for e in w.entries()["entries"]}
    put(w.mf, "/entries", {"entry_ids": [ids["Article 0"], ids["Article 10"], 99999999], "status": "read"}).want(204)
    put(w.mf, f"/entries/{ids['Article 2']}/bookmark").want(204)
    same(w.state(), {"Article 0": (True, False), "Article 1": (False, False), "Article 2": (False, True),
                     "Article 10": (True, False), "Article 11": (False, False)}, "our own API sees it")
    same(sorted(titles(w.entries(status="unread"))), ["Article 1", "Article 11", "Article 2"], "unread")
    same(titles(w.entries(starred="true")), ["Article 2"], "starred")
    same(w.mf.get(V1 + "/entries?status=read&status=unread").json["total"], 5, "both")
    put(w.mf, "/entries", {"entry_ids": [ids["Article 0"]], "status": "unread"}).want(204)
    put(w.mf, f"/entries/{ids['Article 2']}/bookmark").want(204)
    same(w.state()["Article 2"], (False, False), "the star is off again")
    same(w.entries(status="unread")["total"], 4, "unread again")
    w.mf("PUT", f"{V1}/feeds/{w.alpha}/mark-all-as-read").want(204)
    same(w.entries(status="unread")["total"], 1, "a feed")
    me = w.mf.get(V1 + "/me").json["id"]
    w.mf("PUT", f"{V1}/users/{me}/mark-all-as-read").want(204)
    same(w.entries(status="unread")["total"], 0, "all")
    no(w.mf("PUT", f"{V1}/users/{me + 1000}/mark-all-as-read"), 403)
    for body in ({}, {"entry_ids": []}, {"entry_ids": ["x"], "status": "read"},
                 {"entry_ids": [1], "status": "x"}, {"entry_ids": [1]}, []):
        no(put(w.mf, "/entries", body), 400)
    no(put(w.mf, "/entries", {"entry_ids": list(range(1, 10002)), "status": "read"}), 413)
    no(put(w.mf, "/entries/99999999/bookmark"), 404)


def test_mark_many_read(t):
    """In steps of 2,000, up to what was there when it was asked."""
    w = World(t.srv, t)
    w.site.put("/many", rss(5000, title="Many"))
    many = post(w.mf, "/feeds", {"feed_url": w.site.url("/many")}).want(201).json["feed_id"]
    unread = lambda: w.mf.get(V1 + "/feeds/counters").want(200).json["unreads"]
    until(lambda: unread()[str(many)] == 5000, "all are there", 40)
    late = w.mf.get(f"{V1}/feeds/{many}/entries", limit=1, order="id", direction="desc").json["entries"][0]["id"]
    change(t.srv, f"UPDATE feed_item SET created_at = 9000000000000000 WHERE id = {late}")
    w.mf("PUT", f"{V1}/feeds/{many}/mark-all-as-read").want(204)
    same(unread(), {str(w.alpha): 3, str(w.beta): 2, str(many): 1}, "all of it but what came later")
    w.mf("PUT", f"{V1}/feeds/{many}/mark-all-as-read").want(204)
    same(w.mf.get(V1 + "/entries", status="unread", feed_id=many, order="id", direction="desc", limit=1).json["total"], 1, "again")
    no(w.mf("PUT", f"{V1}/feeds/99999999/mark-all-as-read"), 404)
    no(w.mf("PUT", f"{V1}/feeds/x/mark-all-as-read"), 404)


def test_categories(t):
    w = World(t.srv, t)
    cats = w.mf.get(V1 + "/categories", counts="true").want(200).json
    same({c["title"]: (c["feed_count"], c["total_unread"]) for c in cats}, {"All": (1, 2), "News": (1, 3)}, "counted")
    made = post(w.mf, "/categories", {"title": "Tech"}).want(201).json
    same(made["title"], "Tech", "made")
    check(post(w.mf, "/categories", {"title": "Tech"}).status in (400, 409), "twice")
    no(post(w.mf, "/categories", {}), 400)
    same(put(w.mf, f"/categories/{made['id']}", {"title": "Tech 2"}).want(201).json["title"], "Tech 2", "renamed")
    put(w.mf, f"/feeds/{w.beta}", {"category_id": made["id"]}).want(201)
    same([f["id"] for f in w.mf.get(f"{V1}/categories/{made['id']}/feeds").want(200).json], [w.beta], "its feeds")
    w.mf("PUT", f"{V1}/categories/{made['id']}/mark-all-as-read").want(204)
    same(w.mf.get(V1 + "/feeds/counters").json["unreads"][str(w.beta)], 0, "read")
    w.mf.delete(f"{V1}/categories/{made['id']}").want(204)
    no(w.mf.delete(f"{V1}/categories/{made['id']}"), 404)
    same([f["category"]["title"] for f in w.mf.get(V1 + "/feeds").json if f["id"] == w.beta], ["All"], "the feed stays")


def test_opml(t):
    w = World(t.srv, t)
    xml = w.mf.get(V1 + "/export").want(200).body
    check(w.site.url("/alpha").encode() in xml, "out", xml)
    w.mf("POST", V1 + "/import", opml(outline(w.site.url("/delta"), "delta")), {"Content-Type": "application/xml"}).want(201)
    check("delta" in [f["title"] for f in w.mf.get(V1 + "/feeds").json], "in")


def test_nobody_elses(t):
    w, other = World(t.srv, t), World(t.srv, t)
    ids = [e["id"] for e in other.entries()["entries"]]
    mine = {e["id"] for e in w.entries()["entries"]}
    for i in ids:
        if i not in mine:
            no(w.mf.get(f"{V1}/entries/{i}"), 404)
            no(put(w.mf, f"/entries/{i}/bookmark"), 404)
    put(w.mf, "/entries", {"entry_ids": ids, "status": "read"}).want(204)
    same(other.entries(status="unread")["total"], 5, "nothing of theirs changed")
    no(w.mf.get(f"{V1}/feeds/{other.alpha}/entries"), 404)
    no(w.mf("PUT", f"{V1}/feeds/{other.alpha}/mark-all-as-read"), 404)
    same(other.entries(status="unread")["total"], 5, "nor by their feed")
