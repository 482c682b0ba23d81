"""Adding feeds: POST /api/feeds, PATCH /api/feeds/{id} (seed 002, 2.1 to 2.8, 12.1, 12.2)."""
import threading

from feedsite import HTML, PNG, SETTINGS, Site, add, atom, feed, fetches, person, rss, wrong
from hk import check, same


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
