"""What a hostile server can send a reader: seed 002, 8.4, 9.3, 12.1, 12.2.

Each is added by its address, which fails in words, and is what a feed that was
good becomes, which backs off; memory and time stay bounded.
"""
import ctypes
import time
import zlib

import feedsite
import hk
from feedsite import HTML, Site, add, change, due, feed, fetches, person, rss, wrong
from hk import check, same, until
from netns import Dns

SETTINGS = {**feedsite.SETTINGS, "FETCH_INTERVAL": "200ms", "FETCH_TIMEOUT": "4s"}
MEMORY_KB = 400_000  # two feeds of 5 MiB that are read at once, at their worst


def peak(srv):
    with open(f"/proc/{srv.proc.pid}/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("VmHWM:"))


def survives(t, answer, codes, outcome, says="", seconds=12):
    """By its address, then as a feed that turned bad."""
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/bomb", answer)
    begin = time.monotonic()
    a = c.post("/api/feeds", {"url": s.url("/bomb")})
    took = time.monotonic() - begin
    check(a.status == 422 and a.json["code"] in codes, f"one of {codes}", a)
    check(says.lower() in a.json["message"].lower(), f"says {says!r}", a.json)
    check(took < seconds * hk.SLOW, "in time", took)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", answer)
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", seconds + 10)
    last = fetches(srv, s.url("/f"))[-1]
    same(last[0], outcome, "what came of it")
    check(last[2] and says.lower() in last[2].lower(), "in words", last)
    same(feed(srv, s.url("/f"), "fetch_status, items"), ("active", "1"), "the feed is as it was")
    if hk.SLOW == 1:
        check(peak(srv) < MEMORY_KB, "memory (kB)", peak(srv))
    c.get("/v1/whoami").want(200)
    print(f"peak {peak(srv)} kB, {took:.1f} s", flush=True)


def gzip_bomb(h, r):
    """10 GB of zeros: one flushed block, again and again."""
    z = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = z.compress(b"\0" * 10_000_000) + z.flush(zlib.Z_FULL_FLUSH)
    h.send_response_only(200)
    h.send_header("Content-Type", "application/rss+xml")
    h.send_header("Content-Encoding", "gzip")
    h.end_headers()
    h.wfile.write(b"\x1f\x8b\x08\0\0\0\0\0\0\x03")
    for _ in range(1000):
        h.wfile.write(block)
        h.wfile.flush()


def brotli(data):
    lib = ctypes.CDLL("libbrotlienc.so.1")
    out, n = ctypes.create_string_buffer(len(data) // 100 + 1000), ctypes.c_size_t(len(data) // 100 + 1000)
    ok = lib.BrotliEncoderCompress(ctypes.c_int(5), ctypes.c_int(22), ctypes.c_int(0), ctypes.c_size_t(len(data)),
                                   data, ctypes.byref(n), out)
    check(ok == 1, "brotli packs")
    return out.raw[:n.value]


def test_8_4_ten_gigabytes_of_gzip(t):
    survives(t, gzip_bomb, {"FEED_UNREACHABLE"}, "too_large", "5242880 bytes")


def test_8_4_brotli(t):
    body = brotli(b"<rss>" + b" " * 300_000_000)

    def bomb(h, r):
        h.send_response_only(200)
        h.send_header("Content-Encoding", "br")
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)
    survives(t, bomb, {"FEED_UNREACHABLE"}, "too_large", "5242880 bytes")


def test_br_feed(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", brotli(rss(30)), Content_Encoding="br")
    add(c, s.url("/f"))
    same(feed(srv, s.url("/f"), "items"), ("30",), "unpacked")


def plain(body, type="application/xml"):
    def answer(h, r):
        h.send_response_only(200)
        h.send_header("Content-Type", type)
        h.send_header("Content-Length", str(len(body)))
        h.end_headers()
        h.wfile.write(body)
    return answer


def reads(t, body, title, items):
    """It is readable, and harmless."""
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", plain(body))
    begin = time.monotonic()
    j = add(c, s.url("/f"))
    took = time.monotonic() - begin
    check(took < 20 * hk.SLOW, "in time", took)
    if title is not None:
        check(title in j["title"], "its title", j["title"])
    same(feed(srv, s.url("/f"), "items"), (str(items),), "articles")
    if hk.SLOW == 1:
        check(peak(srv) < MEMORY_KB, "memory (kB)", peak(srv))
    print(f"peak {peak(srv)} kB, {took:.1f} s", flush=True)
    return srv, s


def test_billion_laughs(t):
    dtd = '<!ENTITY a0 "lol">' + "".join(
        f'<!ENTITY a{i} "' + f"&a{i - 1};" * 10 + '">' for i in range(1, 10))
    body = (f'<?xml version="1.0"?><!DOCTYPE rss [{dtd}]><rss version="2.0"><channel><title>t</title>'
            "<item><guid>1</guid><title>&a9;</title></item></channel></rss>").encode()
    srv, _ = reads(t, body, "t", 1)
    check(len(srv.rows("SELECT title, uid FROM feed_item")[0][0]) < 100, "nothing grew")


def test_external_entities(t):
    """Neither files nor other servers are read."""
    trap = Site(t, "127.0.0.66")
    body = (f'<?xml version="1.0"?><!DOCTYPE rss SYSTEM "{trap.url("/dtd")}" [<!ENTITY f SYSTEM "file:///etc/passwd">'
            f'<!ENTITY n SYSTEM "{trap.url("/n")}"><!ENTITY % p SYSTEM "{trap.url("/p")}"> %p;]>'
            "<rss version='2.0'><channel><title>t</title><item><guid>1</guid><title>x &f; &n; y</title>"
            "<description>&f;</description></item></channel></rss>").encode()
    srv, _ = reads(t, body, "t", 1)
    row = srv.rows("SELECT title, summary, content FROM feed_item")[0]
    check("root:" not in str(row), "no file", row)
    same(trap.requests, [], "nobody was asked")


def test_five_megabytes_of_div(t):
    deep = b"<div>" * 1_000_000
    body = (b"<rss version='2.0'><channel><title>t</title><item><guid>1</guid><description><![CDATA[" +
            deep + b"]]></description></item></channel></rss>")
    reads(t, body, "t", 1)


def test_five_megabytes_of_div_page(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/p", b"<html>" + b"<div>" * 1_000_000, HTML)
    begin = time.monotonic()
    wrong(c.post("/api/feeds", {"url": s.url("/p")}), 422, "FEED_NOT_DETECTED", "HTML")
    check(time.monotonic() - begin < 10 * hk.SLOW, "in time", time.monotonic() - begin)
    if hk.SLOW == 1:
        check(peak(srv) < MEMORY_KB, "memory (kB)", peak(srv))


def test_nested_elements(t):
    body = b"<rss version='2.0'><channel><title>t</title>" + b"<a>" * 1_500_000
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", plain(body))
    a = c.post("/api/feeds", {"url": s.url("/f")})
    check(a.status in (201, 422), "an answer", a)
    c.get("/v1/whoami").want(200)


def test_a_hundred_thousand_items(t):
    body = (b"<rss version='2.0'><channel><title>t</title>" +
            b"".join(b"<item><guid>%d</guid><title>%d</title></item>" % (i, i) for i in range(100_000)) +
            b"</channel></rss>")
    check(len(body) < 5_242_880, "it fits")
    reads(t, body, "t", 10_000)


def test_never_ends(t):
    def endless(h, r):
        h.send_response_only(200)
        h.end_headers()
        h.wfile.write(b"<rss><channel><title>t</title>")
        while True:
            h.wfile.write(b"<item><title>x</title></item>" * 2000)
    survives(t, endless, {"FEED_UNREACHABLE"}, "too_large", "bytes")


def test_slow_drip(t):
    def drip(h, r):
        h.send_response_only(200)
        h.end_headers()
        for _ in range(200):
            h.wfile.write(b" ")
            h.wfile.flush()
            time.sleep(0.1)
    survives(t, drip, {"FEED_UNREACHABLE"}, "timeout", "time")


def test_silent(t):
    survives(t, lambda h, r: time.sleep(15), {"FEED_UNREACHABLE"}, "timeout", "time")


def test_endless_head(t):
    def head(h, r):
        h.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for i in range(5000):
            h.wfile.write(b"X-%d: %s\r\n" % (i, b"y" * 100))
    survives(t, head, {"FEED_UNREACHABLE"}, "too_large", "head")


def test_drip_of_redirects(t):
    """The limit of time is one for all hops."""
    def hop(h, r):
        time.sleep(1.5)
        h.send_response_only(302)
        h.send_header("Location", "/bomb" if h.path == "/bomb" else h.path)
        h.send_header("Content-Length", "0")
        h.end_headers()
    survives(t, hop, {"FEED_UNREACHABLE"}, "timeout", "time", 8)


def test_redirect_loop(t):
    srv = t.server()
    s, c = Site(t), person(srv)
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", b"", status=301, Location="/g")
    s.put("/g", b"", status=308, Location="/f")
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", 10)
    last = fetches(srv, s.url("/f"))[-1]
    check(last[0] == "redirects" and "more than 5" in last[2], "in words", last)
    same(len(s.at("/f")) + len(s.at("/g")) - 1, 6, "five were followed")


def test_12_1_redirect_to_a_private_address(t):
    srv = t.server(FETCH_URL_ALLOW_PRIVATE="127.0.0.0/24")
    s, trap, c = Site(t), Site(t, "127.2.2.2"), person(srv)
    trap.put("/f", rss(1))
    s.put("/f", rss(1))
    add(c, s.url("/f"))
    s.put("/f", b"", status=301, Location=trap.url("/f"))
    due(srv, s.url("/f"))
    until(lambda: len(fetches(srv, s.url("/f"))) == 2, "fetched", 10)
    same(fetches(srv, s.url("/f"))[-1][0], "refused", "the guard judges each hop")
    same(trap.requests, [], "nobody was there")
    check(feed(srv, s.url("/f"), "items") == ("1",), "its address stays")


def test_12_1_dns_that_changes(t):
    """What was judged is what is connected to; the next look-up is judged again."""
    s = Site(t)
    dns = Dns(t, {"turn.test": lambda n: ["127.0.0.1"] if n <= 1 else ["10.0.0.1"]})
    srv = t.server(WEBHOOK_URL_DNS_SERVERS=dns.at)
    c = person(srv)
    s.put("/f", rss(1, link=""))
    url = f"http://turn.test:{s.port}/f"
    add(c, url)
    time.sleep(2.5)  # an answer is believed for a second
    due(srv, url)
    until(lambda: len(fetches(srv, url)) == 2, "fetched", 10)
    last = fetches(srv, url)[-1]
    check(last[0] == "refused" and "turn.test" in last[2], "refused by its address", last)
    check("10.0.0.1" not in last[2], "which people are not told", last)
    check(any("10.0.0.1" in l.get("error", "") for l in srv.log()), "but the log", last)


def test_many_bombs_at_once(t):
    """Ten hosts, each with a bomb, while a good feed is still fetched."""
    srv = t.server(FETCH_INTERVAL="100ms")
    c = person(srv)
    good = Site(t)
    good.put("/f", rss(1))
    add(c, good.url("/f"))
    sites = [Site(t, f"127.0.6.{i + 1}") for i in range(10)]
    big = plain(rss(50, text="<p>" * 30_000))
    for s in sites:
        s.put("/f", rss(1))
        add(c, s.url("/f"))
    for i, s in enumerate(sites):
        s.put("/f", gzip_bomb if i % 2 else big)
    good.put("/f", rss(2))
    change(srv, "UPDATE feed SET next_fetch_at = 0")
    until(lambda: feed(srv, good.url("/f"), "items") == ("2",), "the good one", 30)
    until(lambda: all(len(fetches(srv, s.url("/f"))) >= 2 for s in sites), "the bad ones", 60)
    if hk.SLOW == 1:
        check(peak(srv) < 2 * MEMORY_KB, "memory (kB)", peak(srv))
    print(f"peak {peak(srv)} kB", flush=True)
