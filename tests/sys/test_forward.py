"""hikyaku listen --forward: a server's events at a URL that it can't call; through kills of both."""
import base64
import hashlib
import hmac
import json
import re
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import hk
from hk import check, envelope, same, until


class Hook:
    """A program on a laptop."""

    def __init__(self, t, port=0):
        hook = self
        self.got, self.status, self.lock = [], 200, threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with hook.lock:
                    hook.got.append((dict(self.headers), body))
                self.send_response(hook.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.http.server_address[1]
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        t.later(self.end)

    def end(self):
        self.http.shutdown()
        self.http.server_close()

    def ids(self):
        with self.lock:
            return [json.loads(b)["eventId"] for _, b in self.got]


class Forward:
    def __init__(self, t, srv, port, *args, key=None):
        self.log = t.path(f"forward-{time.monotonic_ns()}")
        key = key or srv.new_key("consume", "manage", "read")["key"]
        env = {**hk.environment({}, ""), "HIKYAKU_URL": f"http://127.0.0.1:{srv.port}", "HIKYAKU_KEY": key, "USER": "me"}
        with open(self.log, "wb") as out:
            self.p = subprocess.Popen([hk.BINARY, "listen", "--forward", f"http://127.0.0.1:{port}/hook?x=1", *args],
                                      stdout=out, stderr=out, env=env, cwd=t.path("."))
        t.later(self.kill)
        self.key = key

    def said(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def ready(self):
        m = until(lambda: re.search(r"as consumer (\S+); signed with (\S+)", self.said()), "it is ready")
        self.name, self.secret = m[1], m[2]
        return self

    def kill(self):
        self.p.kill()
        self.p.wait()

    def stop(self):
        self.p.send_signal(signal.SIGINT)
        return self.p.wait(20)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def publish(c, n, **more):
    events = [envelope(**more) for _ in range(n)]
    c.publish(events).want(200)
    return [e["eventId"] for e in events]


def test_as_a_webhook(t):
    srv = t.server()
    c, hook = srv.client(), Hook(t)
    f = Forward(t, srv, hook.port, "--type", "RecordUpdated", "--type", "other.*").ready()
    raw = hk.dump(envelope(payload={"n": 1.50, "s": "漢字"}))
    c.publish(raw).want(202)
    c.publish(envelope(type="unwanted.one")).want(202)
    until(lambda: hook.got, "it comes")
    head, body = hook.got[0]
    same(body, raw, "as it was published")
    at, name = head["webhook-timestamp"], head["webhook-id"]
    key = base64.b64decode(f.secret.split("_")[1])
    want = "v1," + base64.b64encode(hmac.new(key, f"{name}.{at}.".encode() + body, hashlib.sha256).digest()).decode()
    same(head["webhook-signature"], want, "signed as by preset standard")
    same(head["Content-Type"], "application/json", "with its type, once")
    shown = until(lambda: re.search(r"RecordUpdated  \S+  200  \d+ ms", f.said()), "it is shown")
    check(shown and f.key not in f.said(), "without the key")
    consumer = c.get("/v1/consumers/" + f.name).want(200).json
    check(consumer["expiresAt"] and consumer["types"] == ["RecordUpdated", "other.*"], "the consumer", consumer)
    t0 = time.monotonic()
    same(f.stop(), 0, "SIGINT")
    check(time.monotonic() - t0 < 10, "at once")
    c.get("/v1/consumers/" + f.name).want(404)
    same(len(hook.got), 1, "nothing else came")


def test_refused_and_again(t):
    srv = t.server(TIME_SCALE="100")
    c, hook = srv.client(), Hook(t)
    hook.status = 500
    f = Forward(t, srv, hook.port).ready()
    want = publish(c, 1)
    until(lambda: len(hook.got) >= 2, "again")
    hook.status = 204
    until(lambda: "204" in f.said(), "taken")
    same(set(hook.ids()), set(want), "the same event")
    same(f.stop(), 0, "end")


def test_nothing_is_lost(t):
    """The receiver is down at first; the server and the forwarder are killed, again and again."""
    srv = t.server()
    port = free_port()
    key = srv.new_key("consume", "manage", "read", "publish")["key"]
    f = Forward(t, srv, port, "--ack-wait", "2", key=key).ready()
    name = f.name
    want = publish(srv.client(), 20)
    until(lambda: "trying again" in f.said(), "it waits for the receiver")
    time.sleep(3)  # longer than a lease
    hook = Hook(t, port)
    until(lambda: hook.ids(), "it goes on")
    for i in range(4):
        want += publish(srv.client(), 20)
        if i % 2 == 0:
            srv.kill9()
            time.sleep(0.3)
            srv.start("--listen", f"127.0.0.1:{srv.port}")
        else:
            f.kill()
            f = Forward(t, srv, port, "--ack-wait", "2", key=key).ready()
            same(f.name, name, "the same consumer")
        want += publish(srv.client(), 5)
    until(lambda: set(want) <= set(hook.ids()), "all of them came", 60)
    same(f.stop(), 0, "end")
    check(len(hook.ids()) < 3 * len(want), "few came twice", len(hook.ids()), len(want))


def test_kept_and_left_behind(t):
    srv = t.server()
    c, hook = srv.client(), Hook(t)
    f = Forward(t, srv, hook.port, "--keep", "--name", "mine").ready()
    same(f.stop(), 0, "end")
    want = publish(c, 3)
    f = Forward(t, srv, hook.port, "--name", "mine").ready()
    until(lambda: set(want) <= set(hook.ids()), "what came meanwhile")
    same(f.stop(), 0, "end")
    # one that nobody moves ends by itself
    when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3))
    c("PUT", "/v1/consumers/short", {"expiresAt": when}).want(201)
    c("PUT", "/v1/consumers/long", {"expiresAt": "2099-01-01T00:00:00Z"}).want(201)
    c("PUT", "/v1/consumers/past", {"expiresAt": "2001-01-01T00:00:00Z"}).want(422, pointer="/expiresAt")
    until(lambda: c.get("/v1/consumers/short").status == 404, "it is gone", 15)
    same(c.get("/v1/consumers/long").want(200).json["expiresAt"], "2099-01-01T00:00:00.000Z", "the other stays")


def test_wrong_usage(t):
    srv = t.srv
    srv.cli("listen", "9000", "--forward", "http://127.0.0.1:1/").want(2, "PORT")
    srv.cli("listen", "--forward", "nonsense").want(1)
    srv.cli("listen", "--forward", "http://127.0.0.1:1/", "--name", "a/b").want(2, "--name")
    srv.cli("listen", "--forward", "http://127.0.0.1:1/", "--filter", "((").want(1, "/filter")
