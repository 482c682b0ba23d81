"""Libraries of others verify what we deliver: npm standardwebhooks and svix.

`./dev` installs them to tests/npm/node_modules, in the versions of the lock.
"""
import base64
import json
import os
import shutil
import subprocess

import hk
import receiver
from hk import Skip, check, envelope, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
NPM = os.path.join(hk.ROOT, "tests", "npm")
LIBS = ("standardwebhooks", "svix")


class Verifier:
    def __init__(self, t):
        if not shutil.which("node"):
            raise Skip("no node; ./dev setup installs it")
        if not os.path.isdir(os.path.join(NPM, "node_modules", "svix")):
            raise Skip("no tests/npm/node_modules; ./dev setup installs them")
        self.proc = subprocess.Popen(["node", os.path.join(NPM, "verify.js")], text=True,
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        t.later(self.stop)

    def stop(self):
        self.proc.stdin.close()
        self.proc.wait(10)

    def __call__(self, lib, secret, request, body=None, **headers):
        head = {k.lower(): v for k, v in request.headers.items()}
        head.update({k.replace("_", "-"): v for k, v in headers.items()})
        ask = {"lib": lib, "secret": secret, "headers": head,
               "body": (request.body if body is None else body).decode()}
        self.proc.stdin.write(json.dumps(ask) + "\n")
        self.proc.stdin.flush()
        return json.loads(self.proc.stdout.readline())


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def refused(a, what):
    check(not a["ok"] and a["error"], what, a)


def test_hmac(t):
    v, c, r = Verifier(t), t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/h"))
    ev = envelope(payload={"text": "Grüße, 飛脚 \U0001f3c3 \" \\ \u2028", "n": 1.50, "big": 2**63})
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/h")
    other = "whsec_" + base64.b64encode(b"k" * 32).decode()
    for lib in LIBS:
        a = v(lib, s["secret"], got)
        check(a["ok"], f"{lib} verifies", a)
        same(a["event"]["payload"]["text"], ev["payload"]["text"], "and reads the event")
        refused(v(lib, other, got), f"{lib}: another secret")
        refused(v(lib, s["secret"], got, got.body.replace(b"tests", b"tests2")), "a changed body")
        refused(v(lib, s["secret"], got, got.body + b" "), "a longer body")
        refused(v(lib, s["secret"], got, webhook_id=hk.new_id()), "another id")
        stamp = str(int(got.headers["webhook-timestamp"]) - 60)
        refused(v(lib, s["secret"], got, webhook_timestamp=stamp), "another time")


def test_retries_and_test_sends(t):
    """Each attempt is signed anew, with the id it had."""
    v, c, r = Verifier(t), t.srv.client(), Receiver(t)
    r.answer("/r", 500, times=2)
    s = subscribe(c, r.url("/r"), retry={"delaysMs": [110000, 1000], "jitterMs": 0})
    c.publish(envelope()).want(202)
    got = r.wait_for(3, "/r")
    same(len({g.id for g in got}), 1, "one id")
    check(got[0].headers["webhook-timestamp"] != got[2].headers["webhook-timestamp"], "its own time")
    c.post(f"/v1/subscriptions/{s['id']}/test").want(200)
    for g in r.wait_for(4, "/r"):
        for lib in LIBS:
            a = v(lib, s["secret"], g)
            check(a["ok"], f"{lib} verifies", a)


def test_rotation(t):
    """Two secrets at once: receivers of either verify; then the old one is over."""
    v, c, r = Verifier(t), t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/k"))
    path = "/v1/subscriptions/" + s["id"]
    new = c.post(path + "/rotate-secret", {"overlapSeconds": 60}).want(200).json["secret"]
    until(lambda: c.post(path + "/test").want(200).json["success"], "it is in use")
    c.publish(envelope()).want(202)
    got = r.wait_for(2, "/k")[1]
    same(len(got.headers["webhook-signature"].split(" ")), 2, "two signatures")
    for lib in LIBS:
        for secret in (s["secret"], new):
            a = v(lib, secret, got)
            check(a["ok"], f"{lib} verifies", a)
            refused(v(lib, secret, got, got.body[:-1] + b" }"), "a changed body")
    last = c.post(path + "/rotate-secret", {"overlapSeconds": 0}).want(200).json["secret"]
    c.publish(envelope()).want(202)
    got = r.wait_for(3, "/k")[2]
    for lib in LIBS:
        check(v(lib, last, got)["ok"], "the newest")
        refused(v(lib, new, got), "one that is over at once")


def test_ed25519(t):
    """whsk_ signs, the whpk_ that the API shows verifies."""
    v, c, r = Verifier(t), t.srv.client(), Receiver(t)
    secret = "whsk_" + base64.b64encode(bytes(range(32))).decode()
    s = subscribe(c, r.url("/e"), secret=secret)
    check(s["publicKey"].startswith("whpk_"), "the public key", s)
    c.publish(envelope()).want(202)
    got, = r.wait_for(1, "/e")
    a = v("ed25519", s["publicKey"], got)
    check(a["ok"], "verified", a, got)
    refused(v("ed25519", s["publicKey"], got, got.body + b" "), "a changed body")
    other = "whpk_" + base64.b64encode(bytes(32)).decode()
    refused(v("ed25519", other, got), "another key")
    for lib in LIBS:
        refused(v(lib, "whsec_" + base64.b64encode(bytes(range(32))).decode(), got),
                f"{lib}: no HMAC of it")


def test_the_repository_preset(t):
    """Beside the seed's own headers it carries those of Standard Webhooks."""
    v, c, r = Verifier(t), t.srv.client(), Receiver(t)
    plain = "a shared secret of the repository"
    subscribe(c, r.url("/p"), preset="repository", secret=plain)
    c.publish(envelope()).want(202)
    got, = r.wait_for(1, "/p")
    key = "whsec_" + base64.b64encode(plain.encode()).decode()
    for lib in LIBS:
        a = v(lib, key, got)
        check(a["ok"], f"{lib} verifies", a, got)
