"""How much a person may ask for (seed 002, 13.1, 13.2), by apps that sync and on several nodes."""
import collections
import hashlib
import time

import feedsite
import hk
from apps import FORM, form, opml, outline, token
from feedsite import Site, rss
from hk import basic, check, same

MF, GR = "/miniflux/v1", "/reader/api/0"


class App:
    """An app of a new person; each call is one of a protocol."""

    def __init__(self, srv, name):
        srv.admin().post("/v1/users", {"name": name, "password": "long-enough"}).want(201)
        self.api = srv.connect(basic(name, "long-enough"), timeout=40)
        self.name, self.word = name, token(self.api)["token"]
        self.app = srv.connect(basic(name, self.word), timeout=40)
        self.key = hashlib.md5(f"{name}:{self.word}".encode()).hexdigest()

    def mf(self, path, method="GET", body=None):
        return self.app(method, MF + path, body)

    def gr(self, path, *pairs):
        return self.app("POST" if pairs else "GET", GR + path, form(*pairs) if pairs else None,
                        FORM if pairs else {})

    def fever(self, what):
        return self.app("POST", "/fever/?api&" + what, form(("api_key", self.key)), FORM)


def test_13_1_apps_count_too(t):
    """rate.limit.general is one count for a person, whatever protocol an app speaks."""
    srv = t.server(RATE_LIMIT_GENERAL="30")
    anna, bert = App(srv, "anna"), App(srv, "bert")
    calls = (lambda: anna.mf("/me"), lambda: anna.gr("/user-info"), lambda: anna.fever("groups"))
    seen = collections.Counter(calls[i % 3]().status for i in range(48))
    # One made the app password; a few come back while we ask.
    check(29 <= seen[200] <= 40 and seen[200] + seen[429] == 48, "thirty", seen)
    for call in (*calls, lambda: anna.mf("/entries"), lambda: anna.gr("/stream/contents"),
                 lambda: anna.fever("items"), lambda: anna.fever("items&favicons"),
                 lambda: anna.api.get("/api/items")):
        answers = [call() for _ in range(4)]
        late = [a for a in answers if a.status == 429]
        check(late, "used up", answers)
        check(int(late[0].headers["Retry-After"]) >= 1, "when to come again", late[0].headers.items())
    same(set(next(a for a in (anna.mf("/me") for _ in range(9)) if a.status == 429).json),
         {"error_message"}, "in the words of the protocol")
    same([bert.mf("/me").status, bert.fever("groups").status], [200, 200], "another is not touched")


def test_13_1_what_does_not_count(t):
    """Pictures, and calls that tell or set the states of many articles, are free."""
    srv = t.server(RATE_LIMIT_GENERAL="5")
    anna = App(srv, "anna")
    while anna.mf("/me").status != 429:
        pass
    for _ in range(12):
        for a in (anna.mf("/feeds/1/icon"), anna.mf("/icons/1"),
                  anna.api.get(f"/api/feeds/{hk.new_id()}/favicon"),
                  anna.mf("/entries", "PUT", {"entry_ids": [1], "status": "read"}),
                  anna.gr("/edit-tag", ("i", "1"), ("a", "user/-/state/com.google/read")),
                  anna.app.get(GR + "/stream/items/ids?s=user/-/state/com.google/reading-list"),
                  anna.fever("favicons"), anna.fever("unread_item_ids"), anna.fever("saved_item_ids")):
            check(a.status in (200, 204, 404), "not counted", a)


def test_13_2_feeds_that_apps_add(t):
    """rate.limit.feed.reg holds for feeds whatever way they come; a list is one."""
    srv, site = t.server(**{**feedsite.SETTINGS, "RATE_LIMIT_FEED_REG": "4"}), Site(t)
    for i in range(12):
        site.put(f"/{i}", rss(1, title=f"F{i}", link=f"http://127.0.0.1/{i}/"))
    u = [site.url(f"/{i}") for i in range(12)]
    ways = {
        "Miniflux": lambda x, i: x.mf("/feeds", "POST", {"feed_url": u[i]}),
        "quickadd": lambda x, i: x.gr("/subscription/quickadd", ("quickadd", u[i])),
        "edit": lambda x, i: x.gr("/subscription/edit", ("ac", "subscribe"), ("s", "feed/" + u[i])),
        "POST /api/feeds": lambda x, i: x.api.post("/api/feeds", {"url": u[i]}),
        "OPML": lambda x, i: x.app("POST", MF + "/import", opml(outline(u[i]))),
        "OPML of ours": lambda x, i: x.api("POST", "/api/opml", opml(outline(u[i])),
                                           {"Content-Type": "text/x-opml"}),
    }
    for n, (way, add) in enumerate(ways.items()):
        x = App(srv, f"p{n}")
        same([add(x, i).status // 100 for i in range(4)], [2] * 4, way)
        # One comes back each quarter of a minute: not two in a row.
        late = [a for a in (add(x, 4), add(x, 5)) if a.status == 429]
        check(late and 1 <= int(late[-1].headers["Retry-After"]) <= 15, way, late)
        same(x.mf("/me").status, 200, "other calls go on")
        for other, again in ways.items():
            check(429 in (again(x, 6).status, again(x, 7).status), f"{other} after {way}")
    x = App(srv, "many")
    a = x.gr("/subscription/edit", ("ac", "subscribe"), *(("s", "feed/" + v) for v in u[:4]))
    same(a.status, 200, "four in one call")
    check(429 in (ways["edit"](x, 5).status, ways["edit"](x, 6).status), "cost four")
    same(x.gr("/subscription/edit", ("ac", "unsubscribe"), ("s", "feed/" + u[0])).status, 200,
         "to leave costs nothing")


def test_13_1_two_nodes(t):
    """What was used up at one node is known at another within moments; the bound holds."""
    if hk.STORE != "postgres":
        raise hk.Skip("SQLite has one node")
    rate, key = 60, feedsite.shared_key(t)
    one = t.server(RATE_LIMIT_GENERAL=str(rate), **key)
    two = t.server(url=one.url, RATE_LIMIT_GENERAL=str(rate), **key)
    anna = App(one, "anna")
    there = two.connect(basic("anna", anna.word), timeout=40)
    began = time.monotonic()
    here = 0
    while anna.mf("/me").status == 200:
        here += 1
    passed = 0
    for _ in range(50):
        if there.get(MF + "/me").status == 429:
            break
        passed += 1
        time.sleep(0.3)
    # By itself the other node has sixty at once.
    check(passed < 50, "the other node knows", passed)
    minutes = (time.monotonic() - began) / 60
    check(here + passed <= rate * (minutes + 2) + 2 * rate / 60, "rate × (minutes + nodes)",
          here, passed, minutes)
    same(one.rows("SELECT count(*) FROM rate WHERE kind = 0"), [("1",)], "one bucket for all")
