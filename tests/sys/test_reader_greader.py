"""The Google Reader API, by the calls that known apps make."""
import urllib.parse

from apps import FORM, SETTINGS, World, form, no  # noqa: F401
from feedsite import rss
from hk import Client, check, same, until

R0 = "/reader/api/0"
STATE = "user/-/state/com.google/"
LONG = "tag:google.com,2005:reader/item/"


class App:
    """An app that has logged in; `base` is what its user typed as the address."""

    def __init__(self, w, base=""):
        self.w, self.base = w, base
        c = w.srv.connect()
        a = c("POST", base + "/accounts/ClientLogin",
              form(("Email", w.name), ("Passwd", w.token), ("service", "reader"), ("accountType", "HOSTED_OR_GOOGLE")), FORM).want(200)
        words = dict(l.split("=", 1) for l in a.body.decode().split("\n") if l)
        same(sorted(words), ["Auth", "LSID", "SID"], "three words")
        self.c = w.srv.connect("GoogleLogin auth=" + words["Auth"], timeout=40)
        self.T = self.c.get(base + R0 + "/token").want(200).body.decode().strip()

    def get(self, path, **query):
        return self.c.get(self.base + R0 + path, output="json", **query).want(200).json

    def post(self, path, *pairs, T=True):
        body = form(*pairs, *([("T", self.T)] if T else []))
        return self.c("POST", self.base + R0 + path, body, FORM)


def short(items):
    return [i["title"] for i in items]


def test_login(t):
    w = World(t.srv, t)
    c = t.srv.connect()
    for pairs in ((("Email", w.name), ("Passwd", "wrong")), (("Email", "x"), ("Passwd", w.token)),
                  (("Email", w.name),), ()):
        no(c("POST", "/accounts/ClientLogin", form(*pairs), FORM), 401, "Error=BadAuthentication")
    a = c("POST", "/accounts/ClientLogin", form(("Email", w.name), ("Passwd", w.token), ("output", "json")), FORM)
    check(a.want(200).json["Auth"], "as JSON", a)
    no(t.srv.connect("GoogleLogin auth=x").get(R0 + "/token"), 401)
    no(t.srv.connect().get(R0 + "/token"), 401)
    same(App(w).get("/user-info")["userName"], w.name, "who")


def test_lists(t):
    w = World(t.srv, t)
    app = App(w)
    subs = {s["title"]: s for s in app.get("/subscription/list")["subscriptions"]}
    same(subs["alpha"]["id"], f"feed/{w.alpha}", "its id")
    same(subs["alpha"]["categories"], [{"id": "user/-/label/News", "label": "News"}], "its label")
    same((subs["beta"]["categories"], subs["beta"]["url"]), ([], w.site.url("/beta")), "none")
    same([x["id"] for x in app.get("/tag/list")["tags"]], [STATE + "starred", "user/-/label/News"], "tags")
    counts = {c["id"]: c["count"] for c in app.get("/unread-count")["unreadcounts"]}
    same(counts, {f"feed/{w.alpha}": 3, f"feed/{w.beta}": 2, "user/-/label/News": 3, STATE + "reading-list": 5}, "unread")


def test_streams(t):
    w = World(t.srv, t)
    app = App(w)
    seen, c = [], {}
    for _ in range(9):
        page = app.get(f"/stream/contents/{STATE}reading-list", n=2, **c)
        seen += page["items"]
        if "continuation" not in page:
            break
        c = {"c": page["continuation"]}
    same(sorted(short(seen)), ["Article 0", "Article 1", "Article 10", "Article 11", "Article 2"], "all, by pages")
    same(len({i["id"] for i in seen}), 5, "each once")
    up = app.get(f"/stream/contents/{STATE}reading-list", n=50, r="o")["items"]
    same([i["id"] for i in up], [i["id"] for i in reversed(seen)], "oldest first")
    i = next(i for i in seen if i["title"] == "Article 2")
    check(i["id"].startswith(LONG) and len(i["id"]) == len(LONG) + 16, "its long id", i["id"])
    same((i["origin"]["streamId"], i["origin"]["title"]), (f"feed/{w.alpha}", "alpha"), "where it came from")
    check("text 2" in i["summary"]["content"] and i["canonical"][0]["href"].endswith("/a/2"), "what it says", i)
    same(i["categories"], [STATE + "reading-list", "user/-/label/News"], "its tags")
    for stream in (f"feed/{w.beta}", "feed/" + w.site.url("/beta")):
        path = "/stream/contents/" + urllib.parse.quote(stream, safe="")
        same(sorted(short(app.get(path)["items"])), ["Article 10", "Article 11"], stream)
    same(len(app.get(f"/stream/contents/feed/{w.alpha}")["items"]), 3, "with its slashes")
    same(len(app.get("/stream/contents/user/-/label/News")["items"]), 3, "a label")
    same(app.get("/stream/contents/user/-/label/None")["items"], [], "no such label")
    same(app.get(f"/stream/contents/{STATE}starred")["items"], [], "nothing starred")
    crawled = int(i["timestampUsec"]) // 1000000
    same(app.get(f"/stream/contents/{STATE}reading-list", ot=crawled + 3600)["items"], [], "nothing newer")
    same(len(app.get(f"/stream/contents/{STATE}reading-list", nt=crawled + 3600)["items"]), 5, "all older")
    no(app.c.get(R0 + "/stream/contents/feed/999999"), 404)
    no(app.c.get(R0 + "/stream/contents/nonsense"), 422)


def test_ids_then_contents(t):
    """FeedMe, NetNewsWire and Reeder: ids first, then what is missing."""
    w = World(t.srv, t)
    app = App(w)
    refs = app.get("/stream/items/ids", s=STATE + "reading-list", n=1000, xt=STATE + "read")["itemRefs"]
    same(len(refs), 5, "all unread")
    some = [("i", refs[0]["id"]), ("i", LONG + f"{int(refs[1]['id']):016x}"), ("i", f"{int(refs[2]['id']):016x}"), ("i", "99999999")]
    got = app.post("/stream/items/contents", *some, T=False).want(200).json["items"]
    same([int(i["id"][len(LONG):], 16) for i in got], [int(r["id"]) for r in refs[:3]], "in either spelling")
    page = app.get("/stream/items/ids", s=STATE + "reading-list", n=3)
    rest = app.get("/stream/items/ids", s=STATE + "reading-list", n=3, c=page["continuation"])
    same([r["id"] for r in page["itemRefs"] + rest["itemRefs"]], [r["id"] for r in refs], "continued")
    no(app.post("/stream/items/contents", ("i", "xyz"), T=False), 422)
    no(app.post("/stream/items/contents", *[("i", "1")] * 1001, T=False), 413)


def test_states(t):
    w = World(t.srv, t)
    app = App(w)
    ids = {i["title"]: i["id"] for i in app.get(f"/stream/contents/{STATE}reading-list", n=50)["items"]}
    same(app.post("/edit-tag", ("i", ids["Article 0"]), ("i", ids["Article 10"]), ("a", STATE + "read"),
                  ("ac", "edit")).want(200).body, b"OK", "read")
    app.post("/edit-tag", ("i", str(int(ids["Article 1"][len(LONG):], 16))), ("a", STATE + "starred")).want(200)
    same(w.state(), {"Article 0": (True, False), "Article 1": (False, True), "Article 2": (False, False),
                     "Article 10": (True, False), "Article 11": (False, False)}, "our own API sees it")
    same(short(app.get(f"/stream/contents/{STATE}starred")["items"]), ["Article 1"], "starred")
    same(sorted(short(app.get(f"/stream/contents/{STATE}read")["items"])), ["Article 0", "Article 10"], "read")
    same(len(app.get("/stream/items/ids", s=STATE + "reading-list", it=STATE + "starred", n=9)["itemRefs"]), 1, "it")
    item = app.get(f"/stream/contents/{STATE}read")["items"][0]
    check(STATE + "read" in item["categories"], "it says so", item["categories"])
    app.post("/edit-tag", ("i", ids["Article 0"]), ("r", STATE + "read"), ("a", STATE + "kept-unread")).want(200)
    app.post("/edit-tag", ("i", ids["Article 1"]), ("r", STATE + "starred")).want(200)
    same((w.state()["Article 0"], w.state()["Article 1"]), ((False, False), (False, False)), "taken back")


def test_read_all(t):
    w = World(t.srv, t)
    app = App(w)
    item = app.get(f"/stream/contents/feed/{w.alpha}")["items"][0]
    app.post("/mark-all-as-read", ("s", f"feed/{w.alpha}"), ("ts", str(int(item["timestampUsec"]) - 3600 * 1000000))).want(200)
    same(sum(r for r, _ in w.state().values()), 0, "what came later stays")
    app.post("/mark-all-as-read", ("s", f"feed/{w.alpha}"), ("ts", str(int(item["timestampUsec"]) + 3600 * 1000000))).want(200)
    same(sum(r for r, _ in w.state().values()), 3, "a feed")
    app.post("/mark-all-as-read", ("s", STATE + "reading-list")).want(200)
    same(sum(r for r, _ in w.state().values()), 5, "all")
    no(app.post("/mark-all-as-read", ("s", "user/-/label/None")), 404)


def test_subscriptions(t):
    w = World(t.srv, t)
    app = App(w)
    w.site.put("/gamma", rss(1, title="Gamma"))
    got = app.post("/subscription/quickadd", ("quickadd", w.site.url("/gamma"))).want(200).json
    same((got["numResults"], got["streamName"]), (1, "Gamma"), "added")
    sid = got["streamId"]
    app.post("/subscription/edit", ("ac", "edit"), ("s", sid), ("t", "My gamma"), ("a", "user/-/label/Fresh")).want(200)
    subs = {s["id"]: s for s in app.get("/subscription/list")["subscriptions"]}
    same((subs[sid]["title"], subs[sid]["categories"][0]["label"]), ("My gamma", "Fresh"), "named and labelled")
    app.post("/rename-tag", ("s", "user/-/label/Fresh"), ("dest", "user/-/label/Cool")).want(200)
    check("user/-/label/Cool" in [x["id"] for x in app.get("/tag/list")["tags"]], "renamed")
    app.post("/disable-tag", ("s", "user/-/label/Cool")).want(200)
    subs = {s["id"]: s for s in app.get("/subscription/list")["subscriptions"]}
    same(subs[sid]["categories"], [], "the feed stays, without a label")
    app.post("/subscription/edit", ("ac", "unsubscribe"), ("s", sid)).want(200)
    check(sid not in [s["id"] for s in app.get("/subscription/list")["subscriptions"]], "gone")
    w.site.put("/late", rss(1, title="Late"))
    app.post("/subscription/edit", ("ac", "subscribe"), ("s", "feed/" + w.site.url("/late")), ("t", "late"), ("a", "user/-/label/News")).want(200)
    until(lambda: any(c["count"] for c in app.get("/unread-count")["unreadcounts"]
                      if c["id"] == next(s["id"] for s in app.get("/subscription/list")["subscriptions"] if s["title"] == "late")),
          "the fetcher takes it", 30)
    for pairs, status in (((("ac", "edit"), ("s", "feed/999999")), 404), ((("ac", "x"), ("s", f"feed/{w.alpha}")), 422),
                          ((("ac", "subscribe"), ("s", "feed/ftp://x/")), 422), ((("ac", "edit"), ("s", "x")), 422)):
        no(app.post("/subscription/edit", *pairs), status)


def test_the_token(t):
    w = World(t.srv, t)
    app = App(w)
    same(app.c.get(R0 + "/token").body.decode().strip(), app.T, "the same each time")
    app.T = "x" * 40
    a = no(app.post("/edit-tag", ("i", "1"), ("a", STATE + "read")), 401)
    same(a.headers["X-Reader-Google-Bad-Token"], "true", "the app asks for a new one")
    app.post("/edit-tag", ("i", "1"), ("a", STATE + "read"), T=False).want(200)


def test_like_freshrss(t):
    w = World(t.srv, t)
    app = App(w, "/api/greader.php")
    same(len(app.get(f"/stream/contents/{STATE}reading-list")["items"]), 5, "by the path of FreshRSS")
    app.post("/mark-all-as-read", ("s", STATE + "reading-list")).want(200)
    same(sum(r for r, _ in w.state().values()), 5, "changed")


def test_nobody_elses(t):
    w, other = World(t.srv, t), World(t.srv, t)
    app = App(w)
    theirs = App(other).get("/stream/items/ids", s=STATE + "reading-list", n=50)["itemRefs"]
    pairs = [("i", r["id"]) for r in theirs]
    same(app.post("/stream/items/contents", *pairs, T=False).want(200).json["items"], [], "not seen")
    app.post("/edit-tag", *pairs, ("a", STATE + "read"), ("a", STATE + "starred")).want(200)
    same(set(other.state().values()), {(False, False)}, "not changed")
    no(app.post("/mark-all-as-read", ("s", f"feed/{other.alpha}")), 404)
