"""readers - what the tests of articles and subscriptions share."""
import os
import sqlite3
import time

import hk
from feedsite import SETTINGS as SITE, Site, add, person  # noqa: F401
from hk import check, same, until

SETTINGS = {**SITE, "FETCH_INTERVAL": "200ms"}


def execute(srv, sql):
    """Changes the store behind the server's back."""
    if srv.url:
        hk.psql(srv.url, sql)
        return
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=20)
    try:
        with db:
            db.execute(sql)
    finally:
        db.close()


def one(srv, sql):
    rows = srv.rows(sql)
    return rows[0][0] if rows else None


def doc(items, title="Feed"):
    """A JSON Feed; items are dicts."""
    return hk.dump({"version": "https://jsonfeed.org/version/1.1", "title": title, "items": items})


def put(site, path, items, title="Feed"):
    site.put(path, doc(items, title), "application/feed+json")


def article(i, **more):
    return {"id": f"a{i}", "url": f"https://example.com/{i}", "title": f"Article {i}",
            "date_published": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_790_000_000 + 60 * i)),
            **more}


def refetch(srv, site, path):
    """Has the feed fetched now, and waits until it was written."""
    url = site.url(path)
    n = f"SELECT count(*) FROM feed_fetch x JOIN feed f ON f.id = x.feed_id WHERE f.feed_url = '{url}'"
    before = one(srv, n)
    execute(srv, f"UPDATE feed SET next_fetch_at = 0 WHERE feed_url = '{url}'")
    until(lambda: one(srv, n) != before, "the feed is fetched again", 30)


def ok(answer, status=200):
    check(answer.status == status, f"want {status}", answer)
    return answer.json if answer.body else None


def put_state(c, item, **state):
    return c("PUT", f"/api/items/{item}/state", state)


def pages(c, path, **query):
    """All articles of a list, page by page."""
    out, n = [], 0
    while True:
        page = ok(c.get(path, **query))
        out += page["items"]
        n += 1
        same("next_cursor" in page, page["has_more"], "next_cursor stands there when there is more")
        if not page["has_more"]:
            return out
        same(len(page["items"]), 50, "a full page")
        check(n < 1000, "an end")
        query["cursor"] = page["next_cursor"]


def wrong_field(answer, field, status=400):
    check(answer.status == status, f"want {status} for {field}", answer)
    j = answer.json
    check({"code", "message", "category", "action"} <= set(j), "the error shape", answer)
    check(field in [f["field"] for f in j.get("fields", [])], f"names {field}", answer)
    return j
