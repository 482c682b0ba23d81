"""hk - what the system tests are made of.

A test file holds functions test_*(t). It is run once per store; `t` gives it
servers, clients, the command line and a folder that goes away. Nothing here
looks inside the program: it is started, spoken to, killed and read.

  t.srv               one server for the whole file, with the file's SETTINGS
  t.server(A_B="1")   one of the test's own; ended with the test
  srv.client()        a keep-alive connection as an API key that may do all

Each answer that a client reads, and each request that was accepted, must be as
the server's /openapi.json describes it: else the test that made the call fails.

Everything has a time limit, ports come from the kernel, and only processes
started here are ended, by their pid.
"""
import base64
import glob
import http.client
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import urllib.parse
import uuid

import openapi

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("HK_BINARY", os.path.join(ROOT, "build", "hikyaku"))
STORE = os.environ.get("HK_STORE", "sqlite")
PG_URL = os.environ.get("HK_PG_URL", "")
PASSWORD = "correct-horse-battery"
TENANT = "11111111-1111-4111-8111-111111111111"
# Sanitizers make everything slower; a time limit is there to end a hang.
SLOW = 4 if os.environ.get("HK_SLOW") else 1
SANITIZER = re.compile(
    r"(ERROR|WARNING): (Address|Leak|Thread|Memory)Sanitizer|runtime error:")


class Failed(AssertionError):
    """The program did something other than the specification says."""


class Skip(Exception):
    """This machine can't show it; the text says why."""


def check(ok, what, *seen):
    if not ok:
        raise Failed(what + "".join(f"\n    {s!r}"[:2000] for s in seen))


def same(got, want, what):
    check(got == want, f"{what}: got {got!r}, want {want!r}")


def until(fn, what, seconds=30.0, every=0.02):
    """Waits for fn() to become true and returns it."""
    end = time.monotonic() + seconds * SLOW
    while True:
        got = fn()
        if got:
            return got
        check(time.monotonic() < end, f"not within {seconds} s: {what}", got)
        time.sleep(every)


# ---------------------------------------------------------------- events

def new_id():
    return str(uuid.uuid4())


def now():
    t = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(t)) + f".{int(t * 1000) % 1000:03}Z"


def envelope(type="RecordUpdated", key=None, tenant=TENANT, payload=None, **over):
    """A valid envelope; a field given as ... is left out."""
    record, version = new_id(), now()
    if payload is None:
        payload = {"objectName": "Account", "recordId": record, "ownerId": new_id(),
                   "changedFields": ["Name"], "recordVersion": version}
    ev = {"eventId": new_id(), "schemaVersion": 1, "eventType": type,
          "occurredAt": now(), "tenantId": tenant,
          "producer": {"service": "tests", "instanceId": "t-1"},
          "correlationId": new_id(),
          "sequence": {"partitionKey": key or f"Account:{tenant}:{record}",
                       "recordVersion": version},
          "payload": payload}
    ev.update(over)
    return {k: v for k, v in ev.items() if v is not ...}


def dump(value):
    if isinstance(value, (bytes, type(None))):
        return value
    return json.dumps(value, ensure_ascii=False).encode()


# ---------------------------------------------------------------- HTTP

class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        try:
            return json.loads(self.body)
        except ValueError as e:
            raise Failed(f"the answer is no JSON ({e})\n    {self!r}") from None

    def __repr__(self):
        return f"{self.status} {self.body[:600]!r}"

    def want(self, status, code=None, pointer=None, says=None):
        """Checks the status and, for errors, the one error shape."""
        check(self.status == status, f"want status {status}", self)
        if status >= 400:
            j = self.json
            err = j.get("error")
            check(isinstance(err, dict) and isinstance(err.get("code"), str)
                  and isinstance(err.get("message"), str) and err["message"]
                  and isinstance(j.get("traceId"), str), "not the error shape", self)
            check(re.fullmatch(r"[A-Z][A-Z0-9_]+", err["code"]), "odd error code", self)
            check(code is None or err["code"] == code, f"want code {code}", self)
            check(pointer is None or err.get("pointer") == pointer,
                  f"want pointer {pointer!r}", self)
            check(says is None or says.lower() in err["message"].lower(),
                  f"want a message with {says!r}", self)
        return self


document, undescribed = None, []  # set by main(): /openapi.json; what does not fit it


def described(method, path, headers, body, answer):
    """What was asked and answered is as /openapi.json has it."""
    if document is None:
        return
    head = {"Content-Type": "application/json", **(headers or {})}
    try:
        document.look(method, path, {k: v for k, v in head.items() if v is not None},
                      dump(body), answer)
    except openapi.Undescribed as e:
        undescribed.append(str(e))
        raise Failed(str(e)) from None


def basic(name, password):
    return "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()


class Client:
    """One keep-alive connection. auth is the Authorization header or None."""

    def __init__(self, srv, auth=None, source=None, timeout=20):
        self.srv, self.auth, self.source = srv, auth, source
        self.timeout, self.conn = timeout * SLOW, None

    def connect(self):
        host, port = "127.0.0.1", self.srv.port
        source = (self.source, 0) if self.source else None
        if self.srv.tls:
            return http.client.HTTPSConnection(
                "localhost", port, timeout=self.timeout, source_address=source,
                context=ssl.create_default_context(cafile=self.srv.tls))
        return http.client.HTTPConnection(host, port, timeout=self.timeout,
                                          source_address=source)

    def send(self, method, path, body=None, headers=None):
        """Sends; the http.client response is not yet read."""
        head = dict(headers or {})
        if self.auth and "Authorization" not in head:
            head["Authorization"] = self.auth
        body = dump(body)
        if body is not None and "Content-Type" not in head:
            head["Content-Type"] = "application/json"
        head = {k: v for k, v in head.items() if v is not None}
        if self.conn is None:
            self.conn = self.connect()
        try:
            self.conn.request(method, path, body, head)
            return self.conn.getresponse()
        except (OSError, http.client.HTTPException):
            self.close()
            raise

    def __call__(self, method, path, body=None, headers=None):
        try:
            r = self.send(method, path, body, headers)
            a = Answer(r.status, r.headers, r.read())
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        described(method, path, headers, body, a)
        return a

    def get(self, path, headers=None, **query):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        return self("GET", path, None, headers)

    def post(self, path, body=b"", headers=None):
        return self("POST", path, body, headers)

    def delete(self, path):
        return self("DELETE", path)

    def publish(self, ev, headers=None):
        return self.post("/v1/events", ev, headers)

    def publish_ndjson(self, events, headers=None):
        body = events if isinstance(events, bytes) else b"".join(
            dump(e) + b"\n" for e in events)
        return self.post("/v1/events", body,
                         {"Content-Type": "application/x-ndjson", **(headers or {})})

    def page(self, **query):
        return self.get("/v1/events", **query).want(200).json

    def events(self, **query):
        """All events of the list, page by page."""
        query.setdefault("limit", 1000)
        out = []
        while True:
            page = self.page(**query)
            out += page["data"]
            if page["next"] is None:
                return out
            query["after"] = page["next"]

    def close(self):
        if self.conn:
            self.conn.close()
        self.conn = None


class Raw:
    """A bare socket, for what http.client would never send, and for speed."""

    def __init__(self, srv, timeout=20):
        self.sock = socket.create_connection(("127.0.0.1", srv.port), timeout * SLOW)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = b""

    def send(self, data):
        self.sock.sendall(data)

    def answer(self):
        """Reads one answer with a Content-Length, or none."""
        while b"\r\n\r\n" not in self.buf:
            self.more()
        head, self.buf = self.buf.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            k, v = line.split(":", 1)
            headers[k.strip().lower()] = v.strip()
        status, n = int(lines[0].split()[1]), int(headers.get("content-length", 0))
        if status == 100:
            return self.answer()
        while len(self.buf) < n:
            self.more()
        body, self.buf = self.buf[:n], self.buf[n:]
        return Answer(status, headers, body)

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise ConnectionError("the server closed the connection")
        self.buf += got

    def rest(self):
        """What comes until the server closes."""
        while True:
            try:
                self.more()
            except ConnectionError:
                out, self.buf = self.buf, b""
                return out

    def close(self):
        self.sock.close()


def request(method, path, headers, body=b""):
    """The bytes of one request, for Raw."""
    head = [f"{method} {path} HTTP/1.1", "Host: x"] + [f"{k}: {v}" for k, v in headers.items()]
    if body or method == "POST":
        head.append(f"Content-Length: {len(body)}")
    return ("\r\n".join(head) + "\r\n\r\n").encode() + body


class Stream:
    """A live stream; events are gathered as they come. Ends with close()."""

    def __init__(self, srv, auth, last=None, partition=None, path="/v1/events/stream", headers=None, **query):
        self.client = Client(srv, auth, timeout=60)
        if partition:
            query["key"] = partition
        if query:
            path += "?" + urllib.parse.urlencode(query)
        head = {"Accept": "text/event-stream", **(headers or {})}
        if last is not None:
            head["Last-Event-ID"] = last
        self.answer = self.client.send("GET", path, None, head)
        self.events, self.comments, self.over = [], 0, False
        self.thread = threading.Thread(target=self.read, daemon=True)
        if self.answer.status == 200:
            self.thread.start()

    def read(self):
        fields = {}
        try:
            while True:
                line = self.answer.readline()
                if not line:
                    break
                line = line.decode().rstrip("\r\n")
                if line.startswith(":"):
                    self.comments += 1
                elif line:
                    name, _, value = line.partition(":")
                    value = value[1:] if value.startswith(" ") else value
                    fields[name] = fields[name] + "\n" + value if name in fields else value
                elif fields:
                    if "data" in fields:
                        self.events.append(fields)
                    fields = {}
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass
        self.over = True

    def ids(self):
        return [json.loads(e["data"])["eventId"] for e in list(self.events)]

    def close(self):
        # shutdown wakes the reading thread; close alone would wait for it
        if self.client.conn and self.client.conn.sock:
            try:
                self.client.conn.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        if self.thread.ident:
            self.thread.join(5)
        self.client.close()


# ---------------------------------------------------------------- PostgreSQL

def psql(url, sql):
    exe = shutil.which("psql") or "/usr/lib/postgresql/15/bin/psql"
    r = subprocess.run([exe, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url,
                        "-c", sql], capture_output=True, text=True, timeout=60)
    if r.returncode:
        raise RuntimeError(f"psql: {r.stderr.strip()}")
    return r.stdout.strip()


def pg_database(admin_url):
    """Makes a fresh database and returns its URL."""
    name = "t_" + uuid.uuid4().hex[:12]
    psql(admin_url, f"CREATE DATABASE {name}")
    return re.sub(r"^(\w+://[^/]*/)[^?]*", r"\g<1>" + name, admin_url)


class Cluster:
    """A PostgreSQL of the test's own, to be stopped and started at will."""

    def __init__(self, folder):
        self.folder, self.url = folder, None
        self.start()

    def tool(self, verb):
        r = subprocess.run([os.path.join(ROOT, "tools", "pgtemp"), verb, self.folder],
                           stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                           text=True, timeout=90)
        if r.returncode:
            raise RuntimeError(f"tools/pgtemp {verb} failed")
        return r.stdout.strip()

    def start(self):
        url = self.tool("start").split("\n")[-1]
        if self.url and url != self.url:
            raise RuntimeError(f"the cluster moved from {self.url} to {url}")
        self.url = url

    def stop(self):
        self.tool("stop")

    def kill(self):
        self.tool("kill")

    def pause(self):
        self.tool("pause")

    def cont(self):
        self.tool("cont")


# ---------------------------------------------------------------- the program

def setting_names():
    """The variables of all settings, without their prefix."""
    tables = glob.glob(os.path.join(ROOT, "src", "**", "settings.tbl"), recursive=True)
    keys = (k for f in tables for k in re.findall(r'CONF(?:_ALIAS)?\("([^"]+)"', open(f, encoding="utf-8").read()))
    return {re.sub("[.-]", "_", k).upper() for k in keys}


SETTING_NAMES = setting_names()


def environment(settings, url):
    """A clean environment: no setting of the caller's shell gets in. Settings get
    their prefix, unless they are given as `=NAME`."""
    keep = ("PATH", "HOME", "LANG", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS",
            "TSAN_OPTIONS", "LSAN_OPTIONS", "LD_LIBRARY_PATH")
    env = {k: os.environ[k] for k in keep if k in os.environ}
    env["ADMIN_PASSWORD"] = PASSWORD
    # Names of URLs are looked up when they are saved: nobody outside is asked, and the answer comes at once.
    env["WEBHOOK_URL_DNS_SERVERS"] = "127.0.0.1:9"
    if url:
        env["DATABASE_URL"] = url
    env.update(settings)
    return {k.removeprefix("=") if k not in SETTING_NAMES else "HIKYAKU_" + k: v
            for k, v in env.items() if v is not None}


def sane(text):
    bad = SANITIZER.search(text)
    check(not bad, "a sanitizer spoke:\n" + "\n".join(
        "    | " + l for l in text[bad.start() if bad else 0:].split("\n")[:30]))


class Server:
    def __init__(self, folder, settings=None, args=(), url=None, start=True):
        self.folder, self.settings, self.args = folder, dict(settings or {}), tuple(args)
        os.makedirs(folder, exist_ok=True)
        self.data = os.path.join(folder, "data")
        self.url = url if url is not None else (
            pg_database(PG_URL) if STORE == "postgres" else "")
        self.proc, self.port, self.base, self.tls, self.starts = None, None, None, None, 0
        self.admin_key, self.clients, self.expect_exit = None, [], None
        self.lock = threading.Lock()
        self.under = []  # a program and its arguments that the server is run by
        if start:
            self.start()

    @property
    def log_path(self):
        return os.path.join(self.folder, f"log.{self.starts}")

    def spawn(self, *args):
        self.starts += 1
        with open(self.log_path, "wb") as log, \
                open(os.path.join(self.folder, f"out.{self.starts}"), "wb") as out:
            self.proc = subprocess.Popen(
                [*self.under, BINARY, "serve", "--listen", "127.0.0.1:0", "--data", self.data,
                 *self.args, *args],
                env=environment(self.settings, self.url), stdin=subprocess.DEVNULL,
                stdout=out, stderr=log, cwd=self.folder)

    def start(self, *args):
        """Starts and waits for the line that names the port."""
        self.spawn(*args)
        return self.listens()

    def listens(self):
        def listening():
            check(self.proc.poll() is None,
                  f"the server ended at its start with {self.proc.returncode}\n{self.tail()}")
            return next((l for l in self.log() if l.get("msg") == "listening"
                         and str(l.get("url", "")).startswith("http")), None)
        try:
            line = until(listening, "the log line `listening`", 30)
        except Failed:
            self.kill9()
            raise
        self.base = line["url"]
        self.port = urllib.parse.urlsplit(self.base).port
        return self

    def log(self):
        """The JSON lines of the present run."""
        out = []
        with open(self.log_path, errors="replace") as f:
            for line in f:
                try:
                    out.append(json.loads(line))
                except ValueError:
                    pass
        return [l for l in out if isinstance(l, dict)]

    def all_logs(self):
        text = b""
        for name in sorted(os.listdir(self.folder)):
            if name.startswith(("log.", "out.")):
                with open(os.path.join(self.folder, name), "rb") as f:
                    text += f.read()
        return text

    def tail(self, n=25):
        """The end of the log, without the line that each event gets."""
        if not self.starts:
            return ""
        with open(self.log_path, errors="replace") as f:
            lines = [l for l in f if '"msg":"event ' not in l]
        return "".join("    | " + l for l in lines[-n:])

    def alive(self):
        return self.proc is not None and self.proc.poll() is None

    def ended(self, seconds=20):
        try:
            return self.proc.wait(seconds * SLOW)
        except subprocess.TimeoutExpired:
            self.kill9()
            raise Failed(f"the server did not end within {seconds} s\n{self.tail()}") from None

    def stop(self):
        """SIGTERM; it must end by itself, with status 0."""
        if self.proc is None:
            return
        self.hang_up()
        if self.proc.poll() is None:
            self.proc.send_signal(signal.SIGTERM)
        code, self.proc = self.ended(), None
        self.sane()
        check(code == 0, f"the server ended with {code} after SIGTERM\n{self.tail()}")

    def kill9(self):
        if self.proc and self.proc.poll() is None:
            self.proc.kill()
        if self.proc:
            self.proc.wait()
        self.proc = None
        self.hang_up()

    def restart(self, *args):
        self.stop()
        return self.start(*args)

    def sane(self):
        sane(self.all_logs().decode(errors="replace"))

    def hang_up(self):
        for c in self.clients:
            c.close()
        self.clients = []

    def rows(self, sql):
        """What the store holds, as tuples of texts; None for NULL."""
        if self.url:
            out = psql(self.url, sql)
            return [tuple(v or None for v in l.split("|")) for l in out.split("\n") if l]
        db = sqlite3.connect(os.path.join(self.data, "hikyaku.db"), timeout=10)
        try:
            return [tuple(None if v is None else str(v) for v in r) for r in db.execute(sql)]
        finally:
            db.close()

    # who is calling
    def connect(self, auth=None, **kw):
        c = Client(self, auth, **kw)
        self.clients.append(c)
        return c

    def admin(self, **kw):
        return self.connect(basic("admin", PASSWORD), **kw)

    def new_key(self, *scopes, **more):
        """Makes an API key; returns the whole answer."""
        body = {"name": "k-" + uuid.uuid4().hex[:8], "scopes": list(scopes), **more}
        return self.admin().post("/v1/keys", body).want(201).json

    def key(self):
        """The text of a key that may do all, made once per server."""
        with self.lock:  # many threads may ask first
            if self.admin_key is None:
                self.admin_key = self.new_key("publish", "read", "manage", "admin")["key"]
        return self.admin_key

    def client(self, key=None, **kw):
        return self.connect("Bearer " + (key or self.key()), **kw)

    def raw(self, **kw):
        c = Raw(self, **kw)
        self.clients.append(c)
        return c

    def stream(self, key=None, **kw):
        s = Stream(self, "Bearer " + (key or self.key()), **kw)
        self.clients.append(s)
        return s

    def cli(self, *args, stdin=b"", data=True, **settings):
        """Runs a verb to its end; .code, .out, .err."""
        argv = [BINARY, *args] + (["--data", self.data] if data else [])
        return run(argv, stdin, environment({**self.settings, **settings}, self.url),
                   self.folder)


class run:
    def __init__(self, argv, stdin=b"", env=None, cwd=None, seconds=30):
        try:
            r = subprocess.run(argv, input=stdin, capture_output=True, cwd=cwd,
                               env=env, timeout=seconds * SLOW)
        except subprocess.TimeoutExpired:
            raise Failed(f"{' '.join(argv[1:])} did not end within {seconds} s") from None
        self.argv, self.code = argv[1:], r.returncode
        self.out, self.err = r.stdout.decode(errors="replace"), r.stderr.decode(errors="replace")
        sane(self.err)

    def __repr__(self):
        return f"{' '.join(self.argv)} -> {self.code}\nout {self.out}\nerr {self.err}"

    def want(self, code, says=None):
        check(self.code == code, f"want exit status {code}", self)
        check(says is None or says.lower() in (self.out + self.err).lower(),
              f"want {says!r} in what it says", self)
        if code:
            check(len(self.err.strip().split("\n")) == 1 and self.err.strip(),
                  "an error is one line on stderr", self)
        return self


# ---------------------------------------------------------------- running

class Test:
    """What a test function gets."""

    def __init__(self, folder, settings):
        self.folder, self.settings = folder, settings
        self.shared, self.own, self.n, self.undo = None, [], 0, []

    @property
    def srv(self):
        if self.shared is None or not self.shared.alive():
            self.shared = self.make(self.settings)
        return self.shared

    def make(self, settings, **kw):
        self.n += 1
        return Server(os.path.join(self.folder, f"s{self.n}"), settings, **kw)

    def server(self, args=(), start=True, url=None, folder=None, **settings):
        self.n += 1
        s = Server(folder or os.path.join(self.folder, f"s{self.n}"),
                   {**self.settings, **settings}, args, url, start=False)
        self.own.append(s)
        return s.start() if start else s

    def path(self, name):
        return os.path.join(self.folder, name)

    def later(self, fn):
        """Runs fn at the test's end, whatever happens."""
        self.undo.append(fn)

    def servers(self):
        return self.own + ([self.shared] if self.shared else [])

    def settle(self, well):
        """After a test: own servers end, the shared one must still live."""
        try:
            if well:
                for s in self.own:
                    s.stop()
                if self.shared:
                    self.shared.hang_up()
                    check(self.shared.alive(), "the server died\n" + self.shared.tail())
                    self.shared.sane()
        finally:
            for s in self.own:
                s.kill9()
            self.own = []
            for fn in reversed(self.undo):
                fn()
            self.undo = []

    def close(self):
        try:
            if self.shared and self.shared.alive():
                self.shared.stop()
        finally:
            if self.shared:
                self.shared.kill9()


def story(e):
    """Where in the test it happened, and what."""
    tb = traceback.extract_tb(e.__traceback__)
    at = [f for f in tb if os.path.basename(f.filename).startswith("test_")]
    where = f"{os.path.basename(at[-1].filename)}:{at[-1].lineno}: " if at else ""
    what = str(e) if isinstance(e, Failed) else "".join(
        traceback.format_exception_only(e)).strip()
    if not isinstance(e, (Failed, OSError, http.client.HTTPException)):
        what += "\n" + "".join(traceback.format_list(tb[-3:]))
    return where + what


def run_one(t, fn):
    """Returns ok, skipped or FAILED, what there is to say, and the seconds."""
    begin, word, detail = time.monotonic(), "ok", ""
    undescribed.clear()
    try:
        fn(t)
        check(not undescribed, "not as /openapi.json has it", *undescribed[:3])
    except Skip as e:
        word, detail = "skipped", str(e)
    except Exception as e:
        word, detail = "FAILED", story(e) + "\n"
        for s in t.servers():
            code = s.proc.poll() if s.proc else None
            died = f" ended with {code}" if code is not None else ""
            detail += f"  log of {os.path.basename(s.folder)}{died}:\n{s.tail()}"
    try:
        t.settle(word == "ok")
    except Exception as e:
        word, detail = "FAILED", detail or story(e)
    if t.shared and not t.shared.alive():
        t.shared = None
    return word, detail, time.monotonic() - begin


def main(path, only):
    import importlib.util
    name = os.path.basename(path)[:-3].removeprefix("test_")
    spec = importlib.util.spec_from_file_location("test_" + name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    folder = tempfile.mkdtemp(prefix=f"hk-{name}-")
    t = Test(folder, getattr(module, "SETTINGS", {}))
    failed = 0
    global document
    document = openapi.load(BINARY, environment({}, None))

    def end(*_):
        sys.exit("ended from outside")
    signal.signal(signal.SIGTERM, end)
    try:
        for fname, fn in list(vars(module).items()):
            full = f"{name}.{fname.removeprefix('test_')}"
            if not fname.startswith("test_") or not callable(fn) or only not in full:
                continue
            word, detail, took = run_one(t, fn)
            failed += word == "FAILED"
            print(f"{word:8}{STORE:9}{full}  {took:.2f} s"
                  + (f"\n  {detail}" if detail else ""), flush=True)
        try:
            t.close()
        except Failed as e:
            failed += 1
            print(f"FAILED  {STORE:9}{name}.stop  \n  {e}", flush=True)
    finally:
        for s in t.servers():
            s.kill9()
        shutil.rmtree(folder, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    # `import hk` in a test file must be this very module
    sys.modules["hk"] = sys.modules["__main__"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
