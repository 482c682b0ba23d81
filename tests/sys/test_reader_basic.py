"""Feeds that want a user name and password (Basic authentication)."""
import base64
import os

from feedsite import HTML, PNG, Site, add, person, rss, wrong
from hk import check, same, until
from readers import SETTINGS as READERS, execute, ok, one

SETTINGS = {**READERS, "LOG_LEVEL": "debug"}
WORD = "planted-Feed-Secret-4711"


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


def locked(t, path="/f.xml", host="127.0.0.1"):
    s = Site(t, host)
    logins = {basic("ann", WORD): "Ann's", basic("bob", WORD + "2"): "Bob's"}

    def answer(h, r):
        who = logins.get(r.headers.get("authorization"))
        body = rss(2, who) if who else b"no"
        h.send_response_only(200 if who else 401)
        h.send_header("Content-Type", "application/xml")
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)
    s.put(path, answer)
    s.logins = logins
    return s


def shown(s, path):
    return [r.headers.get("authorization") for r in s.at(path)]


def with_login(s, path, name="ann", password=WORD):
    return s.url(path).replace("://", f"://{name}:{password}@")


def nowhere(srv, *more):
    """The password is in no answer, event, log or table."""
    text = " ".join(str(e) for e in srv.client().events())
    for a in more:
        text += a.body.decode(errors="replace")
    check(WORD not in text, "no answer or event has it")
    srv.stop()
    logs = srv.all_logs().decode(errors="replace")
    secret = basic("ann", WORD).split()[1]
    check(WORD not in logs and secret not in logs, "no log has it",
          *[x for x in logs.split("\n") if WORD in x or secret in x][:3])
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                check(WORD.encode() not in f.read(), f"not plain in {name}")


def test_added_and_kept(t):
    """Two people with two logins at one address: two feeds, each private, nothing shown."""
    srv, s = t.server(), locked(t)
    ann, bob, eve = (person(srv, n) for n in ("ann", "bob", "eve"))
    a = ann.post("/api/feeds", {"url": s.url("/f.xml"), "username": "ann", "password": WORD}).want(201)
    b = bob.post("/api/feeds", {"url": with_login(s, "/f.xml", "bob", WORD + "2")}).want(201)
    check(a.json["id"] != b.json["id"], "a feed each")
    for x, title in ((a, "Ann's"), (b, "Bob's")):
        same((x.json["title"], x.json["feed_url"], x.json["private"], x.json["username"], x.json["password"]),
             (title, s.url("/f.xml"), True, "********", "********"), "as it is shown")
    same(wrong(ann.post("/api/feeds", {"url": with_login(s, "/f.xml")}), 409, "ALREADY_SUBSCRIBED")["feed_id"],
         a.json["id"], "once")
    wrong(eve.post("/api/feeds", {"url": s.url("/f.xml")}), 422, "FEED_UNREACHABLE")
    j = wrong(eve.post("/api/feeds", {"url": with_login(s, "/f.xml", "ann", "x" + WORD)}), 422, "FEED_UNREACHABLE")
    check("user name and password" in j["message"] and WORD not in j["message"], "why", j)
    same(eve.get("/api/feeds/" + a.json["id"]).status, 404, "nobody else's")
    wrong(ann("PATCH", "/api/feeds/" + a.json["id"], {"private": False}), 409, "NOT_ALONE")
    execute(srv, "UPDATE feed SET next_fetch_at = 0, etag = NULL, body_hash = NULL")
    until(lambda: shown(s, "/f.xml").count(basic("ann", WORD)) >= 2, "fetched again, with it", 30)
    until(lambda: shown(s, "/f.xml").count(basic("bob", WORD + "2")) >= 2, "and the other, with theirs", 30)
    same(one(srv, "SELECT count(*) FROM feed_subscription WHERE login LIKE '{%'"), "2", "sealed")
    opml, subs = ann.get("/api/opml"), ann.get("/api/subscriptions")
    check(s.url("/f.xml") in opml.body.decode() and "#" not in subs.json[0]["feed_url"], "the address", subs)
    nowhere(srv, a, b, opml, subs, ann.get("/api/feeds/" + a.json["id"]))


def test_changed_and_removed(t):
    """PATCH: another password, none, and one for a feed that had none."""
    srv, s = t.server(), locked(t)
    ann, bob = person(srv, "ann"), person(srv, "bob")
    s.put("/open.xml", rss(2, "Open"))
    f = add(ann, with_login(s, "/f.xml"))["id"]
    path = "/api/feeds/" + f
    del s.logins[basic("ann", WORD)]
    s.logins[basic("ann", "new")] = "Ann's"
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: ann.get(path).json["fetch_status"] == "stopped", "a wrong one stops it", 30)
    check("user name and password" in ann.get(path).json["error_message"], "and says why", ann.get(path))
    n = len(s.at("/f.xml"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    for body in ({"password": "********"}, {"username": "********", "password": "********"}):
        wrong(ann("PATCH", path, body), 400, "INVALID_FIELD")
    same(ann("PATCH", path, {"password": "new"}).want(200).json["id"], f, "the same feed")
    until(lambda: ann.get(path).json["fetch_status"] == "active" and ann.get(path).json["last_fetch_at"] and
          basic("ann", "new") in shown(s, "/f.xml")[n:], "it is fetched at once", 30)
    for body, field in (({"username": "a:b", "password": "x"}, "username"), ({"username": 7}, "username"),
                        ({"username": "a", "password": "x\ny"}, "password"), ({"username": "a" * 256}, "username"),
                        ({"private": True, "username": "x"}, "private")):
        j = wrong(ann("PATCH", path, body), 400, "INVALID_FIELD")
        same(j["fields"][0]["field"], field, "the field")
    same(bob("PATCH", path, {"username": "bob", "password": "x"}).status, 404, "not by somebody else")
    j = ann("PATCH", path, {"username": None}).want(200).json
    same((j["id"], j["username"], j["private"]), (f, None, True), "removed")
    until(lambda: shown(s, "/f.xml")[-1] is None, "asked for without", 30)
    until(lambda: ann.get(path).json["fetch_status"] == "stopped", "which it does not take", 30)
    ann("PATCH", path, {"username": "ann", "password": "new"}).want(200)
    until(lambda: ann.get(path).json["fetch_status"] == "active", "and back", 30)
    same(ann("DELETE", path).status, 204, "left")
    same(one(srv, "SELECT count(*) FROM feed_subscription WHERE login IS NOT NULL"), "0", "nothing is kept")
    shared = add(bob, s.url("/open.xml"))["id"]
    mine = add(ann, s.url("/open.xml"))["id"]
    item = ann.get(f"/api/feeds/{mine}/items").json["items"][0]["id"]
    ok(ann("PUT", f"/api/items/{item}/state", {"is_starred": True}))
    j = ann("PATCH", "/api/feeds/" + mine, {"username": "ann", "password": "x"}).want(200).json
    check(j["id"] != shared and j["private"] and j["username"], "a feed of one's own", j)
    same(len(ann.get(f"/api/feeds/{j['id']}/items?filter=starred").json["items"]), 1, "stars go along")
    same(bob.get("/api/feeds/" + shared).json["private"], False, "the others' is as it was")
    check(basic("ann", "x") in shown(s, "/open.xml"), "it was asked for with it")


def test_only_to_its_own_origin(t):
    """Not behind a redirect, not to icons and pages elsewhere, not to a hub."""
    srv, s, other = t.server(BASE_URL="https://reader.example.com", **SETTINGS), locked(t), Site(t, "127.0.0.9")
    ann = person(srv, "ann")
    other.put("/feed.xml", rss(2, "Elsewhere", link=other.url("/")))
    other.put("/favicon.ico", PNG, "image/png")
    other.put("/hub", b"", status=202)
    for path, status in (("/temp.xml", 302), ("/perm.xml", 301)):
        s.put(path, b"", status=status, Location=other.url("/feed.xml"))
        j = add(ann, with_login(s, path))
        same(j["feed_url"], s.url(path), "it stays where its login is for")
        check(basic("ann", WORD) in shown(s, path), "sent there")
        execute(srv, "UPDATE feed SET next_fetch_at = 0, body_hash = NULL")
        until(lambda: len(s.at(path)) >= 2, "fetched again", 30)
        same(ann.get("/api/feeds/" + j["id"]).json["feed_url"], s.url(path), "and stays")
    s.put("/there.xml", b"", status=302, Location=s.url("/f.xml"))
    same(add(ann, with_login(s, "/there.xml"))["title"], "Ann's", "within the origin it goes along")
    s.put("/back.xml", b"", status=302, Location=other.url("/back"))
    other.put("/back", b"", status=302, Location=s.url("/f.xml"))
    wrong(ann.post("/api/feeds", {"url": with_login(s, "/back.xml")}), 422, "FEED_UNREACHABLE")
    s.put("/page", f'<link rel=alternate type=application/rss+xml href="{other.url("/feed.xml")}">'.encode(), HTML)
    wrong(ann.post("/api/feeds", {"url": with_login(s, "/page")}), 422, "FEED_NOT_DETECTED")
    s.put("/hub.xml", rss(1, "Hub", link=other.url("/")).replace(
        b"<description>d</description>",
        f'<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="{other.url("/hub")}"/><atom:link '
        f'xmlns:atom="http://www.w3.org/2005/Atom" rel="self" href="{s.url("/hub.xml")}"/>'.encode(), 1))
    add(ann, with_login(s, "/hub.xml"))
    until(lambda: other.at("/hub"), "the hub is asked", 30)
    got = [r.path for r in other.requests if "authorization" in r.headers]
    same(got, [], "nothing of it went to the other server")
    check(all(WORD not in str(r.headers) + r.path + str(r.body) for r in other.requests), "in no other way either")
    nowhere(srv)


def test_addresses_that_are_refused(t):
    """What goes wrong with a password in the address does not tell it."""
    srv = t.server()
    ann = person(srv, "ann")
    answers = [ann.post("/api/feeds", {"url": u}) for u in (
        f"http://ann:{WORD}@10.0.0.1/", f"https://ann:{WORD}@127.0.0.1:1/", f"ftp://ann:{WORD}@127.0.0.1/",
        f"ann:{WORD}@127.0.0.1/", f"http://ann:{WORD}@", f"http://an%00n:{WORD}@127.0.0.1/x",
        f"http://ann:{WORD}@ho st/", f"feed://ann:{WORD}@127.0.0.1:1/x")]
    answers += [ann.post("/api/feeds/discover", {"url": f"http://ann:{WORD}@127.0.0.1:1/"}),
                ann.post("/api/feeds", {"url": f"http://ann:{WORD}@127.0.0.1:1/", "username": "x"}),
                ann.post("/api/feeds", {"url": "http://127.0.0.1:1/", "password": WORD})]
    for a in answers:
        check(a.status in (400, 422), "refused", a)
    answers.append(ann("POST", "/api/opml", (
        f'<opml version="2.0"><body><outline type="rss" text="x" xmlUrl="http://ann:{WORD}@127.0.0.1:1/f"/></body></opml>'
    ).encode(), {"Content-Type": "text/xml"}))
    same(len(answers[-1].json["refused"]), 1, "a list has none")
    nowhere(srv, *answers)


def test_sealed_anew(t):
    """A rotation seals it with the new key, and it still works."""
    srv, s = t.server(), locked(t)
    ann = person(srv, "ann")
    add(ann, with_login(s, "/f.xml"))
    was = one(srv, "SELECT login FROM feed_subscription")
    srv.admin().post("/v1/seal/rotate").want(202)
    until(lambda: one(srv, "SELECT login FROM feed_subscription") != was, "sealed anew", 30)
    n = len(s.at("/f.xml"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0, body_hash = NULL")
    until(lambda: shown(s, "/f.xml")[n:] == [basic("ann", WORD)], "opened", 30)


def test_miniflux(t):
    """username and password of a feed, as an app gives, reads back and changes them."""
    srv, s = t.server(), locked(t)
    ann = person(srv, "ann")
    mf = "/miniflux/v1/feeds"
    id = ann.post(mf, {"feed_url": s.url("/f.xml"), "username": "ann", "password": WORD}).want(201).json["feed_id"]
    f = ann.get(f"{mf}/{id}").want(200).json
    same((f["title"], f["username"], f["password"]), ("Ann's", "********", "********"), "masked")
    n = len(s.at("/f.xml"))
    ann("PUT", f"{mf}/{id}", {"username": f["username"], "password": f["password"], "title": "Mine"}).want(201)
    execute(srv, "UPDATE feed SET next_fetch_at = 0, body_hash = NULL")
    until(lambda: shown(s, "/f.xml")[n:] == [basic("ann", WORD)], "sent back unchanged, it is as it was", 30)
    ann("PUT", f"{mf}/{id}", {"username": "bob", "password": WORD + "2"}).want(201)
    until(lambda: basic("bob", WORD + "2") in shown(s, "/f.xml"), "changed", 30)
    same(ann("PUT", f"{mf}/{id}", {"username": "", "password": ""}).want(201).json["username"], "", "removed")
    check(ann.post(mf, {"feed_url": s.url("/f.xml"), "username": "ann", "password": "no"}).status >= 400, "a wrong one")
    found = ann.post("/miniflux/v1/discover", {"url": s.url("/f.xml"), "username": "ann", "password": WORD})
    same(found.want(200).json[0]["url"], s.url("/f.xml"), "discovered")
    nowhere(srv, found, ann.get(mf))


def test_refresh_takes_a_stopped_feed(t):
    """POST /api/feeds/{id}/refresh, and an app's, of one that is stopped or backs off."""
    srv, s = t.server(), Site(t)
    ann = person(srv, "ann")
    for i, how in enumerate((lambda f: ann.post(f"/api/feeds/{f}/refresh").want(202),
                             lambda f: ann("PUT", "/miniflux/v1/feeds/%d/refresh" % ann.get(
                                 "/miniflux/v1/feeds").json[-1]["id"]).want(204))):
        for status, shows in ((404, "stopped"), (500, "error")):
            path = f"/{i}{status}.xml"
            s.put(path, rss(1, path))
            f = add(ann, s.url(path))["id"]
            s.put(path, b"no", status=status)
            execute(srv, "UPDATE feed SET next_fetch_at = 0")
            until(lambda: ann.get("/api/feeds/" + f).json["fetch_status"] == shows, shows, 30)
            s.put(path, rss(1, path))
            a = how(f)
            same(a.json["due"] if a.body else 1, 1, "due")
            until(lambda: ann.get("/api/feeds/" + f).json["fetch_status"] == "active", "fetched", 30)


def test_events_of_a_large_feed(t):
    """What a large feed has when it is added is stored and raises no event; what is new after it does."""
    srv, s = t.server(READER_EVENTS_FIRST="5", **SETTINGS), Site(t)
    ann = person(srv, "ann")

    def told(f):
        return len([e for e in srv.client().events() if e["payload"]["feed"]["id"] == f])
    for n, want in ((5, 5), (6, 0), (2500, 0)):
        path = f"/{n}.xml"
        s.put(path, rss(n, path))
        f = add(ann, s.url(path))["id"]
        same((told(f), one(srv, f"SELECT items FROM feed WHERE feed_url = '{s.url(path)}'")), (want, str(n)), path)
        s.put(path, rss(n + 2, path))
        execute(srv, f"UPDATE feed SET next_fetch_at = 0 WHERE feed_url = '{s.url(path)}'")
        until(lambda: told(f) >= want + 2, "what is new", 30)
        same(told(f), want + 2, "and no more")
    s.put("/opml.xml", rss(7, "by OPML"))
    ann("POST", "/api/opml", (f'<opml version="2.0"><body><outline type="rss" text="x" xmlUrl="{s.url("/opml.xml")}"/>'
                              "</body></opml>").encode(), {"Content-Type": "text/xml"}).want(200)
    f = [x for x in ann.get("/api/subscriptions").json if x["feed_url"].endswith("/opml.xml")][0]["feed_id"]
    until(lambda: len(ann.get(f"/api/feeds/{f}/items").json["items"]) == 7, "fetched", 30)
    same(told(f), 0, "the same from a list")
