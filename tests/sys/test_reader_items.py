"""Articles: lists, filters, states, identity, search, cleanup (seed 002, 4 to 7, 14.1)."""
import random
import time

import hk
from hk import check, same, until
from readers import (SETTINGS, Site, add, article, execute, ok, one, pages, person, put, put_state,
                     refetch, wrong_field)

SUMMARY = {"id", "feed_id", "title", "link", "published_at", "is_date_estimated", "is_read",
           "is_starred", "hatebu_count", "author", "excerpt", "thumbnail"}


def feed_of(t, items, path="/f", site=None, c=None, srv=None):
    site = site or Site(t)
    put(site, path, items)
    c = c or person(srv or t.srv, "p" + hk.new_id()[:8])
    return site, c, add(c, site.url(path))["id"]


def titles(items):
    return [i["title"] for i in items]


def test_4_1_newest_first(t):
    order = list(range(120))
    random.Random(1).shuffle(order)
    _, c, f = feed_of(t, [article(i) for i in order])
    got = pages(c, f"/api/feeds/{f}/items")
    same(titles(got), [f"Article {i}" for i in range(119, -1, -1)], "by published_at, newest first")
    same(set(got[0]), SUMMARY, "what an article of a list has")
    same(got[0]["hatebu_count"], None, "not fetched yet")
    same(got[0]["feed_id"], f, "feed_id")
    same(titles(pages(c, "/api/items")), titles(got), "all feeds, which is one")


def test_4_1_same_date(t):
    _, c, f = feed_of(t, [article(i, date_published="2026-01-01T00:00:00Z") for i in range(103)])
    got = pages(c, f"/api/feeds/{f}/items")
    same(sorted(titles(got)), sorted(f"Article {i}" for i in range(103)), "each one once")
    same(titles(pages(c, "/api/items")), titles(got), "all feeds")


def test_4_2_estimated_dates(t):
    far = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3 * 86400))
    site, c, f = feed_of(t, [{"id": "1", "title": "none"}, {"id": "2", "title": "far", "date_published": far},
                             article(3)])
    got = {i["title"]: i for i in pages(c, f"/api/feeds/{f}/items")}
    for name in ("none", "far"):
        check(got[name]["is_date_estimated"], f"{name} is estimated", got[name])
        check(abs(hk_time(got[name]["published_at"]) - time.time()) < 300, "it is fetched_at", got[name])
    check(not got["Article 3"]["is_date_estimated"], "this one is known")
    put(site, "/f", [{"id": "1", "title": "none, changed"}, article(3)])
    refetch(t.srv, site, "/f")
    now = {i["title"]: i for i in pages(c, f"/api/feeds/{f}/items")}
    same(now["none, changed"]["published_at"], got["none"]["published_at"], "the first estimate stays")


def hk_time(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_4_3_fifty_and_a_place_that_stays(t):
    site, c, f = feed_of(t, [article(i) for i in range(80)])
    first = ok(c.get(f"/api/feeds/{f}/items"))
    same((len(first["items"]), first["has_more"]), (50, True), "the first page")
    put(site, "/f", [article(i) for i in range(90)])
    refetch(t.srv, site, "/f")
    rest = ok(c.get(f"/api/feeds/{f}/items", cursor=first["next_cursor"]))
    same(titles(rest["items"]), [f"Article {i}" for i in range(29, -1, -1)], "goes on where it was")
    check("next_cursor" not in rest and rest["has_more"] is False, "the end", rest)


def test_4_3_bad_cursor_and_filter(t):
    _, c, f = feed_of(t, [article(i) for i in range(60)])
    path = f"/api/feeds/{f}/items"
    cursor = ok(c.get(path))["next_cursor"]
    for bad in ("x", cursor[:-1], cursor[:-1] + ("A" if cursor[-1] != "A" else "B"), cursor.swapcase(), "=" * 28):
        wrong_field(c.get(f"{path}?cursor={bad}"), "cursor")
        wrong_field(c.get(f"/api/items?cursor={bad}"), "cursor")
    same(c.get(path + "?cursor=" + "%00" * 28).status, 400, "NUL")
    wrong_field(c.get(path, filter="none"), "filter")
    wrong_field(c.get("/api/items", filter="ALL"), "filter")
    wrong_field(c.get(path, limit=5), "limit")
    wrong_field(c.get("/api/items", search="a", cursor=cursor), "cursor")
    same(len(ok(c.get(path, cursor=""))["items"]), 50, "an empty cursor is none")


def test_4_4_4_7_an_article(t):
    html = '<p onclick="x()">Hi <a href="https://e.x/">there</a></p><script>alert(1)</script>'
    _, c, f = feed_of(t, [article(1, content_html=html, summary="sum & more", tags=["x", "y"],
                                  authors=[{"name": "Ann"}],
                                  attachments=[{"url": "https://e.x/a.mp3", "mime_type": "audio/mpeg",
                                                "size_in_bytes": 5}])])
    i = pages(c, f"/api/feeds/{f}/items")[0]
    d = ok(c.get("/api/items/" + i["id"]))
    same({k: d[k] for k in SUMMARY}, i, "the summary is in it")
    same(d["content"], '<p>Hi <a href="https://e.x/" target="_blank" rel="noopener noreferrer">there</a></p>', "clean")
    same((d["author"], d["categories"], d["link"]), ("Ann", ["x", "y"], "https://example.com/1"), "the rest")
    same(d["enclosures"], [{"url": "https://e.x/a.mp3", "type": "audio/mpeg", "length": 5}], "enclosures")
    for bad in ("nope", hk.new_id()):
        same(c.get("/api/items/" + bad).status, 404, bad)


def test_lists_show_what_a_line_needs(t):
    """U22: excerpt, author and picture stand in lists, whichever way they are made."""
    html = "<h1>A &amp; B</h1><p>" + "words \u00e9 " * 400 + "</p><script>no()</script>"
    pic = "https://example.com/p.png"
    site, c, f = feed_of(t, [article(2, content_html=html, authors=[{"name": "Ann"}], image=pic),
                             article(1, summary="short <b>one</b>", content_html=html), article(0)])
    want = [("Ann", ("A & B " + "words \u00e9 " * 400)[:300], pic), ("", "short <b>one</b>", None), ("", "", None)]
    for path, query in ((f"/api/feeds/{f}/items", {}), ("/api/items", {}), ("/api/items", {"order": "oldest"})):
        got = [(i["author"], i["excerpt"], i["thumbnail"]) for i in pages(c, path, **query)]
        same(got[::-1] if query else got, want, f"{path} {query}")
    put(site, "/f", [article(2, summary="another")])
    refetch(t.srv, site, "/f")
    i = pages(c, "/api/items")[0]
    same((i["author"], i["excerpt"], i["thumbnail"]), ("", "another", None), "as the article now is")
    d = ok(c.get("/api/items/" + i["id"]))
    same({k: d[k] for k in SUMMARY}, i, "and where it is shown whole")


def test_5_1_5_2_5_3_filters(t):
    _, c, f = feed_of(t, [article(i) for i in range(130)])
    path = f"/api/feeds/{f}/items"
    all_ = pages(c, path)
    read = {i["id"] for i in all_ if int(i["title"].split()[1]) % 2}
    stars = {i["id"] for i in all_ if int(i["title"].split()[1]) % 3 == 0}
    for i in all_:
        if i["id"] in read or i["id"] in stars:
            ok(put_state(c, i["id"], is_read=i["id"] in read, is_starred=i["id"] in stars))
    for where in (path, "/api/items"):
        same(len(pages(c, where, filter="all")), 130, "all")
        unread = pages(c, where, filter="unread")
        same([i["id"] for i in unread], [i["id"] for i in all_ if i["id"] not in read], "unread, in order")
        check(not any(i["is_read"] for i in unread), "none is read")
        starred = pages(c, where, filter="starred")
        same([i["id"] for i in starred], [i["id"] for i in all_ if i["id"] in stars], "starred, in order")
        check(all(i["is_starred"] for i in starred), "all are starred")
    same([s["unread_count"] for s in ok(c.get("/api/subscriptions"))], [130 - len(read)], "unread_count")


def test_4_5_6_1_6_2_6_3_states(t):
    _, c, f = feed_of(t, [article(1)])
    i = pages(c, f"/api/feeds/{f}/items")[0]["id"]
    me = ok(c.get("/api/subscriptions"))[0]["user_id"]
    a = ok(put_state(c, i, is_read=True))
    same({k: a[k] for k in ("user_id", "item_id", "is_read", "is_starred")},
         {"user_id": me, "item_id": i, "is_read": True, "is_starred": False}, "ItemState")
    time.sleep(0.01)
    same(ok(put_state(c, i, is_read=True)), a, "the same again is the same")
    b = ok(put_state(c, i, is_starred=True))
    check(b["is_read"] and b["is_starred"] and b["updated_at"] > a["updated_at"], "read stays", b)
    same(ok(put_state(c, i)), b, "nothing given, nothing changed")
    d = ok(put_state(c, i, is_read=False))
    check(not d["is_read"] and d["is_starred"], "the star stays", d)
    same(one(t.srv, "SELECT count(*) FROM item_state s JOIN feed_item i ON i.id = s.item_id "
                    f"WHERE {uid(t, i)}"), "1", "one row")
    wrong_field(put_state(c, i, read=True), "read")
    wrong_field(put_state(c, i, is_read=1), "is_read")
    wrong_field(put_state(c, i, is_starred=None), "is_starred")
    same(c("PUT", f"/api/items/{i}/state", b"{").status, 400, "no JSON")
    same(put_state(c, hk.new_id(), is_read=True).status, 404, "no such article")
    same(ok(c.get("/api/items/" + i))["is_starred"], True, "seen there")

def test_states_of_many(t):
    """U25: what one marks at once, or takes back, is one call, which no limit of calls counts."""
    _, c, f = feed_of(t, [article(i) for i in range(60)])
    _, d, _ = feed_of(t, [article(i) for i in range(2)], "/other")
    path = "/api/items/state"
    mine = [i["id"] for i in pages(c, f"/api/feeds/{f}/items")]
    other, none = pages(d, "/api/items")[0]["id"], hk.new_id()
    a = ok(c("PUT", path, {"ids": mine[:51] + [other, none], "is_read": True}))
    same(a, {"marked": 51, "absent": [other, none]}, "what was marked, and what is not theirs")
    same(ok(c("PUT", path, {"ids": mine[50:52], "is_starred": True}))["marked"], 2, "stars")
    got = {i["id"]: (i["is_read"], i["is_starred"]) for i in pages(c, "/api/items")}
    same(got, {i: (n < 51, n in (50, 51)) for n, i in enumerate(mine)}, "what is not given stays")
    ok(c("PUT", path, {"ids": mine, "is_read": False, "is_starred": False}))
    same({(i["is_read"], i["is_starred"]) for i in pages(c, "/api/items")}, {(False, False)}, "taken back")
    check(not any(i["is_read"] for i in pages(d, "/api/items")), "others have what they had")
    for body, field in (({"ids": mine}, "is_read"), ({"is_read": True}, "ids"), ({"ids": [], "is_read": True}, "ids"),
                        ({"ids": [none] * 1001, "is_read": True}, "ids"), ({"ids": [7], "is_read": True}, "ids/0"),
                        ({"ids": mine, "is_read": 1}, "is_read"), ({"ids": mine, "is_starred": None}, "is_starred"),
                        ({"ids": mine, "is_read": True, "x": 1}, "x")):
        check("for all" not in wrong_field(c("PUT", path, body), field)["message"], "nothing means all", body)
    same(ok(c("PUT", path, {"ids": [none] * 1000, "is_read": True}))["marked"], 0, "a thousand")
    limited = t.server(**{**SETTINGS, "RATE_LIMIT_GENERAL": "10"})
    p = person(limited)
    for _ in range(30):
        same(p("PUT", path, {"ids": [none], "is_read": True}).status, 200, "as often as one likes")


def uid(t, item, column="i.uid"):
    h = item.replace("-", "")
    return f"{column} = decode('{h}', 'hex')" if t.srv.url else f"{column} = x'{h}'"


def test_7_1_7_2_identity_over_fetches(t):
    day = "2026-01-01T00:00:00Z"
    site, c, f = feed_of(t, [
        {"id": "g", "url": "https://e.x/g", "title": "by guid"},
        {"id": "old", "url": "https://e.x/l", "title": "by link"},
        {"id": "h", "url": "http://e.x/h", "title": "by hash", "summary": "s", "date_published": day}])
    path = f"/api/feeds/{f}/items"
    before = {i["title"]: i["id"] for i in pages(c, path)}
    for i in before.values():
        ok(put_state(c, i, is_read=True))
    put(site, "/f", [
        {"id": "g", "url": "https://e.x/other", "title": "by guid!"},
        {"id": "new", "url": "https://e.x/l", "title": "by link!"},
        {"id": "h2", "url": "https://e.x/h2", "title": "by hash", "summary": "s", "date_published": day}])
    refetch(t.srv, site, "/f")
    after = {i["title"].rstrip("!"): i for i in pages(c, path)}
    same({k: v["id"] for k, v in after.items()}, before, "the same articles")
    check(all(i["is_read"] for i in after.values()), "still read", after)
    same(titles([after["by guid"]]), ["by guid!"], "7.2: overwritten")
    types = [e for e in t.srv.client().events() if e["payload"].get("feed", {}).get("id") == f]
    same([e["eventType"] for e in types], ["feed.item.created"] * 3 + ["feed.item.updated"] * 3, "events")
    same({e["payload"]["item"]["id"] for e in types}, set(before.values()), "of these articles")
    e = types[-1]
    same(e["sequence"]["partitionKey"], f, "the key is the feed")
    check(e["sequence"]["recordVersion"] and e["payload"]["feed"]["url"] == site.url("/f"), "payload", e)
    n = len(types)
    refetch(t.srv, site, "/f")
    same(len([e for e in t.srv.client().events() if e["payload"].get("feed", {}).get("id") == f]), n,
         "what did not change is no event")


def test_7_1_a_large_feed(t):
    """More than one commit takes; each article is one event, where these are wanted of what was there before."""
    srv = t.server(READER_EVENTS_FIRST="2500", **SETTINGS)
    site, c, f = feed_of(t, [article(i, content_text="word " * 20) for i in range(2500)], srv=srv)
    same(len(pages(c, f"/api/feeds/{f}/items")), 2500, "all are there")
    n = [e["payload"]["item"]["guid"] for e in srv.client().events(type="feed.item.created")
         if e["payload"]["feed"]["id"] == f]
    same(len(n), 2500, "an event each")
    same(n, [f"a{i}" for i in range(2500)], "oldest first")


def test_events_pass_strict_mode(t):
    srv = t.server(**SETTINGS, EVENT_SCHEMA_MODE="strict")
    _, _, f = feed_of(t, [article(1)], srv=srv)
    same([e["eventType"] for e in srv.client().events()], ["feed.item.created"], "the event")


def test_unread_counts_by_brute_force(t):
    rnd, site = random.Random(7), Site(t)
    c = person(t.srv, "p" + hk.new_id()[:8])
    feeds = []
    for k in range(3):
        put(site, f"/u{k}", [article(100 * k + i) for i in range(40)])
        feeds.append(add(c, site.url(f"/u{k}"))["id"])
    for round_ in range(6):
        ids = [i["id"] for i in pages(c, "/api/items")]
        for i in rnd.sample(ids, 15):
            ok(put_state(c, i, is_read=rnd.random() < 0.7, is_starred=rnd.random() < 0.3))
        if round_ == 2:
            put(site, "/u1", [article(100 + i, title=f"changed {i}") for i in range(55)])
            refetch(t.srv, site, "/u1")
        if round_ == 4:
            ok(c.post(f"/api/feeds/{feeds[2]}/read", {}))
        subs = {s["feed_id"]: s["unread_count"] for s in ok(c.get("/api/subscriptions"))}
        for f in feeds:
            got = pages(c, f"/api/feeds/{f}/items")
            same(subs[f], sum(not i["is_read"] for i in got), f"round {round_}")
            same(len(pages(c, f"/api/feeds/{f}/items", filter="unread")), subs[f], "the list says so too")


def test_mark_all_read(t):
    site, c, f = feed_of(t, [article(i) for i in range(70)])
    page = ok(c.get(f"/api/feeds/{f}/items"))
    put(site, "/f", [article(i) for i in range(75)])
    refetch(t.srv, site, "/f")
    same(ok(c.post(f"/api/feeds/{f}/read", {"as_of": page["as_of"]})), {"marked": 70}, "what was there then")
    same(titles(pages(c, f"/api/feeds/{f}/items", filter="unread")),
         [f"Article {i}" for i in range(74, 69, -1)], "what came in since is unread")
    same(ok(c.post(f"/api/feeds/{f}/read", {"as_of": page["as_of"]})), {"marked": 0}, "again")
    same(ok(c.post("/api/items/read", {})), {"marked": 5}, "all of it")
    wrong_field(c.post("/api/items/read", {"as_of": "x"}), "as_of")
    wrong_field(c.post("/api/items/read", {"feed": "x"}), "feed")
    same(c.post("/api/items/read", {"category_id": hk.new_id()}).status, 404, "no such category")
    same(c.post(f"/api/feeds/{hk.new_id()}/read", {}).status, 404, "no such feed")


def test_mark_many_read(t):
    """More than one step."""
    _, c, f = feed_of(t, [article(i) for i in range(4500)])
    same(ok(c.post(f"/api/feeds/{f}/read", {})), {"marked": 4500}, "all")
    same(ok(c.get(f"/api/feeds/{f}/items", filter="unread"))["items"], [], "none left")


def test_all_feeds_and_categories(t):
    site = Site(t)
    c = person(t.srv, "p" + hk.new_id()[:8])
    put(site, "/a", [article(2 * i, title=f"A {i}") for i in range(60)])
    put(site, "/b", [article(2 * i + 1, title=f"B {i}") for i in range(60)])
    a, b = add(c, site.url("/a"))["id"], add(c, site.url("/b"))["id"]
    got = pages(c, "/api/items")
    same(titles(got), [f"{x} {i}" for i in range(59, -1, -1) for x in "BA"], "both, merged by date")
    cat = ok(c.post("/api/categories", {"title": "news"}), 201)["id"]
    subs = {s["feed_id"]: s["id"] for s in ok(c.get("/api/subscriptions"))}
    same(ok(c("PATCH", "/api/subscriptions/" + subs[a], {"category_id": cat}))["category_id"], cat, "in it")
    same({i["feed_id"] for i in pages(c, "/api/items", category=cat)}, {a}, "its feeds alone")
    same({i["feed_id"] for i in pages(c, "/api/items", feed=b)}, {b}, "by feed")
    same(ok(c.post("/api/items/read", {"category_id": cat})), {"marked": 60}, "all of a category")
    same({i["feed_id"] for i in pages(c, "/api/items", filter="unread")}, {b}, "the other is unread")
    ok(put_state(c, got[1]["id"], is_starred=True))
    same(len(pages(c, "/api/items", filter="starred", category=cat)), 1, "starred of a category")
    wrong_field(c.get("/api/items", category="x"), "category")
    wrong_field(c.get("/api/items", feed="x"), "feed")
    wrong_field(c.get("/api/items", feed=a, category=cat), "category")
    same(c.get("/api/items", category=hk.new_id()).status, 404, "not mine")


def test_unique(t):
    site = Site(t)
    c = person(t.srv, "p" + hk.new_id()[:8])
    put(site, "/a", [article(1, url="https://e.x/1?utm_source=a"), article(2, url="https://e.x/2")])
    put(site, "/b", [article(11, url="http://www.e.x/1/"), article(12, url="https://e.x/3")])
    add(c, site.url("/a")), add(c, site.url("/b"))
    same(len(pages(c, "/api/items")), 4, "all")
    same(sorted(i["link"] for i in pages(c, "/api/items", unique="true")),
         ["https://e.x/1?utm_source=a", "https://e.x/2", "https://e.x/3"], "once, where it came first")
    wrong_field(c.get("/api/items", unique="yes"), "unique")


SEARCHES = [
    ("quick", ["en"]), ("QUICK brown", ["en"]), ("brown quick", ["en"]), ('"quick brown"', ["en"]),
    ('"brown quick"', []), ("qui", []), ("qui*", ["en"]), ("quick -", ["en"]), ("lazy-dog", ["en"]),
    ("ann", ["en"]), ("東京", ["ja"]), ("東", ["ja"]), ("京都", ["zh"]), ("東京タワー", ["ja"]), ("都", ["zh"]),
    ("北京大学", ["zh"]), ("京大", ["zh"]), ("京 大", ["zh"]), ("タワー", ["ja"]), ("ＱＵＩＣＫ", ["en"]), ("ﾀﾜｰ", ["ja"]),
    ("école", ["fr"]), ("ÉCOLE", ["fr"]), ("ecole", ["fr"]), ("e\u0301cole", ["fr"]), ("script", []), ("onclick", []), ("amp", []),
    ("quick 東京", []), ("foobar", ["fr"]), ("привет", ["ru"]), ("МИР", ["ru"]), ("한국", ["ko"]), ("fox jumps", ["en"]), ('"fox jumps"', []),
    ("quick -fox", []), ("quick -cat", ["en"]), ('quick -"brown fox"', []), ('quick -"fox brown"', ["en"]),
    ("-quick -東京 -京都", ["fr", "ko", "ru"]), ("fox -qui*", []), ("", ["en", "fr", "ja", "ko", "ru", "zh"]),
    ("  ", ["en", "fr", "ja", "ko", "ru", "zh"]),
]


def test_search(t):
    texts = {
        "en": dict(title="The quick brown fox", content_html="<p>jumps over the lazy dog &amp; more</p>",
                   authors=[{"name": "Ann Other"}]),
        "ja": dict(title="東京タワーに行く", content_html="<p>今日は関東で雨</p>"),
        "zh": dict(title="北京大学", content_html="<p>我爱京都</p>"),
        "fr": dict(title="L'École", content_html="<p>foo<em>bar</em></p><script>script</script>"),
        "ru": dict(title="Привет, мир"),
        "ko": dict(title="한국어"),
    }
    items = [article(i, **v, _k=k) for i, (k, v) in enumerate(texts.items())]
    keys = {i["title"]: i["_k"] for i in items}
    site, c, f = feed_of(t, items)
    wrong_ones = []
    for q, want in SEARCHES:
        got = sorted(keys[i["title"]] for i in pages(c, "/api/items", search=q))
        if got != sorted(want):
            wrong_ones.append((q, got, want))
    same(wrong_ones, [], "searches")
    # What is changed is found by what it is, not by what it was.
    put(site, "/f", [article(0, title="A slow red fox")] + items[1:])
    refetch(t.srv, site, "/f")
    same(titles(pages(c, "/api/items", search="quick")), [], "no longer")
    same(titles(pages(c, "/api/items", search="slow fox")), ["A slow red fox"], "now")
    i = pages(c, "/api/items", search="slow")[0]["id"]
    ok(put_state(c, i, is_read=True))
    same(pages(c, "/api/items", search="slow", filter="unread"), [], "with a filter")
    same(len(pages(c, "/api/items", search="slow", feed=f)), 1, "of a feed")
    other = person(t.srv, "p" + hk.new_id()[:8])
    same(pages(other, "/api/items", search="fox"), [], "only in feeds that one has")


def test_search_hostile(t):
    _, c, _ = feed_of(t, [article(1, title="plain words here")])
    for q in ("'", '"', '""', "*", "(", ")", "a OR", "NEAR(", "a AND", ":*", "a:b", "\\", "'a' & !b", "{x}:y", "-", "^a",
              "terms:x", "a\"b\"*c", "&", "!", "<->", "%", "\u0000", "\ufeff", "\u200b", "a" * 499, "é" * 250, "x*" * 240,
              '"a b', "--", "; DROP TABLE feed", "\t\n", "😀", "\U0010ffff"):
        a = c.get("/api/items", search=q)
        check(a.status in (200, 400), f"{q!r} is a search or no word", a)
    wrong_field(c.get("/api/items", search="!!"), "search")
    wrong_field(c.get("/api/items", search="a " * 40), "search")
    wrong_field(c.get("/api/items", search="a" * 501), "search")
    same(titles(pages(c, "/api/items", search="'plain' & (words)")), ["plain words here"], "signs are nothing")


def test_search_pages(t):
    _, c, _ = feed_of(t, [article(i, title=f"word {i}") for i in range(130)])
    got = pages(c, "/api/items", search="word")
    same(sorted(titles(got)), sorted(f"word {i}" for i in range(130)), "each once")
    same([i["id"] for i in pages(c, "/api/items", search="word", order="oldest")],
         [i["id"] for i in reversed(got)], "from the other end")


def test_many_feeds(t):
    """A page of many feeds is that of their articles together, from both ends and with all filters."""
    site, c = Site(t), person(t.srv, "p" + hk.new_id()[:8])
    for f in range(26):  # some feeds are long, some short
        feed_of(t, [article(f * 100 + k, id=f"{f}-{k}", title=f"{k} of {f}",
                            date_published=f"2026-03-{1 + (f * 7 + k * 3) % 28:02}T{k % 24:02}:{f:02}:00Z")
                    for k in range(30 if f < 5 else 8)], path=f"/{f}", site=site, c=c)
    got = pages(c, "/api/items")
    same(len(got), 5 * 30 + 21 * 8, "all of them")
    keys = [i["published_at"] for i in got]
    same(keys, sorted(keys, reverse=True), "newest first")
    same(len({i["id"] for i in got}), len(got), "each once")
    same([i["id"] for i in pages(c, "/api/items", order="oldest")], [i["id"] for i in reversed(got)], "oldest first")
    for i in got[::2]:
        ok(put_state(c, i["id"], is_read=True))
    left = [i["id"] for i in got[1::2]]
    same([i["id"] for i in pages(c, "/api/items", filter="unread")], left, "unread")
    same([i["id"] for i in pages(c, "/api/items", filter="unread", order="oldest")], left[::-1], "and oldest first")
    f = got[3]["feed_id"]
    same([i["id"] for i in pages(c, f"/api/feeds/{f}/items", order="oldest")],
         [i["id"] for i in reversed(got) if i["feed_id"] == f], "of a feed, oldest first")
    wrong_field(c.get("/api/items", order="random"), "order")


def test_words_of_before(t):
    """Articles that an older version stored are found as new ones are, once their words are cut anew."""
    srv = t.server(**SETTINGS)
    _, c, _ = feed_of(t, [article(i, title=f"L'École {i}") for i in range(70)], srv=srv)
    execute(srv, "DELETE FROM item_terms")
    execute(srv, "INSERT INTO item_terms SELECT id, array_to_tsvector(ARRAY['école']) FROM feed_item"
            if srv.url else "INSERT INTO item_terms (rowid, terms) SELECT id, 'école' FROM feed_item")
    same(pages(c, "/api/items", search="ecole"), [], "not found by what they would be today")
    execute(srv, "INSERT INTO item_reterm (one, upto) SELECT 1, max(id) FROM feed_item")
    srv.restart()
    until(lambda: len(pages(c, "/api/items", search="ecole -ecolo")) == 70, "found", 60)
    until(lambda: one(srv, "SELECT count(*) FROM item_reterm") == "0", "and nothing is left to do", 30)


def test_14_1_old_articles_go(t):
    srv = t.server(**SETTINGS, READER_RETENTION="40s")
    site, c, f = feed_of(t, [article(i, title=f"keep{i} word") for i in range(6)], srv=srv)
    path = f"/api/feeds/{f}/items"
    ids = {i["title"]: i["id"] for i in pages(c, path)}
    ok(put_state(c, ids["keep1 word"], is_starred=True, is_read=True))
    ok(put_state(c, ids["keep2 word"], is_read=True))
    execute(srv, "UPDATE feed_item SET created_at = created_at - 100000000 WHERE title <> 'keep5 word'")
    until(lambda: len(pages(c, path)) == 2, "the old ones are gone", 30)
    same(sorted(titles(pages(c, path))), ["keep1 word", "keep5 word"], "the starred and the young stay")
    same(one(srv, "SELECT count(*) FROM item_state"), "1", "their states are gone")
    same(sorted(titles(pages(c, "/api/items", search="word"))), ["keep1 word", "keep5 word"], "the search knows")
    same(ok(c.get("/api/subscriptions"))[0]["unread_count"], 1, "unread_count")
    same(one(srv, "SELECT items FROM feed"), "2", "the feed's count")
    n = len(srv.client().events(type="feed.item.created"))
    put(site, "/f", [article(i, title=f"keep{i} word!") for i in range(7)])
    refetch(srv, site, "/f")
    check("keep2 word!" not in titles(pages(c, path)), "what is still in the feed does not come back")
    same(len(srv.client().events(type="feed.item.created")), n + 1, "one new one")
    same(one(srv, "SELECT count(*) FROM feed_tombstone"), "4", "tombstones stay while it is shown")
    put(site, "/f", [article(6, title="keep6 word!")])
    refetch(srv, site, "/f")
    same(one(srv, "SELECT count(*) FROM feed_tombstone"), "0", "and go with it")


def test_kill_loses_nothing(t):
    srv = t.server(**SETTINGS)
    _, c, f = feed_of(t, [article(i) for i in range(20)], srv=srv)
    i = pages(c, f"/api/feeds/{f}/items")[0]["id"]
    ok(put_state(c, i, is_read=True, is_starred=True))
    srv.kill9()
    srv.start()
    got = pages(c, f"/api/feeds/{f}/items")
    same((len(got), got[0]["is_read"], got[0]["is_starred"]), (20, True, True), "what was answered")
