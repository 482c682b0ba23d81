"""Lists of subscriptions: OPML in and out."""
import xml.etree.ElementTree as ET

from apps import SETTINGS, World, folder, imported, no, opml, outline  # noqa: F401
from feedsite import Site, add, person, rss, wrong
from hk import check, same, until


def listed(c):
    """{(category, title, url, site)} of what is exported."""
    a = c.get("/api/opml").want(200)
    check("attachment" in a.headers["Content-Disposition"], "a file", a.headers.items())
    root = ET.fromstring(a.body)
    same((root.tag, root.get("version")), ("opml", "2.0"), "the root")
    out = set()
    for o in root.find("body"):
        for f, name in [(o, "")] if o.get("xmlUrl") else [(x, o.get("text")) for x in o]:
            out.add((name, f.get("text"), f.get("xmlUrl"), f.get("htmlUrl") or ""))
    return out


def test_round_trip(t):
    s = Site(t)
    one, two = person(t.srv, "opml-one"), person(t.srv, "opml-two")
    xml = opml(folder("A & B".replace("&", "&amp;"), outline(s.url("/1"), "One &lt;1&gt;", s.url("/"))),
               folder("Outer", folder("Inner", outline(s.url("/2"), "Zwei ü"))),
               outline(s.url("/3?x=1&amp;y=2"), "Three"))
    got = imported(one, xml)
    same((got["added"], got["known"], got["refused"]), (3, 0, []), "taken")
    want = {("A & B", "One <1>", s.url("/1"), s.url("/")), ("Outer / Inner", "Zwei ü", s.url("/2"), ""),
            ("", "Three", s.url("/3?x=1&y=2"), "")}
    same(listed(one), want, "given out again")
    same(imported(two, one.get("/api/opml").body)["added"], 3, "taken by another")
    same(listed(two), want, "the same there")
    again = imported(one, one.get("/api/opml").body)
    same((again["added"], again["known"], again["refused"]), (0, 3, []), "all known")


def test_fetched_later(t):
    w = World(t.srv, t)
    same(len(w.site.at("/alpha")) >= 1, True, "the fetcher took it")
    subs = w.api.get("/api/subscriptions").want(200).json
    titles = {x["feed_title"] for x in (subs["subscriptions"] if isinstance(subs, dict) else subs)}
    same(titles, {"alpha", "beta"}, "by the names of the list")


def test_broken(t):
    s, c = Site(t), person(t.srv, "opml-broken")
    s.put("/f", rss(1))
    xml = (b'\xef\xbb\xbfjunk <?xml version="1.0"?><!DOCTYPE opml [<!ENTITY a "b">]><opml><body>'
           b'<outline text=Tom & Jerry xmlUrl="' + s.url("/f").encode() + b'?a=1&b=2">'
           b'<outline text="caf\xe9" xmlUrl="' + s.url("/g").encode() + b'" /')
    got = imported(c, xml)
    same(got["added"], 1, "what a person could read is taken")
    for bad in (b"", b"hello", b"<html><body>no</body></html>", rss(1)):
        a = c("POST", "/api/opml", bad, {"Content-Type": "text/xml"})
        check(a.status == 400 and a.json["message"], "refused in words", a)


def test_refused(t):
    s, c = Site(t), person(t.srv, "opml-refused")
    got = imported(c, opml(outline("ftp://example.com/x", "A"), outline("http://10.0.0.1/f", "B"),
                           outline("javascript:alert(1)", "C"), outline(s.url("/ok"), "D"),
                           outline(s.url("/ok"), "again")))
    same((got["added"], got["known"]), (1, 1), "one, and one that is twice there")
    same([(x["title"], x["code"]) for x in got["refused"]],
         [(n, "URL_REFUSED") for n in "ABC"], "the rest with a reason")
    check(all(x["message"] for x in got["refused"]), "in words", got["refused"])


def test_limit(t):
    s, c = Site(t), person(t.srv, "opml-limit")
    got = imported(c, opml(*(outline(s.url(f"/{i}"), f"F{i}") for i in range(103))))
    same((got["added"], len(got["refused"])), (100, 3), "a hundred")
    same({x["code"] for x in got["refused"]}, {"SUBSCRIPTION_LIMIT"}, "why")


def test_2_8_limit_is_a_setting(t):
    """reader.feeds.max: for a list and for one that is added; what one has stays when it is lowered."""
    srv = t.server(READER_FEEDS_MAX="130")
    s, c = Site(t), person(srv)
    for i in range(3):
        s.put(f"/f{i}", rss(0, f"feed {i}", link=""))
    got = imported(c, opml(*(outline(s.url(f"/o{i}"), f"O{i}") for i in range(131))))
    same((got["added"], [x["code"] for x in got["refused"]]), (130, ["SUBSCRIPTION_LIMIT"]), "a list")
    j = wrong(c.post("/api/feeds", {"url": s.url("/f0")}), 409, "SUBSCRIPTION_LIMIT")
    check("130" in j["message"], "how many", j)
    same(len(c.get("/api/subscriptions").want(200).json), 130, "all are listed")
    same(len(listed(c)), 130, "and written out")
    srv.settings["READER_FEEDS_MAX"] = "2"
    srv.restart()
    d = person(srv, "dora")
    for i in range(2):
        add(d, s.url(f"/f{i}"))
    wrong(d.post("/api/feeds", {"url": s.url("/f2")}), 409, "SUBSCRIPTION_LIMIT")
    same(srv.rows("SELECT COUNT(*) FROM feed_subscription"), [("132",)], "nobody lost one")


def test_of_nobody_else(t):
    w = World(t.srv, t)
    other = person(t.srv, "opml-other")
    same(listed(other), set(), "nothing of somebody else")
    same(len(listed(w.api)), 2, "all of one's own")
    no(t.srv.connect().get("/api/opml"), 401)


def test_large(t):
    s, c = Site(t), person(t.srv, "opml-large")
    xml = opml(*(outline(s.url(f"/{i}"), "x" * 200) for i in range(6000)))
    got = imported(c, xml)
    same((got["added"], len(got["refused"])), (100, 5900), "bounded, and told")
    n = t.srv.rows(f"SELECT count(*) FROM feed WHERE feed_url LIKE '{s.url('/')}%'")
    same(n, [("100",)], "no feed is left that nobody has")
    a = c("POST", "/api/opml", b"<opml>" + b" " * (5 << 20), {"Content-Type": "text/xml"})
    same(a.status, 413, "too large")


def test_command_line(t):
    s, c = Site(t), person(t.srv, "opml-cli")
    with open(t.path("in.opml"), "wb") as f:
        f.write(opml(folder("Cli", outline(s.url("/x"), "X")), outline("ftp://x/", "bad")))
    got = t.srv.cli("opml", "import", t.path("in.opml"), "--user", "opml-cli").want(0)
    check("1 added, 0 known, 1 refused" in got.out and "ftp://x/" in got.err, "told", got)
    same(listed(c), {("Cli", "X", s.url("/x"), "")}, "taken")
    out = t.srv.cli("opml", "export", "--user", "opml-cli").want(0).out
    same(out.split("<body>")[1], c.get("/api/opml").body.decode().split("<body>")[1], "the same file")
    t.srv.cli("opml", "export", "--user", "nobody-here").want(1)
    t.srv.cli("opml", "import", "/nonexistent", "--user", "opml-cli").want(1)
