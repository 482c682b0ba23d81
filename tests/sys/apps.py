"""apps - what the tests of apps that sync begin with.

  w = World(t.srv, t)       a person of its own with an app password, subscribed by
                            OPML to two feeds, News / alpha (3 articles) and beta (2)
  w.api(method, path, …)    as this person, with the account's password
"""
import hashlib
import json
import urllib.parse
import uuid

import feedsite
from feedsite import Site, person, rss
from hk import basic, check, until

SETTINGS = {**feedsite.SETTINGS, "FETCH_INTERVAL": "200ms"}
ICON = b"\x89PNG\r\n\x1a\n" + b"\0" * 24


def opml(*outlines, title="Mine"):
    return (f'<?xml version="1.0" encoding="UTF-8"?><opml version="2.0"><head><title>{title}'
            f'</title></head><body>{"".join(outlines)}</body></opml>').encode()


def outline(url, text="", site=""):
    return f'<outline type="rss" text="{text}" xmlUrl="{url}" htmlUrl="{site}"/>'


def folder(name, *inside):
    return f'<outline text="{name}">{"".join(inside)}</outline>'


def token(c, name="phone"):
    return c.post("/api/users/me/tokens", {"name": name}).want(201).json


def imported(c, xml, kind="text/x-opml"):
    return c("POST", "/api/opml", xml, {"Content-Type": kind}).want(200).json


class World:
    def __init__(self, srv, t, name=None):
        self.srv, self.name = srv, name or "p" + uuid.uuid4().hex[:8]
        self.site = Site(t)
        self.site.put("/alpha", rss(3, title="Alpha", link=self.site.url("/")))
        self.site.put("/beta", rss(2, title="Beta", link=self.site.url("/b/"), start=10))
        self.api = person(srv, self.name)
        self.token = token(self.api)["token"]
        got = imported(self.api, opml(
            folder("News", outline(self.site.url("/alpha"), "alpha", self.site.url("/"))),
            outline(self.site.url("/beta"), "beta")))
        check(got["added"] == 2 and got["refused"] == [], "both are taken", got)
        self.mf = srv.connect(basic(self.name, self.token), timeout=40)
        until(lambda: self.entries(limit=1)["total"] == 5, "both are fetched", 40)
        feeds = {f["title"]: f["id"] for f in self.mf.get("/miniflux/v1/feeds").want(200).json}
        self.alpha, self.beta = feeds["alpha"], feeds["beta"]

    def entries(self, **query):
        return self.mf.get("/miniflux/v1/entries", **query).want(200).json

    def state(self):
        """{title: (read, starred)}, as our own API has it."""
        page = self.api.get("/api/items").want(200).json
        return {i["title"]: (i["is_read"], i["is_starred"]) for i in page["items"]}

    def fever_key(self):
        return hashlib.md5(f"{self.name}:{self.token}".encode()).hexdigest()


def no(answer, status, says=""):
    """It was refused, in the words of whatever protocol it is."""
    check(answer.status == status and says.encode() in answer.body, f"{status} {says}", answer)
    return answer


def form(*pairs):
    return urllib.parse.urlencode(pairs).encode()


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}


def dump(value):
    return json.dumps(value).encode()
