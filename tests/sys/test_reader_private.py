"""Private feeds: nobody but who reads them learns their address, or what is in them."""
from feedsite import Site, add, person, rss, wrong
from hk import check, same, until
from readers import SETTINGS, execute, one

TOKEN = "AbCdEf0123456789"


def text_of_events(srv):
    return " ".join(str(e) for e in srv.client().events())


def of_feed(srv, id):
    return [e for e in srv.client().events() if e["payload"]["feed"]["id"] == id]


def test_a_secret_address_is_private(t):
    """A token in the address, and nobody has to say so."""
    srv, s = t.server(), Site(t)
    c = person(srv, "ann")
    s.put(f"/mine.xml?token={TOKEN}", rss(3, "Only for me", text="between us"))
    j = add(c, s.url(f"/mine.xml?token={TOKEN}"))
    same(j["private"], True, "private")
    other = person(srv, "bob")
    events = of_feed(srv, j["id"])
    same(len(events), 3, "there is an event for each article")
    for e in events:
        same(set(e["payload"]["feed"]) | set(e["payload"]["item"]), {"id", "private"}, "ids alone")
        got = c.get("/api/items/" + e["payload"]["item"]["id"])
        check(got.status == 200 and "between us" in got.body.decode(), "who has it, reads it", got)
        same(other.get("/api/items/" + e["payload"]["item"]["id"]).status, 404, "nobody else")
    for word in (TOKEN, "Only for me", "between us", "/mine.xml"):
        check(word not in text_of_events(srv), f"no {word} in the log")


def test_marked_by_its_reader(t):
    srv, s = t.server(), Site(t)
    ann, bob = person(srv, "ann"), person(srv, "bob")
    for i in (1, 2):
        s.put(f"/{i}.xml", rss(1, f"Feed {i}"))
    a = ann.post("/api/feeds", {"url": s.url("/1.xml"), "private": True})
    same((a.status, a.json["private"]), (201, True), "when it is added")
    check("Feed 1" not in text_of_events(srv), "from the first event on")
    j = add(ann, s.url("/2.xml"))
    same(j["private"], False, "as most are")
    check("Feed 2" in text_of_events(srv), "and events tell of it")
    path = "/api/feeds/" + j["id"]
    same(ann("PATCH", path, {"private": True}).json["private"], True, "later")
    same(ann.get(path).json["private"], True, "it stays")
    s.put("/2.xml", rss(2, "Feed 2"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: len(of_feed(srv, j["id"])) == 2, "the new article", 30)
    same(of_feed(srv, j["id"])[-1]["payload"]["feed"], {"id": j["id"], "private": True}, "ids alone")
    same(ann("PATCH", path, {"private": False}).json["private"], False, "and back")
    for body in ({"private": "yes"}, {"private": True, "feed_url": s.url("/1.xml")}):
        wrong(ann("PATCH", path, body), 400, "INVALID_FIELD")
    same(bob("PATCH", path, {"private": True}).status, 404, "not by somebody else")
    add(bob, s.url("/2.xml"))
    wrong(bob("PATCH", path, {"private": True}), 409, "NOT_ALONE")
    wrong(ann("PATCH", path, {"private": True}), 409, "NOT_ALONE")
    got = person(srv, "eve").post("/api/feeds", {"url": s.url("/2.xml"), "private": True})
    same((got.status, got.json["private"]), (201, False), "the answer tells that it is not")
    admin = person(srv)
    add(admin, s.url("/2.xml"))
    same(admin("PATCH", path, {"private": True}).json["private"], True, "an admin may")


def test_a_feed_that_moves_to_a_secret(t):
    """It is private from then on."""
    srv, s = t.server(), Site(t)
    c = person(srv, "ann")
    s.put("/old.xml", rss(1, "Moves"))
    j = add(c, s.url("/old.xml"))
    s.put(f"/new.xml?key={TOKEN}", rss(2, "Moves"))
    s.put("/old.xml", b"", status=301, Location=s.url(f"/new.xml?key={TOKEN}"))
    execute(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: TOKEN in c.get("/api/feeds/" + j["id"]).json["feed_url"], "it moved", 30)
    same(c.get("/api/feeds/" + j["id"]).json["private"], True, "private")
    check(TOKEN not in text_of_events(srv), "no event has it")


def test_no_credentials_in_events(t):
    """Links and enclosures come without what stands before the @."""
    srv, s = t.server(), Site(t)
    c = person(srv, "ann")
    s.put("/p.xml", b'<rss version="2.0"><channel><title>P</title><link>http://x/</link><item>'
          b"<title>T</title><link>https://anna:hush@example.com/1</link><guid>https://anna:hush@example.com/g</guid>"
          b'<enclosure url="https://anna:hush@example.com/e.mp3" type="audio/mpeg" length="1"/>'
          b"</item></channel></rss>")
    j = add(c, s.url("/p.xml"))
    e, = of_feed(srv, j["id"])
    check("hush" not in str(e) and "anna" not in str(e), "none", e)
    same(e["payload"]["item"]["enclosures"][0]["url"], "https://example.com/e.mp3", "enclosure")
    check(one(srv, "SELECT count(*) FROM feed_item WHERE enclosures LIKE '%hush%'") == "1",
          "who has the feed gets it whole")
