"""hikyaku event publish, event tail: with a server and without."""
import json
import os
import subprocess
import threading

import hk
from hk import check, dump, envelope, same, until


def write(t, name, data):
    with open(t.path(name), "wb") as f:
        f.write(data)
    return t.path(name)


class Tail:
    """`hikyaku event tail`, its lines gathered."""

    def __init__(self, t, srv, *args):
        self.lines = []
        self.proc = subprocess.Popen(
            [hk.BINARY, "event", "tail", "--json", "--data", srv.data, *args], cwd=srv.folder,
            env=hk.environment(srv.settings, srv.url), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        t.later(self.end)
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.proc.stdout:
            self.lines.append(line.decode(errors="replace"))

    def end(self):
        if self.proc.poll() is None:
            self.proc.kill()
        self.proc.wait()


def test_publish_file(t):
    srv = t.srv
    one, many = envelope(), [envelope() for _ in range(3)]
    lines = [envelope() for _ in range(3)]
    for name, body, events in (("one.json", dump(one), [one]), ("many.json", dump(many), many),
                               ("lines.ndjson", b"".join(dump(e) + b"\n" for e in lines), lines)):
        r = srv.cli("event", "publish", write(t, name, body)).want(0)
        for ev in events:
            check(ev["eventId"] in r.out, f"it names what it published from {name}", r)
            srv.client().get("/v1/events/" + ev["eventId"]).want(200)


def test_publish_stdin(t):
    ev = envelope()
    t.srv.cli("event", "publish", "-", stdin=dump(ev)).want(0)
    t.srv.client().get("/v1/events/" + ev["eventId"]).want(200)


def test_publish_without_server(t):
    srv = t.server()
    srv.stop()
    events = [envelope() for _ in range(3)]
    srv.cli("event", "publish", write(t, "e.json", dump(events))).want(0)
    srv.start()
    same([e["eventId"] for e in srv.client().events()], [e["eventId"] for e in events],
         "in the log")


def test_publish_into_nothing(t):
    """A mistyped folder is not made; migrate makes one."""
    srv = t.server(start=False)
    ev = envelope()
    for _ in range(2):
        srv.cli("event", "publish", write(t, "f.json", dump(ev))).want(1, says=srv.data)
        check(not os.path.exists(srv.data), "nothing is made")
    srv.cli("migrate").want(0)
    srv.cli("event", "publish", write(t, "f.json", dump(ev))).want(0)
    srv.start()
    same([e["eventId"] for e in srv.client().events()], [ev["eventId"]], "in the log")


def test_publish_errors(t):
    srv = t.srv
    srv.cli("event", "publish", t.path("absent.json")).want(1, says="absent.json")
    srv.cli("event", "publish", write(t, "bad.json", b"{")).want(1)
    r = srv.cli("event", "publish", write(t, "w.json", dump(envelope(eventType=5))))
    check(r.code == 1 and "eventType" in r.err, "it names the field", r)
    mixed = dump([envelope(), envelope(tenantId="a b"), envelope()])
    r = srv.cli("event", "publish", write(t, "m.json", mixed))
    check(r.code == 1 and "tenantId" in r.out + r.err, "it names the field", r)
    check("1 of 3" in r.err, "and how many were refused", r)


def test_tail(t):
    srv = t.srv
    before = envelope()
    srv.client().publish(before).want(202)
    tail = Tail(t, srv)
    seen = []

    def shows():
        ev = envelope("tail.me")
        srv.client().publish(ev).want(202)
        seen.append(ev["eventId"])
        return any(seen[0] in l or "tail.me" in l for l in tail.lines)
    until(shows, "the tail shows what is published", 10, 0.1)
    last = envelope("tail.last")
    srv.client().publish(last).want(202)
    until(lambda: any(last["eventId"] in l for l in tail.lines), "the last one", 5)


def test_tail_ends_after_a_number(t):
    srv = t.srv
    want = [envelope("tail.n") for _ in range(5)]
    srv.client().publish(want).want(200)
    r = srv.cli("event", "tail", "--json", "--from-start", "--type", "tail.n", "--limit", "5").want(0)
    same([json.loads(l)["eventId"] for l in r.out.strip().split("\n")],
         [e["eventId"] for e in want], "one line of JSON each")


def test_tail_goes_on_after_a_restart(t):
    srv = t.server()
    before = [envelope() for _ in range(3)]
    srv.client().publish(before).want(200)
    tail = Tail(t, srv, "--from-start")
    until(lambda: len(tail.lines) == 3, "what is there", 10)
    srv.restart()
    after = [envelope() for _ in range(3)]
    srv.client().publish(after).want(200)
    until(lambda: len(tail.lines) >= 6, "what is new", 15)
    same([json.loads(l)["eventId"] for l in tail.lines],
         [e["eventId"] for e in before + after], "each once")


def test_tail_without_server(t):
    srv = t.server()
    want = [envelope() for _ in range(120)]
    srv.client().publish(want).want(200)
    srv.stop()
    r = srv.cli("event", "tail", "--json", "--from-start").want(0)
    same([json.loads(l)["eventId"] for l in r.out.strip().split("\n")],
         [e["eventId"] for e in want], "what is there")
    srv.cli("event", "tail").want(1, says="serve")


def test_first_event_of_the_readme(t):
    """Publish with curl in one line; the tail shows it."""
    srv = t.srv
    tail = Tail(t, srv)
    body = json.dumps(envelope("readme.first"))
    for _ in range(50):
        r = subprocess.run(["curl", "-sS", "-u", f"admin:{hk.PASSWORD}", srv.base + "/v1/events",
                            "-H", "Content-Type: application/json", "-d", body],
                           capture_output=True, timeout=30)
        check(b'"seq"' in r.stdout, "curl publishes", r.stdout, r.stderr)
        if any("readme.first" in l for l in tail.lines):
            return
        body = json.dumps(envelope("readme.first"))
        threading.Event().wait(0.1)
    check(False, "the tail shows it", tail.lines)
