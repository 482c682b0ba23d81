"""GET /api/stream: a person is told what changes, wherever it was changed."""
import json
import os
import time

import hk
from feedsite import Site, add, person, rss
from hk import SLOW, Skip, check, same, until
from people import Browser
from people import person as shape
from readers import SETTINGS as READERS, execute, ok, one

SETTINGS = READERS
WORDS = "a long password here"


class Watch(hk.Stream):
    """Somebody's stream; what came is a list of (event, data)."""

    def __init__(self, t, srv, name=None, last=None, **kw):
        auth = hk.basic(name, WORDS) if name else None
        super().__init__(srv, auth, last, path="/api/stream", **kw)
        t.later(self.close)
        if self.answer.status == 200:
            until(lambda: self.events, "the first message", 10)

    def got(self):
        return [(e["event"], json.loads(e["data"])) for e in list(self.events)]

    def since(self, n):
        return self.got()[n:]

    def wait(self, kind, seconds=10, **members):
        """The data of the next message of a kind that has these members, within so long."""
        def there():
            return [d for k, d in self.got() if k == kind and members.items() <= d.items()]
        until(there, f"{kind} {members} among {self.got()}", seconds)
        return there()[-1]


def test_what_is_told(t):
    """Articles, states, feeds, categories and fetches, by their ids; nothing of other people's."""
    srv, s = t.server(), Site(t)
    ann, bob = person(srv, "ann"), person(srv, "bob")
    s.put("/a.xml", rss(3, "A"))
    s.put("/b.xml", rss(3, "B"))
    w, other = Watch(t, srv, "ann"), Watch(t, srv, "bob")
    same(w.got()[0], ("ready", {}), "the first message")
    f = add(ann, s.url("/a.xml"))["id"]
    w.wait("feed", feed_id=f, change="added")
    got = w.wait("items", feed_id=f)
    items = [i["id"] for i in ann.get(f"/api/feeds/{f}/items").json["items"]]
    same((sorted(got["created"]), got["updated"], got["more"]), (sorted(items), [], False), "its articles")
    same(other.since(1), [], "nothing of it is another person's")
    sub = ann.get("/api/subscriptions").json[0]["id"]
    at = time.monotonic()
    ok(ann("PUT", f"/api/items/{items[0]}/state", {"is_starred": True}))
    got = w.wait("states", items=[{"id": items[0], "feed_id": f, "is_read": False, "is_starred": True}])
    check(time.monotonic() - at < 2 * SLOW, "soon", time.monotonic() - at)
    ok(ann("PUT", "/api/items/state", {"ids": items[:2], "is_read": True}))
    until(lambda: {"id": items[1], "feed_id": f, "is_read": True, "is_starred": False} in
          sum([d["items"] for k, d in w.got() if k == "states"], []), "many at once", 10)
    number = ann.get("/miniflux/v1/entries?order=id&direction=asc").json["entries"][0]["id"]
    n = len(w.events)
    ann("PUT", "/miniflux/v1/entries", {"entry_ids": [number], "status": "unread"}).want(204)
    ann("PUT", f"/miniflux/v1/entries/{number}/bookmark").want(204)
    until(lambda: [k for k, _ in w.since(n)] == ["states"] * 2, "by an app", 10)
    ok(ann.post(f"/api/feeds/{f}/read", {}))
    w.wait("counts", feed_id=f)
    ann("PATCH", f"/api/subscriptions/{sub}", {"title": "Mine"}).want(200)
    w.wait("feed", feed_id=f, change="changed")
    ann.post("/api/categories", {"title": "C"}).want(201)
    w.wait("categories")
    s.put("/a.xml", rss(4, "A", text="other words"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: [d for k, d in w.got() if k == "items" and len(d["created"]) == 1 and len(d["updated"]) == 3],
          "new and changed articles", 30)
    s.put("/a.xml", b"no", status=500)
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    w.wait("feed", 30, feed_id=f, change="fetch")
    n = len(w.events)
    s.put("/a.xml", rss(4, "A", text="other words"))
    ann.post(f"/api/feeds/{f}/refresh").want(202)
    until(lambda: ("feed", {"feed_id": f, "change": "fetch"}) in w.since(n), "it works again", 30)
    same(ann("DELETE", f"/api/feeds/{f}").status, 204, "left")
    w.wait("feed", feed_id=f, change="removed")
    n = len(w.events)
    theirs = add(bob, s.url("/a.xml"))["id"]
    other.wait("feed", feed_id=theirs, change="added")
    s.put("/a.xml", rss(5, "A"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    other.wait("items", 30, feed_id=theirs)
    time.sleep(0.5)
    same(w.since(n), [], "what one has left is not told")
    for e in w.events + other.events:
        check(e["id"] and len(e["data"]) < 20000 and "Article" not in e["data"] and "http" not in e["data"],
              "an id, and no contents", e)


def test_resumes(t):
    """From Last-Event-ID on, across a restart; what is too long ago is a reset."""
    srv, s = t.server(), Site(t)
    ann = person(srv, "ann")
    s.put("/a.xml", rss(3, "A"))
    f = add(ann, s.url("/a.xml"))["id"]
    items = [i["id"] for i in ann.get(f"/api/feeds/{f}/items").json["items"]]
    w = Watch(t, srv, "ann")
    for i in items:
        ok(ann("PUT", f"/api/items/{i}/state", {"is_read": True}))
    until(lambda: len(w.events) == 4, "ready, and three", 10)
    want, last = w.got()[2:], w.events[1]["id"]
    w.close()
    w = Watch(t, srv, "ann", last)
    until(lambda: len(w.events) == 2, "the rest", 10)
    same(w.got(), want, "nothing missing, nothing twice")
    end = w.events[-1]["id"]
    w.close()
    srv.kill9()
    srv.start()
    ann = srv.connect(hk.basic("ann", WORDS), timeout=40)
    ok(ann("PUT", f"/api/items/{items[0]}/state", {"is_read": False}))
    same(Watch(t, srv, "ann", end).got()[0][0], "states", "behind a kill")
    for bad in ("nonsense", "0" * 16, "f" * 16, "x" * 900):
        same(Watch(t, srv, "ann", bad).got()[0], ("reset", {}), f"reset for {bad[:20]}")
    far = one(srv, "SELECT max(n) FROM reader_change")
    execute(srv, "UPDATE reader_change SET n = n + 100000" +
            (" WHERE n = " + far if not srv.url else f" WHERE n = {far}; UPDATE reader_change_last SET n = n + 100000"))
    ok(ann("PUT", f"/api/items/{items[1]}/state", {"is_read": False}))
    same(one(srv, "SELECT count(*) FROM reader_change"), "2", "old ones go")
    r = Watch(t, srv, "ann", end)
    same(r.got()[0], ("reset", {}), "load anew")
    ok(ann("PUT", f"/api/items/{items[2]}/state", {"is_starred": True}))
    r.wait("states")


def test_many_at_once(t):
    """A large feed and many states are a message each, not thousands."""
    srv, s = t.server(), Site(t)
    ann = person(srv, "ann")
    s.put("/l.xml", rss(2500, "Large"))
    w = Watch(t, srv, "ann")
    f = add(ann, s.url("/l.xml"))["id"]
    until(lambda: len([k for k, _ in w.got() if k == "items"]) == 3, "one for each part", 30)
    for k, d in w.got():
        check(k != "items" or (len(d["created"]) == 100 and d["more"]), "some ids, and more", d)
    n = len(w.events)
    ok(ann.post("/api/items/read", {}))
    until(lambda: [k for k, _ in w.since(n)] == ["counts"] * 2, "in steps", 10)
    ids = [i["id"] for i in ann.get("/miniflux/v1/entries?limit=500").json["entries"]]
    ann("PUT", "/miniflux/v1/entries", {"entry_ids": ids, "status": "unread"}).want(204)
    until(lambda: [k for k, _ in w.since(n)] == ["counts"] * 3, "too many to name", 10)
    check(f, "a feed")


def test_ends_with_the_session(t):
    """A logout ends it; nobody else's login opens it; it takes an app password, and no key."""
    srv = t.server()
    person(srv, "ann")
    b = Browser(srv)
    same(b.login("ann", WORDS).status, 200, "log in")
    cookie = {"Cookie": "; ".join(f"{k}={v}" for k, v in b.cookies.items())}
    w = Watch(t, srv, headers=cookie)
    check(not w.over, "it is open")
    b("POST", "/auth/logout")
    until(lambda: w.over, "over", 20)
    gone = Watch(t, srv, headers=cookie)
    same(gone.answer.status, 401, "and not again")
    ann = srv.connect(hk.basic("ann", WORDS))
    made = ann.post("/api/users/me/tokens", {"name": "phone"}).want(201).json
    w = Watch(t, srv, headers={"X-Auth-Token": made["token"]})
    same(w.got()[0][0], "ready", "by an app password")
    same(ann("DELETE", "/api/users/me/tokens/" + made["id"]).status, 204, "taken back")
    until(lambda: w.over, "over", 20)
    for a in (srv.client().get("/api/stream"), srv.connect().get("/api/stream"),
              ann.get("/api/stream?feed=1")):
        shape(a, a.status)
        check(a.status in (400, 401, 403), "refused", a)
    w = Watch(t, srv, "ann")
    srv.admin()("PUT", "/v1/users/ann/password", {"password": "another long password"}).want(204)
    until(lambda: w.over, "a new password ends it", 20)


def test_bounded(t):
    """One person has so many at once, and others still get theirs."""
    srv = t.server()
    person(srv, "ann"), person(srv, "bob")
    all_ = [hk.Stream(srv, hk.basic("ann", WORDS), path="/api/stream") for _ in range(66)]
    for w in all_:
        t.later(w.close)
    same([w.answer.status for w in all_].count(429), 2, "64 at once")
    same(Watch(t, srv, "bob").got()[0][0], "ready", "another person's")


def test_idle_costs_little(t):
    """Who only watches costs nothing but heartbeats."""
    srv = t.server()
    person(srv, "ann")
    for _ in range(30):
        Watch(t, srv, "ann")
    time.sleep(1)

    def cpu():
        with open(f"/proc/{srv.proc.pid}/stat") as f:
            v = f.read().rsplit(")", 1)[1].split()
        return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")
    was = cpu()
    time.sleep(5)
    used = (cpu() - was) / 5
    print(f"{used * 1000:.1f} ms of CPU a second with 30 streams")
    check(used < 0.05 * SLOW, "almost nothing", used)


def test_another_node(t):
    """What another node changed is told, articles that it fetched too."""
    if hk.STORE != "postgres":
        raise Skip("SQLite has one node")
    url, s = hk.pg_database(hk.PG_URL), Site(t)
    with open(t.path("seal.key"), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write("k1:" + "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVowMTIzNDU=\n")
    a, b = (t.server(url=url, WEBHOOK_ENCRYPTION_KEY_FILE=t.path("seal.key"), **SETTINGS) for _ in range(2))
    ann = person(a, "ann")
    b.admin_key = a.key()
    w = Watch(t, b, "ann")
    s.put("/a.xml", rss(3, "A"))
    f = add(ann, s.url("/a.xml"))["id"]
    w.wait("items", 20, feed_id=f)
    item = ann.get(f"/api/feeds/{f}/items").json["items"][0]["id"]
    took = []
    for pause in (0, 3, 3, 0.3):
        time.sleep(pause)
        n, at = len(w.events), time.monotonic()
        ok(ann("PUT", f"/api/items/{item}/state", {"is_read": True}))
        until(lambda: len(w.events) > n, "the state", 20)
        took.append(time.monotonic() - at)
    print("told after", ", ".join(f"{x * 1000:.0f} ms" for x in took))
    check(sorted(took)[2] < 1.5 * SLOW, "soon", took)


def test_opml_is_one_message(t):
    srv = t.server()
    ann, w = person(srv, "ann"), Watch(t, srv, "ann")
    ann("POST", "/api/opml", ('<opml version="2.0"><body><outline text="C">' + "".join(
        f'<outline type="rss" text="T{i}" xmlUrl="http://127.0.0.1:1/{i}"/>' for i in range(50)
    ) + "</outline></body></opml>").encode(), {"Content-Type": "text/xml"}).want(200)
    w.wait("feed", change="added")
    same([x for x in w.since(1) if x[1].get("change") != "fetch"],
         [("categories", {}), ("feed", {"change": "added"})], "not one for each")
