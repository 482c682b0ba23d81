"""Fever, by the calls that Reeder, ReadKit and Fluent Reader make."""
import time

from apps import FORM, ICON, SETTINGS, World, form, no  # noqa: F401
from feedsite import HTML, rss
from hk import check, same, until


class App:
    def __init__(self, w, key=None, path="/fever/"):
        self.c, self.key, self.path = w.srv.connect(timeout=40), key or w.fever_key(), path

    def ask(self, query="", **body):
        pairs = [("api_key", self.key)] + list(body.items())
        return self.c("POST", self.path + "?api" + query, form(*pairs), FORM).want(200).json


def test_who(t):
    w = World(t.srv, t)
    for path in ("/fever/", "/fever", "/api/fever.php", "/api/fever.php/"):
        got = App(w, path=path).ask()
        same((got["api_version"], got["auth"]), (3, 1), "known")
        check(got["last_refreshed_on_time"] > 0, "refreshed", got)
    same(App(w, w.fever_key().upper()).ask()["auth"], 1, "in capitals")
    for key in ("0" * 32, "", "x", "é" * 16):
        same(App(w, key or " ").ask(), {"api_version": 3, "auth": 0}, "unknown")
    same(t.srv.connect().get("/fever/?api").want(200).json["auth"], 0, "nobody")


def test_guessing(t):
    srv = t.server()
    w = World(srv, t)
    seen = [srv.connect()("POST", "/fever/?api", form(("api_key", f"{i:032x}")), FORM).status for i in range(12)]
    check(seen[0] == 200 and seen[-1] == 429, "slowed down", seen)
    same(App(w).ask()["auth"], 1, "its owner is not")


def test_lists(t):
    w = World(t.srv, t)
    w.site.put("/page", b'<html><head><link rel="alternate" type="application/rss+xml" href="/gamma">'
               b'<link rel="icon" href="/icon.png"></head></html>', HTML)
    w.site.put("/gamma", rss(1, title="Gamma", link=w.site.url("/page")))
    w.site.put("/icon.png", ICON, "image/png")
    w.api.post("/api/feeds", {"url": w.site.url("/page")}).want(201)
    got = App(w).ask("&groups&feeds&favicons&links")
    same([g["title"] for g in got["groups"]], ["News"], "groups")
    same(got["feeds_groups"], [{"group_id": got["groups"][0]["id"], "feed_ids": str(w.alpha)}], "what is in them")
    feeds = {f["title"]: f for f in got["feeds"]}
    same(sorted(feeds), ["Gamma", "alpha", "beta"], "feeds")
    same((feeds["alpha"]["id"], feeds["alpha"]["url"], feeds["alpha"]["is_spark"]), (w.alpha, w.site.url("/alpha"), 0), "one")
    icons = {i["id"]: i["data"] for i in got["favicons"]}
    check(icons[feeds["Gamma"]["favicon_id"]].startswith("image/png;base64,"), "an icon", icons)
    same((feeds["alpha"]["favicon_id"], got["links"]), (0, []), "none")


def test_items(t):
    w = World(t.srv, t)
    w.site.put("/many", rss(120, title="Many", start=200))
    w.api.post("/api/feeds", {"url": w.site.url("/many")}).want(201)
    app, seen, since = App(w), [], 0
    while True:
        got = app.ask(f"&items&since_id={since}")
        same(got["total_items"], 125, "all there are")
        if not got["items"]:
            break
        check(len(got["items"]) <= 50, "fifty at most")
        seen += got["items"]
        since = max(i["id"] for i in got["items"])
    same(len({i["id"] for i in seen}), 125, "upwards, each once")
    first = seen[0]
    check(first["html"] and first["url"] and first["created_on_time"] > 0 and first["is_read"] == 0, "one", first)
    down = app.ask(f"&items&max_id={seen[60]['id']}")["items"]
    same([i["id"] for i in down], [i["id"] for i in seen[59:9:-1]], "downwards")
    want = [seen[3]["id"], seen[100]["id"]]
    same([i["id"] for i in app.ask(f"&items&with_ids={want[0]},x,{want[1]},99999999")["items"]], want, "by their ids")


def test_marks(t):
    w = World(t.srv, t)
    app = App(w)
    ids = {i["title"]: i["id"] for i in app.ask("&items")["items"]}
    app.ask(mark="item", **{"as": "read", "id": str(ids["Article 0"])})
    app.ask(mark="item", **{"as": "saved", "id": str(ids["Article 1"])})
    same((w.state()["Article 0"], w.state()["Article 1"]), ((True, False), (False, True)), "our own API sees it")
    got = app.ask("&unread_item_ids&saved_item_ids")
    same({int(i) for i in got["unread_item_ids"].split(",")}, set(ids.values()) - {ids["Article 0"]}, "unread")
    same(got["saved_item_ids"], str(ids["Article 1"]), "saved")
    app.ask(mark="item", **{"as": "unread", "id": str(ids["Article 0"])})
    app.ask(mark="item", **{"as": "unsaved", "id": str(ids["Article 1"])})
    same(set(w.state().values()), {(False, False)}, "taken back")
    app.ask(mark="feed", **{"as": "read", "id": str(w.alpha), "before": str(int(time.time()) - 3600)})
    same(sum(r for r, _ in w.state().values()), 0, "what came since stays")
    got = app.ask("&unread_item_ids", mark="feed", **{"as": "read", "id": str(w.alpha), "before": str(int(time.time()) + 5)})
    same(len(got["unread_item_ids"].split(",")), 2, "a feed, and what is then unread")
    app.ask(mark="group", **{"as": "read", "id": "0", "before": str(int(time.time()) + 5)})
    same(app.ask("&unread_item_ids")["unread_item_ids"], "", "group 0 is all")
    for bad in ({"mark": "x", "as": "read", "id": "1"}, {"mark": "item", "as": "x", "id": "1"}, {"mark": "feed", "as": "saved", "id": "1"},
                {"mark": "item", "as": "read", "id": "x"}):
        no(app.c("POST", "/fever/?api", form(("api_key", app.key), *bad.items()), FORM), 422)


def test_a_group(t):
    w = World(t.srv, t)
    app = App(w)
    group = app.ask("&groups")["groups"][0]["id"]
    app.ask(mark="group", **{"as": "read", "id": str(group), "before": str(int(time.time()) + 5)})
    same(sorted(n for n, (r, _) in w.state().items() if r), ["Article 0", "Article 1", "Article 2"], "its feeds")


def test_nobody_elses(t):
    w, other = World(t.srv, t), World(t.srv, t)
    theirs = App(other).ask("&items")["items"]
    app = App(w)
    same(app.ask("&items&with_ids=" + ",".join(str(i["id"]) for i in theirs))["items"], [], "not seen")
    app.ask(mark="item", **{"as": "read", "id": str(theirs[0]["id"])})
    app.ask(mark="feed", **{"as": "read", "id": str(other.alpha), "before": str(int(time.time()) + 5)})
    same(set(other.state().values()), {(False, False)}, "not changed")
