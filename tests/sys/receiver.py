"""receiver - somebody who gets webhooks, for the system tests.

  r = Receiver(t)                  listens on 127.0.0.1; ends with the test
  r.url("/hook")                   what a subscription names
  r.answer("/hook", 500, times=2)  the next two get 500, then it is as before
  r.answer("/hook", fn)            fn(request) says: a status, or (status, headers,
                                   body), or None for the one before it
  r.wait_for(3, "/hook")           the first three requests there, within a time
  r.at("/hook")                    all so far

A request has method, path, headers (names as sent, found in any case), body,
json, at (monotonic seconds) and n, its place among all requests. Answers may
sleep: each connection has its own thread. verify() is Standard Webhooks.
"""
import base64
import hashlib
import hmac
import http.server
import json
import socket
import threading
import time

from hk import SLOW, Failed, check

# Settings of a server that may deliver to a receiver here.
SETTINGS = {"WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8"}


class Request:
    def __init__(self, n, method, path, headers, body):
        self.n, self.method, self.path = n, method, path
        self.headers, self.body, self.at = headers, body, time.monotonic()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def id(self):
        """The delivery's id."""
        return self.headers["webhook-id"]

    def __repr__(self):
        return f"<{self.method} {self.path} #{self.n} {dict(self.headers)} {self.body[:300]!r}>"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 120
    disable_nagle_algorithm = True  # head and body are two writes
    wbufsize = -1

    def handle_one(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.receiver._serve(self, body)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_one

    def log_message(self, *args):
        pass


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass  # a client that left is no fault of ours


class Receiver:
    def __init__(self, t, port=0):
        self.lock = threading.Condition()
        self.requests, self.answers, self.sockets = [], {}, set()
        self.server, self.port = None, port
        self.start()
        t.later(self.stop)

    # ------------------------------------------------------------ life

    def start(self):
        """Listens; again on the same port after stop()."""
        self.server = _Server(("127.0.0.1", self.port), _Handler)
        self.server.receiver = self
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self):
        """Nobody listens any more, and open connections are cut."""
        if not self.server:
            return
        self.server.shutdown()
        self.server.server_close()
        self.server = None
        with self.lock:
            open_now = list(self.sockets)
        for s in open_now:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    # ------------------------------------------------------------ answers

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, path, status=200, headers=None, body=b"", times=None, delay=0):
        """What the path gets from now on, or `times` times: the newest first."""
        def fixed(request):
            if delay:
                time.sleep(delay)
            return status, headers or {}, body
        with self.lock:
            self.answers.setdefault(path, []).append(
                [status if callable(status) else fixed, times])

    def answer_as_usual(self, path):
        with self.lock:
            self.answers.pop(path, None)

    def _choose(self, path):
        with self.lock:
            rules = self.answers.get(path, [])
            chosen = list(reversed(rules))
            for rule in chosen:
                if rule[1] is not None:
                    rule[1] -= 1
                    if rule[1] == 0:
                        rules.remove(rule)
                break
            return [rule[0] for rule in chosen]

    def _serve(self, handler, body):
        path = handler.path.split("?")[0]
        with self.lock:
            self.sockets.add(handler.connection)
            request = Request(len(self.requests), handler.command, handler.path,
                              handler.headers, body)
            self.requests.append(request)
            self.lock.notify_all()
        got = None
        for fn in self._choose(path):
            got = fn(request)
            if got is not None:
                break
        status, headers, text = ((got, {}, b"") if isinstance(got, int)
                                 else got if got is not None else (200, {}, b""))
        if status == 0:  # cut the connection
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(text)))
        handler.end_headers()
        handler.wfile.write(text)

    # ------------------------------------------------------------ looking

    def at(self, path=None):
        with self.lock:
            return [r for r in self.requests
                    if path is None or r.path.split("?")[0] == path]

    def count(self, path=None):
        return len(self.at(path))

    def wait_for(self, n, path=None, seconds=30.0, when=None):
        """The first n requests (that fulfil `when`), waiting for them."""
        end = time.monotonic() + seconds * SLOW
        with self.lock:
            while True:
                got = [r for r in self.requests
                       if (path is None or r.path.split("?")[0] == path)
                       and (when is None or when(r))]
                if len(got) >= n:
                    return got[:n]
                left = end - time.monotonic()
                if left <= 0:
                    raise Failed(f"{len(got)} of {n} requests at {path} within {seconds} s"
                                 + "".join(f"\n    {r!r}" for r in got[-5:]))
                self.lock.wait(left)

    def quiet(self, seconds, path=None):
        """Nothing comes for so long."""
        before = self.count(path)
        time.sleep(seconds)
        check(self.count(path) == before, f"nothing more at {path}", self.at(path)[before:])

    def clear(self):
        with self.lock:
            self.requests.clear()


def sign(secret, webhook_id, timestamp, body):
    """Standard Webhooks, symmetric: the text after `v1,`."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{webhook_id}.{timestamp}.".encode() + body
    return base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def verify(request, secret):
    """True when one of its signatures is this secret's, and it is fresh."""
    stamp = request.headers["webhook-timestamp"]
    want = sign(secret, request.headers["webhook-id"], stamp, request.body)
    given = [s[3:] for s in request.headers["webhook-signature"].split(" ")
             if s.startswith("v1,")]
    return (any(hmac.compare_digest(want, g) for g in given)
            and abs(time.time() - int(stamp)) < 300)
