"""Adding feeds: POST /api/feeds, PATCH /api/feeds/{id} (seed 002, 2.1 to 2.8, 12.1, 12.2)."""
import threading

from feedsite import HTML, PNG, SETTINGS, Site, add, atom, change, feed, fetches, person, rss, wrong
from hk import check, same, until


def test_2_1_a_feed_by_its_address(t):
    s, c = Site(t), person(t.srv)
    s.put("/one.xml", rss(3, "One"), etag='"v1"')
    j = add(c, s.url("/one.xml"))
    same(j["feed_url"], s.url("/one.xml"), "feed_url")
    same(j["title"], "One", "title")
    same(j["fetch_status"], "active", "fetch_status")
    check("favicon_data" not in j and "favicon_url" in j, "no bytes of the icon", j)
    same(feed(t.srv, s.url("/one.xml"), "etag, subscribers, items"), ('"v1"', "1", "3"), "row")
    same([f[0] for f in fetches(t.srv, s.url("/one.xml"))], ["updated"], "the fetch is kept")
    types = [e["eventType"] for e in t.srv.client().events()]
    same(types.count("feed.item.created"), 3, "an event for each article, at once")


def test_already_subscribed_leads_there(t):
    """U24: the error names the feed, by its own address, by a page, and when one is moved."""
    s, c = Site(t), person(t.srv)
    s.put("/twice.xml", rss(1, "Twice"))
    s.put("/twice", b"<link rel=alternate type=application/rss+xml href=/twice.xml>", HTML)
    s.put("/once.xml", rss(1, "Once"))
    f, other = add(c, s.url("/twice.xml"))["id"], add(c, s.url("/once.xml"))["id"]
    for path in ("/twice.xml", "/twice"):
        same(wrong(c.post("/api/feeds", {"url": s.url(path)}), 409, "ALREADY_SUBSCRIBED")["feed_id"], f, path)
    a = c("PATCH", f"/api/feeds/{other}", {"feed_url": s.url("/twice.xml")})
    same(wrong(a, 409, "ALREADY_SUBSCRIBED")["feed_id"], f, "moved")
    a = c.post("/api/feeds", {"url": "http://10.0.0.1/"})
    check("feed_id" not in wrong(a, 422, "URL_REFUSED"), "no other error has one", a)


def test_added_into_a_category(t):
    """U24: a feed is added where it is to be; a category that is not one's own is refused before anything is asked."""
    s, c, d = Site(t), person(t.srv), person(t.srv, "carla")
    s.put("/in.xml", rss(1, "In"))
    s.put("/out.xml", rss(1, "Out"))
    mine, theirs = (x.post("/api/categories", {"title": "Here"}).want(201).json["id"] for x in (c, d))
    for bad in (theirs, "x", 7):
        j = wrong(c.post("/api/feeds", {"url": s.url("/in.xml"), "category_id": bad}), 400, "INVALID_FIELD")
        same(j["fields"][0]["field"], "category_id", "the field")
    same(len(s.at("/in.xml")), 0, "nothing was asked for")
    for path, category in (("/in.xml", mine), ("/out.xml", None)):
        f = c.post("/api/feeds", {"url": s.url(path), "category_id": category}).want(201).json["id"]
        sub = [x for x in c.get("/api/subscriptions").json if x["feed_id"] == f][0]
        same(sub["category_id"], category, path)


def test_discover_adds_nothing(t):
    """U24: what an address offers, to choose from."""
    s, c = Site(t), person(t.srv, "dora")
    s.put("/d", b'<link rel=alternate type=application/rss+xml href=/d.xml title="Posts">'
          b"<link rel=alternate type=application/atom+xml href=/d.atom>", HTML)
    s.put("/d.xml", rss(1, "D"))
    s.put("/none", b"<p>nothing", HTML)
    found = c.post("/api/feeds/discover", {"url": s.url("/d")}).want(200).json["feeds"]
    same(sorted((f["url"], f["title"], f["type"]) for f in found),
         [(s.url("/d.atom"), s.url("/d.atom"), "atom"), (s.url("/d.xml"), "Posts", "rss")], "what a page names")
    same(c.post("/api/feeds/discover", {"url": s.url("/d.xml")}).want(200).json["feeds"],
         [{"url": s.url("/d.xml"), "title": "D", "type": "rss"}], "a feed itself")
    same(c.get("/api/subscriptions").json, [], "none is added")
    wrong(c.post("/api/feeds/discover", {"url": s.url("/none")}), 422, "FEED_NOT_DETECTED")
    wrong(c.post("/api/feeds/discover", {"url": "http://10.0.0.1/"}), 422, "URL_REFUSED")
    for bad in ({}, {"url": 7}, {"url": " "}, {"url": s.url("/d"), "private": True}):
        wrong(c.post("/api/feeds/discover", bad), 400, "INVALID_FIELD")


def test_refresh(t):
    """U21: one, or all, are fetched soon; what was fetched just now is not."""
    srv = t.server(FETCH_INTERVAL="200ms")
    s, c, d = Site(t), person(srv), person(srv, "emil")
    for path in ("/r1", "/r2"):
        s.put(path, rss(1, path))
    one, two = (add(c, s.url(p))["id"] for p in ("/r1", "/r2"))
    add(d, s.url("/r2"))
    same(c.post("/api/feeds/refresh").want(202).json, {"due": 0}, "both were fetched just now")

    def long_ago():
        change(srv, "UPDATE feed SET last_fetch_at = 1, next_fetch_at = 9000000000000000")
    long_ago()
    same(c.post(f"/api/feeds/{one}/refresh").want(202).json, {"due": 1}, "one")
    until(lambda: len(s.at("/r1")) == 2, "it is fetched")
    long_ago()
    same(d.post("/api/feeds/refresh").want(202).json, {"due": 1}, "all of one's own")
    until(lambda: len(s.at("/r2")) == 2, "it is fetched")
    same(len(s.at("/r1")), 2, "and no other")
    wrong(d.post(f"/api/feeds/{one}/refresh"), 404, "NOT_FOUND")


def test_2_2_a_page_names_its_feed(t):
    s, c = Site(t), person(t.srv)
    s.put("/blog/", b"<html><head><link rel=alternate type=application/atom+xml href=../at.xml>"
          b"<title>x</title></head></html>", HTML)
    s.put("/at.xml", atom())
    j = add(c, s.url("/blog/"))
    same((j["feed_url"], j["title"]), (s.url("/at.xml"), "An Atom feed"), "what was found")
    same(len(s.at("/at.xml")), 1, "it was fetched once")


def test_2_2_a_header_names_the_feed(t):
    s, c = Site(t), person(t.srv)
    kind = 'rel="alternate"; type="application/rss+xml"; title="a, b; c"'
    s.put("/page", b"<p>no feed is named in here</p>", HTML, Link=f"</wp-json/>; rel=x, <feeds/1.xml>; {kind}")
    s.put("/feeds/1.xml", rss(1, "One"))
    same(add(c, s.url("/page"))["feed_url"], s.url("/feeds/1.xml"), "by one header")

    def several(h, r):
        h.send_response_only(200)
        for name, value in (("Content-Type", HTML), ("Link", f"</feeds/2.xml>; {kind}"), ("Link", "</x>; rel=shortlink"),
                            ("Content-Length", "3")):
            h.send_header(name, value)
        h.end_headers()
        h.wfile.write(b"<p>")
    s.put("/several", several)
    s.put("/feeds/2.xml", rss(1, "Two"))
    same(add(c, s.url("/several"))["title"], "Two", "by one of several")


def test_2_2_a_page_sends_its_readers_on(t):
    s, c = Site(t), person(t.srv)
    meta = '<meta http-equiv="refresh" content="0; url={}">'
    s.put("/old/", meta.format("../new/").encode(), HTML)
    s.put("/new/", b"<link rel=alternate type=application/rss+xml href=/f.xml>", HTML)
    s.put("/f.xml", rss(1, "New"))
    same(add(c, s.url("/old/"))["feed_url"], s.url("/f.xml"), "the page behind it is looked at")
    s.put("/moved", meta.format("/g.xml").encode(), HTML)
    s.put("/g.xml", rss(1, "Feed"))
    same(add(c, s.url("/moved"))["title"], "Feed", "or the feed itself")
    s.put("/a", meta.format("/b").encode(), HTML)
    s.put("/b", meta.format("/a").encode(), HTML)
    wrong(c.post("/api/feeds", {"url": s.url("/a")}), 422, "FEED_NOT_DETECTED")
    same((len(s.at("/a")), len(s.at("/b"))), (1, 1), "one step, and no circle")
    s.put("/in", meta.format("http://10.0.0.1/").encode(), HTML)
    wrong(c.post("/api/feeds", {"url": s.url("/in")}), 422, "FEED_NOT_DETECTED")


def test_2_1_a_feed_behind_a_doctype_of_html(t):
    s, c = Site(t), person(t.srv)
    s.put("/odd.xml", b"<!DOCTYPE html>\n" + rss(1, "Odd").split(b"?>", 1)[-1], HTML)
    same(add(c, s.url("/odd.xml"))["title"], "Odd", "title")


def test_2_3_which_of_several(t):
    """Same host before Atom before RSS before the first."""
    s, other, c = Site(t), Site(t, "127.0.0.2"), person(t.srv)
    other.put("/other.xml", atom(title="other"))
    s.put("/rss.xml", rss(1, "rss"))
    s.put("/atom.xml", atom(title="atom"))
    link = '<link rel="alternate" type="application/{}+xml" href="{}">'
    s.put("/1", (link.format("atom", other.url("/other.xml")) + link.format("rss", "/rss.xml")).encode(), HTML)
    s.put("/2", (link.format("rss", "/rss.xml") + link.format("atom", "/atom.xml")).encode(), HTML)
    same(add(c, s.url("/1"))["title"], "rss", "the page's own host first")
    same(add(c, s.url("/2"))["title"], "atom", "then Atom")


def test_2_3_the_first_that_works(t):
    s, c = Site(t), person(t.srv)
    s.put("/p", b'<link rel=alternate type=application/rss+xml href=/gone.xml>'
          b'<link rel=alternate type=application/rss+xml href=/ok.xml>', HTML)
    s.put("/ok.xml", rss(1, "works"))
    same(add(c, s.url("/p"))["title"], "works", "the next one when one is gone")


def test_2_2_usual_places(t):
    s, c = Site(t), person(t.srv)
    s.put("/", b"<html><body>nothing is named here</body></html>", HTML)
    s.put("/feed", rss(1, "hidden"))
    same(add(c, s.url("/"))["title"], "hidden", "found where feeds often are")


def test_2_4_another_address(t):
    s, srv = Site(t), t.server()
    c, other = person(srv), person(srv, "berta")
    s.put("/old.xml", rss(2, "old"))
    s.put("/new.xml", rss(2, "new", start=10))
    old = add(c, s.url("/old.xml"))
    add(other, s.url("/old.xml"))
    a = c("PATCH", f"/api/feeds/{old['id']}", {"feed_url": s.url("/new.xml")})
    check(a.status == 200, "moved", a)
    same((a.json["feed_url"], a.json["title"]), (s.url("/new.xml"), "new"), "the new feed")
    same(feed(srv, s.url("/old.xml"), "subscribers"), ("1",), "others keep theirs")
    same(feed(srv, s.url("/new.xml"), "subscribers"), ("1",), "moved")
    wrong(c("PATCH", f"/api/feeds/{old['id']}", {"feed_url": s.url("/new.xml")}), 404, "NOT_FOUND")
    wrong(other("PATCH", f"/api/feeds/{old['id']}", {"feed_url": s.url("/nix")}), 422, "FEED_UNREACHABLE", "404")
    wrong(other("PATCH", f"/api/feeds/{old['id']}", {"url": "x"}), 400, "INVALID_FIELD")
    wrong(other("PATCH", "/api/feeds/nonsense", {"feed_url": s.url("/new.xml")}), 404, "NOT_FOUND")
    a = other("PATCH", f"/api/feeds/{old['id']}", {"feed_url": s.url("/old.xml")})
    same((a.status, a.json["id"]), (200, old["id"]), "the one that it is stays")


def marks(c, feed_id):
    """{title: (read, starred)} of a feed."""
    return {i["title"]: (i["is_read"], i["is_starred"])
            for i in c.get(f"/api/feeds/{feed_id}/items").want(200).json["items"]}


def mark(c, feed_id, title, **state):
    i = next(i for i in c.get(f"/api/feeds/{feed_id}/items").want(200).json["items"] if i["title"] == title)
    c("PUT", f"/api/items/{i['id']}/state", state).want(200)


def test_2_4_another_address_keeps_marks(t):
    """Stars and read marks go along, by the article's id or else its link: to a new feed, to one that others have, and back."""
    s, srv = Site(t), t.server(FETCH_INTERVAL="1h")
    c, other = person(srv), person(srv, "berta")
    s.put("/old.xml", rss(6, "old", link="http://www.example.com/"))
    # Articles 0 to 5 with ids of their own, but for 3 and 4, which links alone tell; 5 has neither; 6 is new.
    new = rss(7, "new", link="https://example.com/").replace(b"g-3<", b"n-3<").replace(b"<guid>g-4</guid>", b"")
    new = new.replace(b"g-5<", b"n-5<").replace(b"/a/5<", b"/b/5<")
    s.put("/new.xml", new)
    s.put("/theirs.xml", new)
    add(other, s.url("/theirs.xml"))
    f = add(c, s.url("/old.xml"))["id"]
    add(other, s.url("/old.xml"))
    for i, state in ((0, {"is_starred": True}), (1, {"is_read": True}), (3, {"is_read": True, "is_starred": True}),
                     (4, {"is_read": True}), (5, {"is_starred": True})):
        mark(c, f, f"Article {i}", **state)
    want = {"Article 0": (False, True), "Article 1": (True, False), "Article 2": (False, False), "Article 3": (True, True),
            "Article 4": (True, False), "Article 5": (False, False), "Article 6": (False, False)}
    for path in ("/new.xml", "/theirs.xml", "/old.xml", "/new.xml"):
        f = c("PATCH", f"/api/feeds/{f}", {"feed_url": s.url(path)}).want(200).json["id"]
        same(marks(c, f), {k: v for k, v in want.items() if path != "/old.xml" or k < "Article 6"}, path)
        same(len(c.get("/api/subscriptions").want(200).json), 1, "moved, not added")
        if path == "/theirs.xml":  # nobody has /new.xml now: it is looked at again
            s.put("/new.xml", new.replace(b"Article 6", b"Article 7"))
            want["Article 7"] = want.pop("Article 6")
    same(srv.rows("SELECT COUNT(*) FROM item_state t WHERE NOT EXISTS "
                  "(SELECT 1 FROM feed_subscription s WHERE s.user_id = t.user_id AND s.feed_id = t.feed_id)"),
         [("0",)], "none is left behind")


def test_2_5_icon(t):
    s, c = Site(t), person(t.srv)
    s.put("/p", b'<link rel=icon href=/i.png sizes=32x32><link rel=alternate type=application/rss+xml href=/f.xml>', HTML)
    s.put("/i.png", PNG, "text/plain")  # its type lies
    s.put("/f.xml", rss(1))
    j = add(c, s.url("/p"))
    check(j["favicon_url"], "there is one", j)
    same(feed(t.srv, s.url("/f.xml"), "favicon_mime, length(favicon_data)"), ("image/png", "32"), "stored")


def test_2_5_icon_of_a_site(t):
    """A feed alone: the site that it names is asked."""
    s, c = Site(t), person(t.srv)
    s.put("/f.xml", rss(1, link=s.url("/home/")))
    s.put("/home/", b'<link rel="shortcut icon" href="x.svg">', HTML)
    s.put("/home/x.svg", b'<svg xmlns="http://www.w3.org/2000/svg"/>', "image/svg+xml")
    add(c, s.url("/f.xml"))
    same(feed(t.srv, s.url("/f.xml"), "favicon_mime"), ("image/svg+xml",), "found")


def test_2_7_no_icon(t):
    s, c = Site(t), person(t.srv)
    s.put("/p", b'<link rel=icon href=/i.png><link rel=alternate type=application/rss+xml href=/f.xml>', HTML)
    s.put("/i.png", b"<html>not found</html>", "image/png")
    s.put("/favicon.ico", b"\0\0\1\0" + b"x" * 300_000, "image/x-icon")  # too large
    s.put("/f.xml", rss(1))
    j = add(c, s.url("/p"))
    check(j["favicon_url"] is None, "none", j)


def test_2_6_nothing_there(t):
    s, c = Site(t), person(t.srv)
    s.put("/page", b"<html><head><title>x</title></head><body>hello</body></html>", HTML)
    s.put("/pdf", b"%PDF-1.7 ...", "application/pdf")
    s.put("/broken", b"<rss><channel", "application/rss+xml")
    s.put("/empty", b"", "text/xml")
    s.put("/500", b"oops", "text/html", status=500)
    for path, code, says in (("/page", "FEED_NOT_DETECTED", "HTML"), ("/pdf", "FEED_NOT_DETECTED", ""),
                             ("/empty", "FEED_NOT_DETECTED", ""), ("/500", "FEED_UNREACHABLE", "500"),
                             ("/nix", "FEED_UNREACHABLE", "404")):
        j = wrong(c.post("/api/feeds", {"url": s.url(path)}), 422, code, says)
        check(s.url(path) in j["message"] and j["category"] == "feed", "it names the address", j)
    s.close()
    wrong(c.post("/api/feeds", {"url": s.url("/x")}), 422, "FEED_UNREACHABLE")
    same(t.srv.rows(f"SELECT COUNT(*) FROM feed WHERE feed_url LIKE '{s.url('/')}%'"), [("0",)], "nothing stored")


def test_2_8_limit_of_100(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    for i in range(101):
        s.put(f"/f{i}", rss(0, f"feed {i}", link=""))
    for i in range(100):
        add(c, s.url(f"/f{i}"))
    wrong(c.post("/api/feeds", {"url": s.url("/f100")}), 409, "SUBSCRIPTION_LIMIT")
    wrong(c.post("/api/feeds", {"url": s.url("/f5")}), 409, "ALREADY_SUBSCRIBED")
    same(srv.rows("SELECT COUNT(*) FROM feed_subscription"), [("100",)], "no more than that")


def test_known_feed_is_shared(t):
    srv, s = t.server(), Site(t)
    s.put("/f", rss(4))
    one = add(person(srv), s.url("/f"))
    two = add(person(srv, "carla"), s.url("/f"))
    same(two["id"], one["id"], "one feed")
    same(len(s.at("/f")), 1, "fetched once")
    same(feed(srv, s.url("/f"), "subscribers"), ("2",), "subscribers")
    wrong(person(srv).post("/api/feeds", {"url": s.url("/f")}), 409, "ALREADY_SUBSCRIBED")


def test_at_the_same_moment(t):
    """Ten people, one new feed: one row, ten subscriptions, its articles once."""
    srv, s = t.server(), Site(t)
    s.put("/f", rss(5))
    people, got = [person(srv, f"p{i}") for i in range(10)], []
    [c.get("/v1/whoami").want(200) for c in people]  # passwords are checked one by one
    threads = [threading.Thread(target=lambda c=c: got.append(c.post("/api/feeds", {"url": s.url("/f")}).status))
               for c in people]
    [x.start() for x in threads]
    [x.join() for x in threads]
    same(got, [201] * 10, "all of them")
    same(feed(srv, s.url("/f"), "subscribers, items"), ("10", "5"), "one feed")
    same(s.busiest, 1, "one request at a time to a host")


def test_forgiving(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    for i in range(4):
        s.put(f"/f{i}", rss(1, f"feed {i}"))
    bare = f"{s.host}:{s.port}"
    same(add(c, f"  {bare}/f0 \n")["feed_url"], s.url("/f0"), "no scheme: https, then http")
    same(add(c, f"feed://{bare}/f1")["feed_url"], s.url("/f1"), "feed://")
    same(add(c, f"feed:{s.url('/f2')}")["feed_url"], s.url("/f2"), "feed:")
    same(add(c, f"<{s.url('/f3')}#part>")["feed_url"], s.url("/f3"), "brackets and a fragment")


def test_bad_requests(t):
    c = person(t.srv)
    for body in ({}, {"url": 5}, {"url": ""}, {"url": "   "}, {"url": "https://x.example", "more": 1},
                 {"url": "x" * 5000}, []):
        wrong(c.post("/api/feeds", body), 400, "INVALID_FIELD")
    wrong(c.post("/api/feeds", b"{"), 400, "MALFORMED")
    check(c.post("/api/feeds", {"url": 5}).json["fields"][0]["field"] == "url", "the field is named")
    check(t.srv.connect().post("/api/feeds", {"url": "x"}).status == 401, "nobody")
    check(t.srv.client().post("/api/feeds", {"url": "x"}).status == 403, "a key is no person")


def test_12_1_12_2_guard(t):
    """Private addresses are refused, as an address, by a redirect and in a page's link."""
    srv = t.server(FETCH_URL_ALLOW_PRIVATE="127.0.0.0/24")
    s, secret, c = Site(t), Site(t, "127.1.1.1"), person(srv)
    secret.put("/f", rss(1, "secret"))
    s.put("/r", b"", status=302, Location=secret.url("/f"))
    s.put("/p", f'<link rel=alternate type=application/rss+xml href="{secret.url("/f")}">'.encode(), HTML)
    for url in ("http://10.0.0.1/f", "http://172.16.0.1/", "http://192.168.1.1/", "http://169.254.169.254/latest",
                "http://[::1]/", "http://[fe80::1]/", "http://0x7f.1.1.1/", "ftp://127.0.0.1/f", "file:///etc/passwd",
                "http://user:pw@10.0.0.1/", secret.url("/f"), s.url("/r")):
        j = wrong(c.post("/api/feeds", {"url": url}), 422, "URL_REFUSED")
        check("pw" not in j["message"], "no password is repeated", j)
    wrong(c.post("/api/feeds", {"url": s.url("/p")}), 422, "FEED_NOT_DETECTED")
    same(secret.requests, [], "nobody was there")


def test_12_1_a_setting_of_its_own(t):
    """Where webhooks may go, feeds may not, and the other way round."""
    s = Site(t)
    s.put("/f", rss(1))
    hook = {"name": "here", "url": s.url("/hook"), "types": ["a.*"]}
    srv = t.server(FETCH_URL_ALLOW_PRIVATE="", WEBHOOK_URL_ALLOW_PRIVATE="127.0.0.0/8")
    srv.client().post("/v1/subscriptions", hook).want(201)
    j = wrong(person(srv).post("/api/feeds", {"url": s.url("/f")}), 422, "URL_REFUSED")
    check("fetch.url.allow.private" in j["message"], "which setting", j)
    same(s.requests, [], "nobody was there")
    srv = t.server()
    srv.client().post("/v1/subscriptions", hook).want(422, says="webhook.url.allow.private")
    add(person(srv), s.url("/f"))


def test_redirects(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/to", rss(1, "to"))
    s.put("/tmp", b"", status=302, Location="/to")
    s.put("/perm", b"", status=301, Location="../x/../to2?a=1#b")
    s.put("/to2?a=1", rss(1, "to2"))
    for i in range(5):
        s.put(f"/c{i}", b"", status=307, Location=f"/c{i + 1}")
    s.put("/c5", rss(1, "after five"))
    s.put("/loop", b"", status=302, Location="/loop")
    same(add(c, s.url("/tmp"))["feed_url"], s.url("/tmp"), "for now: its own address stays")
    same(add(c, s.url("/perm"))["feed_url"], s.url("/to2?a=1"), "for good: the new one")
    same(add(c, s.url("/c0"))["title"], "after five", "five are followed")
    s.put("/c-1", b"", status=307, Location="/c0")
    wrong(c.post("/api/feeds", {"url": s.url("/c-1")}), 422, "FEED_UNREACHABLE", "redirect")
    wrong(c.post("/api/feeds", {"url": s.url("/loop")}), 422, "FEED_UNREACHABLE", "redirect")


def test_without_the_role(t):
    """A server that does not fetch adds feeds all the same."""
    srv = t.server(args=("--roles", "api"), FETCH_INTERVAL="100ms")
    s, c = Site(t), person(srv)
    s.put("/f", rss(2))
    add(c, s.url("/f"))
    same(feed(srv, s.url("/f"), "items"), ("2",), "its articles are there")


def test_a_crowd(t):
    """What waits is bounded; the rest is told to come again."""
    import time
    srv = t.server()
    s = Site(t)

    def slow(h, r):
        time.sleep(3)
        h.send_response_only(404)
        h.send_header("Content-Length", "0")
        h.end_headers()
    s.put("/slow", slow)
    got, lost = [], []
    people = [srv.admin(timeout=200) for i in range(100)]
    [c.get("/v1/whoami").want(200) for c in people]

    def one(i):
        try:
            got.append(people[i].post("/api/feeds", {"url": s.url("/slow")}))
        except OSError as e:
            lost.append(e)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(100)]
    [x.start() for x in threads]
    time.sleep(6)
    busy = [a for a in list(got) if a.status == 503]
    check(len(busy) >= 100 - 8 - 64, "some were sent away at once", len(busy))
    check(all(a.headers["Retry-After"] for a in busy), "and told when to come again")
    begin = time.monotonic()
    srv.stop()
    check(time.monotonic() - begin < 8, "a stop does not wait for them", time.monotonic() - begin)
    [x.join() for x in threads]
    same((lost, len(got)), ([], 100), "all were answered")
    check({a.status for a in got} <= {422, 503}, "as they should", got)
