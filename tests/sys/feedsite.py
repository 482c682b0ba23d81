"""feedsite - sites with feeds, for the system tests.

  s = Site(t)                      listens on 127.0.0.1, or Site(t, "127.0.0.7")
  s.url("/feed")                   its address
  s.put("/feed", rss(...), type, **headers)   what is there
  s.put("/x", fn)                  fn(handler, request) answers by itself
  s.at("/feed")                    requests so far, oldest first
  s.busiest                        how many were under way at once, at most

All of 127.0.0.0/8 is loopback: each address is a host of its own for us.
"""
import http.server
import socket
import threading
import time

from hk import SLOW, Client, check, until  # noqa: F401

SETTINGS = {"FETCH_URL_ALLOW_PRIVATE": "127.0.0.0/8", "HATEBU_ENABLED": "false",
            # What a person may do in a minute, tests do in a second (13.1, 13.2 are tested by name).
            "RATE_LIMIT_GENERAL": "0", "RATE_LIMIT_FEED_REG": "0"}
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 24
HTML = "text/html; charset=utf-8"


def rss(items=3, title="A feed", link="http://127.0.0.1/", start=0, text="text"):
    out = [f'<?xml version="1.0"?><rss version="2.0"><channel><title>{title}</title>'
           f"<link>{link}</link><description>d</description>"]
    for i in range(start, start + items):
        out.append(f"<item><title>Article {i}</title><link>{link}a/{i}</link><guid>g-{i}</guid>"
                   f"<pubDate>Tue, 10 Nov 2026 12:{i % 60:02}:00 GMT</pubDate>"
                   f"<description>{text} {i}</description></item>")
    out.append("</channel></rss>")
    return "".join(out).encode()


def atom(items=2, title="An Atom feed"):
    out = [f'<feed xmlns="http://www.w3.org/2005/Atom"><title>{title}</title><id>urn:x</id>'
           "<updated>2026-11-10T12:00:00Z</updated>"]
    for i in range(items):
        out.append(f"<entry><id>urn:e:{i}</id><title>Entry {i}</title>"
                   f"<updated>2026-11-10T12:{i:02}:00Z</updated>"
                   f'<link href="https://example.com/e/{i}"/><summary>s {i}</summary></entry>')
    out.append("</feed>")
    return "".join(out).encode()


class Request:
    def __init__(self, path, headers):
        self.path, self.headers, self.at, self.end = path, headers, time.monotonic(), None


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    wbufsize = -1

    def do_GET(self):
        self.server.site._serve(self)

    do_POST = do_GET

    def log_message(self, *args):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass


class Site:
    def __init__(self, t, host="127.0.0.1", port=0):
        self.host, self.pages, self.requests = host, {}, []
        self.lock, self.now, self.busiest = threading.Lock(), 0, 0
        self.http = _Server((host, port), _Handler)
        self.http.site, self.port = self, self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, args=(0.05,), daemon=True).start()
        t.later(self.close)

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def url(self, path="/"):
        return f"http://{self.host}:{self.port}{path}"

    def put(self, path, body, type="application/xml", status=200, etag=None, **headers):
        self.pages[path] = (body, type, status, etag, headers)

    def at(self, path):
        with self.lock:
            return [r for r in self.requests if r.path == path]

    def _serve(self, h):
        n = int(h.headers.get("Content-Length") or 0)
        r = Request(h.path, dict((k.lower(), v) for k, v in h.headers.items()))
        r.method, r.body = h.command, h.rfile.read(n) if n else b""
        with self.lock:
            self.requests.append(r)
            self.now += 1
            self.busiest = max(self.busiest, self.now)
        try:
            body, type, status, etag, headers = self.pages.get(
                h.path, (b"no such page", "text/plain", 404, None, {}))
            if callable(body):
                body(h, r)
                return
            if etag and r.headers.get("if-none-match") == etag:
                body, status = b"", 304
            h.send_response_only(status)
            h.send_header("Content-Type", type)
            if etag:
                h.send_header("ETag", etag)
            for k, v in headers.items():
                h.send_header(k.replace("_", "-"), v)
            if status != 304:
                h.send_header("Content-Length", str(len(body)))
            h.end_headers()
            h.wfile.write(body)
            h.wfile.flush()
        except OSError:
            pass
        finally:
            with self.lock:
                self.now -= 1
                r.end = time.monotonic()


def person(srv, name=None, **kw):
    """A client that is a person: the first account, or one made now."""
    if name is None:
        return srv.admin(timeout=40, **kw)
    srv.admin().post("/v1/users", {"name": name, "password": "a long password here"}).want(201)
    import hk
    return srv.connect(hk.basic(name, "a long password here"), timeout=40, **kw)


def add(c, url, status=201):
    a = c.post("/api/feeds", {"url": url})
    check(a.status == status, f"POST /api/feeds {url}: want {status}", a)
    return a.json


def wrong(a, status, code, says=""):
    """The error shape of a person's routes."""
    check(a.status == status, f"want {status}", a)
    j = a.json
    check(j.get("code") == code and j.get("category") and j.get("action"), f"want {code}", a)
    check(says.lower() in j["message"].lower(), f"want a message with {says!r}", a)
    return j


def fetches(srv, url):
    """What came of the fetches of a feed: (outcome, status, error, why), oldest first."""
    return srv.rows("SELECT x.outcome, x.http_status, x.error, x.why_next, x.inserted, x.updated "
                    "FROM feed_fetch x JOIN feed f ON f.id = x.feed_id "
                    f"WHERE f.feed_url = '{url}' ORDER BY x.id")


def feed(srv, url, columns):
    rows = srv.rows(f"SELECT {columns} FROM feed WHERE feed_url = '{url}'")
    return rows[0] if rows else None


def change(srv, sql):
    """A change from outside, as an operator would make it."""
    import os
    import sqlite3
    from hk import psql
    if srv.url:
        psql(srv.url, sql)
        return
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"), timeout=20)
    with db:
        db.execute(sql)
    db.close()


def due(srv, url):
    """Makes a feed due now."""
    change(srv, f"UPDATE feed SET next_fetch_at = 0, claimed_until = 0 WHERE feed_url = '{url}'")


def outcomes(srv, url):
    return [f[0] for f in fetches(srv, url)]


def shared_key(t):
    """A key file for several servers of one store."""
    import base64
    import os
    path = t.path("shared.key")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as f:
        f.write(f"k1:{base64.b64encode(os.urandom(32)).decode()}\n")
    return {"WEBHOOK_ENCRYPTION_KEY_FILE": path}
