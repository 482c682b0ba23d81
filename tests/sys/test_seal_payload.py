"""event.seal.payload: events sealed at rest, plain wherever they are read."""
import http.server
import json
import os
import shutil
import subprocess
import threading

import hk
from hk import check, envelope, same, until

WORD = "swordfish-4711"
ON = {"EVENT_SEAL_PAYLOAD": "true", "WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8"}


class Sink:
    """A receiver that keeps what came, byte for byte."""

    def __init__(self, t):
        sink = self
        self.bodies = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                sink.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        t.later(self.server.shutdown)

    def subscribe(self, srv, **more):
        body = {"name": "sink", "url": self.url, **more}
        return srv.client().post("/v1/subscriptions", body).want(201).json["id"]


def secret_event(n=1, **over):
    """Odd blanks and escapes: what arrives must be the same bytes."""
    ev = envelope(payload={"word": WORD, "n": n}, **over)
    return json.dumps(ev, separators=(" ,  ", " :\t"), ensure_ascii=False).encode()


def at_rest(srv):
    """All bytes that the store keeps."""
    if srv.url:
        return subprocess.run(["pg_dump", "--inserts", srv.url], check=True,
                              capture_output=True).stdout
    out = b""
    for name in os.listdir(srv.data):
        if name.startswith("hikyaku.db"):
            with open(os.path.join(srv.data, name), "rb") as f:
                out += f.read()
    return out


def is_at_rest(srv, word):
    text = at_rest(srv)
    check(len(text) > 1000, "there is a store", len(text))
    return word.encode() in text or word.encode().hex().encode() in text


def payloads(c, **query):
    return [e.get("payload", {}).get("n") for e in c.events(**query)]


def keys_of(srv):
    return json.loads(srv.cli("seal", "status", "--json").want(0).out)


def test_plain_wherever_it_is_read(t):
    srv, sink = t.server(**ON), Sink(t)
    c = srv.client()
    sink.subscribe(srv)
    live = srv.stream()
    sent = secret_event(1)
    first = c.publish(sent).want(202).json
    c.publish([envelope(payload={"word": WORD, "n": 2})]).want(200)
    c.publish_ndjson([envelope(payload={"word": WORD, "n": 3})]).want(200)

    same(payloads(c), [1, 2, 3], "listed")
    got = c.get("/v1/events/" + first["eventId"]).want(200)
    check(got.body.startswith(sent[:-1]), "its own bytes", got.body, sent)
    until(lambda: len(live.events) == 3, "streamed")
    same([json.loads(e["data"])["payload"]["n"] for e in live.events], [1, 2, 3], "streamed")
    tail = srv.cli("event", "tail", "--json", "--from-start", "--limit", "3").want(0).out
    same(tail.count(WORD), 3, "tailed")
    until(lambda: len(sink.bodies) == 3, "delivered")
    check(sent in sink.bodies, "byte for byte", sent, sink.bodies)

    # the same bytes are the same event, others are not
    same(c.publish(sent).want(202).json["duplicate"], True, "known")
    other = json.loads(sent)
    other["payload"]["n"] = 9
    c.publish(other).want(409)

    check(not is_at_rest(srv, WORD), "not in the store while it runs")
    srv.stop()
    check(not is_at_rest(srv, WORD), "nor afterwards")
    check(WORD.encode() not in srv.all_logs(), "nor in the log")
    # without a server: tail and publish work on the store
    ev = secret_event(4)
    srv.cli("event", "publish", stdin=ev).want(0)
    check(not is_at_rest(srv, WORD), "nor when published without a server")
    tail = srv.cli("event", "tail", "--json", "--from-start").want(0).out
    same(tail.count(WORD), 4, "read without a server")


def test_filter_and_template(t):
    """What looks into the payload sees it plain."""
    srv, sink = t.server(**ON), Sink(t)
    sink.subscribe(srv, filter=".payload.n > 1")
    c = srv.client()
    for n in (1, 2, 3):
        c.publish(secret_event(n)).want(202)
    until(lambda: len(sink.bodies) == 2, "two pass")
    same(sorted(json.loads(b)["payload"]["n"] for b in sink.bodies), [2, 3], "those")


def test_toggled(t):
    """Each entry tells by itself: a log may have both."""
    srv, sink = t.server(**{**ON, "EVENT_SEAL_PAYLOAD": "false"}), Sink(t)
    sink.subscribe(srv)
    sent = []

    def publish(n):
        sent.append(secret_event(n))
        srv.client().publish(sent[-1]).want(202)
        until(lambda: len(sink.bodies) == n, f"delivery {n}")

    publish(1)
    check(is_at_rest(srv, WORD), "plain without the setting")
    same(keys_of(srv)["keys"][0]["log"], None, "no key is needed")
    for n, value in ((2, "true"), (3, "false"), (4, "true")):
        srv.stop()
        srv.settings["EVENT_SEAL_PAYLOAD"] = value
        srv.start()
        publish(n)
    same(payloads(srv.client()), [1, 2, 3, 4], "all are read")
    same(sink.bodies, sent, "all arrived as they were, one by one")
    j = keys_of(srv)["keys"][0]["log"]
    same(j["firstSeq"], srv.client().events()[1]["seq"], "the first that needs the key")


def test_rotation(t):
    srv, sink = t.server(**ON), Sink(t)
    c = srv.client()
    c.publish(secret_event(1)).want(202)
    first = keys_of(srv)["active"]
    r = srv.cli("seal", "rotate").want(0, says=f"the key {first} is needed by the log")
    second = r.out.strip()
    check(second != first, "a new key", second)
    c.publish(secret_event(2)).want(202)
    j = keys_of(srv)
    seqs = [e["seq"] for e in c.events()]
    same([(k["id"], k["log"]["firstSeq"]) for k in j["keys"]],
         [(second, seqs[1]), (first, seqs[0])], "which keys the log needs")
    same(j["logMissing"], [], "none is missing")
    srv.cli("seal", "status").want(0, says="event.retention.days")
    same(payloads(c), [1, 2], "both are read")

    # the old key is lost: its entry is told of, the others go on
    srv.stop()
    back = without_key(srv, first)
    srv.start()
    c = srv.client()
    got = c.events()
    same([e["seq"] for e in got], seqs, "both are listed")
    same(got[0]["error"]["code"], "SEALED", "one with an error")
    check(first in got[0]["error"]["message"] and "payload" not in got[0], "which says why", got[0])
    same(got[1]["payload"]["n"], 2, "the other as it is")
    c.get("/v1/events/" + got[0]["eventId"]).want(500, code="SEALED", says=first)
    same(keys_of(srv)["logMissing"][0]["id"], first, "status tells")
    srv.cli("seal", "status").want(0, says="is not there, but the log needs it")

    # and back
    srv.stop()
    back()
    srv.start()
    same(payloads(srv.client()), [1, 2], "readable again")


def without_key(srv, kid):
    """Takes a key out of the file; what to call to have it back."""
    path = srv.data + "/seal.key"
    shutil.copy(path, path + ".whole")
    with open(path) as f:
        lines = [l for l in f if not l.startswith(kid + ":")]
    with open(path, "w") as f:
        f.writelines(lines)
    return lambda: os.rename(path + ".whole", path)


def test_held_without_its_key(t):
    """Never sent sealed: it waits, with a reason, and goes out when the key is back."""
    srv, sink, picky = t.server(WEBHOOK_ENABLED="false", TIME_SCALE="60", **ON), Sink(t), Sink(t)
    first = keys_of(srv)["active"]
    srv.cli("seal", "rotate").want(0)
    sink.subscribe(srv)  # sealed with the second key
    picky.subscribe(srv, filter=".payload.n != 1")
    srv.stop()
    path = srv.data + "/seal.key"
    with open(path) as f:
        lines = f.readlines()
    with open(path, "w") as f:
        f.writelines(reversed(lines))
    srv.start()  # the first key seals again
    sent = [secret_event(n) for n in (1, 2)]
    for ev in sent:
        srv.client().publish(ev).want(202)
    until(lambda: not keys_of(srv)["running"], "the secrets are sealed with it")
    srv.cli("seal", "rotate").want(0)  # the third one seals
    srv.stop()
    back = without_key(srv, first)
    srv.settings["WEBHOOK_ENABLED"] = "true"
    srv.start()
    until(lambda: srv.all_logs().count(b'"reason":"SEALED"') >= 4, "held, with the reason")
    plain = secret_event(3, key="another")
    srv.client().publish(plain).want(202)
    until(lambda: sink.bodies and picky.bodies, "others pass by")
    same((sink.bodies, picky.bodies), ([plain], [plain]), "nothing sealed was sent")
    srv.stop()
    back()
    srv.start()
    until(lambda: len(sink.bodies) == 3 and len(picky.bodies) == 2, "all arrive", 90)
    same(sorted(sink.bodies), sorted(sent + [plain]), "as they were")
    same(picky.bodies, [plain, sent[1]], "and the filter holds")
