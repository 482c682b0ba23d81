"""Miniflux's own integration tests, from its Go module, against us.

They take the address of a feed from the environment; two name a site of the internet, which a
proxy of ours finds on loopback. Those of MISSES can't pass: docs/reader-apps.md says of each why.
"""
import os
import re
import ssl
import subprocess

import hk
from apps import ICON, SETTINGS as FEEDS
from feedsite import HTML, Site
from hk import Skip, check, same
from pki import Pki
from proxy import Proxy

SETTINGS = FEEDS
BUILT = os.path.join(hk.ROOT, "build", "soak")
DOC = os.path.join(hk.ROOT, "docs", "reader-apps.md")
MISSES = {
    "TestAPIKeysEndpoint", "TestCreateFeedWithScraperRule", "TestUpdateEntryEndpoint",
    "TestFetchContentEndpoint", "TestImportFeedEntryEndpoint",
}


def releases(link):
    """A feed like that of Miniflux' own site: its releases, oldest last."""
    items = "".join(
        f"<item><title>Miniflux 2.0.{n}</title><link>{link}releases/2.0.{n}.html</link><guid>r-{n}</guid>"
        f'<pubDate>Tue, 10 Nov 2026 {n:02}:00:00 GMT</pubDate><enclosure url="{link}{n}.mp3" type="audio/mpeg" length="7"/>'
        f"<description>Release notes, number {n}.</description></item>" for n in range(20, 0, -1))
    return (f'<?xml version="1.0"?><rss version="2.0"><channel><title>Miniflux</title><link>{link}</link>'
            f"<description>d</description>{items}</channel></rss>").encode()


def secure(t, p):
    """A site with TLS, for names of the internet."""
    s = Site(t)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*p.make("site", "DNS:example.org,DNS:github.com"))
    s.http.socket = context.wrap_socket(s.http.socket, server_side=True)
    return s


def test_integration(t):
    program = os.path.join(BUILT, "miniflux.test")
    if not os.access(program, os.X_OK):
        raise Skip("no build/soak/miniflux.test: tests/soak/install makes it")
    site, p = Site(t), Pki(t.path(""))
    site.put("/", b'<html><head><link rel="alternate" type="application/rss+xml" title="Miniflux Releases" href="/feed.xml">'
             b'<link rel="icon" href="/icon.png"></head></html>', HTML)
    site.put("/feed.xml", releases(site.url("/")))
    site.put("/icon.png", ICON, "image/png")
    far = secure(t, p)
    far.put("/feed.xml", releases("https://example.org/"))
    far.put("/miniflux/v2/commits.atom", releases("https://github.com/"))
    there = ("127.0.0.1", far.port)
    proxy = Proxy(t, {"example.org:443": there, "github.com:443": there})
    srv = t.server(**FEEDS, WEBHOOK_PROXY=proxy.url, WEBHOOK_PROXY_RESOLVES="true", WEBHOOK_TLS_CA=p.ca)
    env = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
    env |= {"TEST_MINIFLUX_" + k: v for k, v in {
        "BASE_URL": f"http://127.0.0.1:{srv.port}/miniflux", "ADMIN_USERNAME": "admin", "ADMIN_PASSWORD": hk.PASSWORD,
        "REGULAR_USERNAME_PREFIX": "u", "REGULAR_PASSWORD": "four words of some length", "FEED_URL": site.url("/feed.xml"),
        "FEED_TITLE": "Miniflux", "SUBSCRIPTION_TITLE": "Miniflux Releases", "WEBSITE_URL": site.url("/")}.items()}
    with open(os.path.join(BUILT, "miniflux.names")) as f:
        names = f.read().split()
    run = subprocess.run([program, "-test.v", "-test.run", "^(" + "|".join(names) + ")$"], env=env, cwd=t.path(""),
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200 * hk.SLOW)
    came = {name: word for word, name in re.findall(r"^--- (PASS|FAIL|SKIP): (\w+)", run.stdout, re.M)}
    same(sorted(came), sorted(names), "each of them ran")
    missed = {n for n, w in came.items() if w != "PASS"}
    same(sorted(missed), sorted(MISSES), f"which did not pass of {len(names)}\n{run.stdout[-6000:]}")
    check(len(names) >= 80, "all of them are there", len(names))
    with open(DOC, encoding="utf-8") as f:
        text = f.read()
    check(all(f"`{n}`" in text for n in MISSES), "each is named in docs/reader-apps.md")
