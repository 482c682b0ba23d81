"""`hikyaku listen` and `hikyaku verify`: the receiving side, to try things out with."""
import base64
import hashlib
import hmac
import http.client
import re
import signal
import subprocess
import time

import hk
from hk import check, run, same, until

KEY = bytes(range(32))
SECRET = "whsec_" + base64.b64encode(KEY).decode()
BODY = b'{"n":1}'


class Listener:
    def __init__(self, t, *args, env=None):
        self.out = open(t.path("listen.out"), "wb")
        self.err_path = t.path("listen.err")
        self.process = subprocess.Popen(
            [hk.BINARY, "listen", "0", *args], stdout=self.out,
            stderr=open(self.err_path, "wb"), env={**hk.environment({}, ""), **(env or {})})
        self.port = int(until(self.said, "it says where it listens")[1])

    def said(self):
        with open(self.err_path, encoding="utf-8") as f:
            return re.search(r"listening on http://127\.0\.0\.1:(\d+)", f.read())

    def send(self, headers, body=BODY, method="POST", path="/hook"):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        c.request(method, path, body, headers)
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text

    def shown(self):
        with open(self.out.name, encoding="utf-8") as f:
            return f.read()

    def stop(self, sig=signal.SIGINT):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(10)


def standard(body=BODY, at=None, key=KEY, id="msg_1"):
    at = str(int(time.time()) if at is None else at)
    mac = hmac.new(key, f"{id}.{at}.".encode() + body, hashlib.sha256).digest()
    return {"webhook-id": id, "webhook-timestamp": at,
            "webhook-signature": "v1," + base64.b64encode(mac).decode()}


def task(body=BODY, secret=b"plain"):
    at = str(int(time.time() * 1000))
    return {"X-Timestamp": at,
            "X-Signature": hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()}


def github(body=BODY, secret=b"plain"):
    return {"X-Hub-Signature-256":
            "sha256=" + hmac.new(secret, body, hashlib.sha256).hexdigest()}


def stripe(body=BODY, secret=b"whsec_plain", at=None):
    at = str(int(time.time()) if at is None else at)
    mac = hmac.new(secret, at.encode() + b"." + body, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={at},v1={'0' * 64},v1={mac},v0={'1' * 64}"}


def test_verified_and_not(t):
    at = Listener(t, "--secret", SECRET)
    try:
        same(at.send(standard())[0], 200, "answer")
        check("-> 200, verified\n" in at.shown(), "verified", at.shown())
        at.send(standard())
        check("-> 200, verified, came before" in at.shown(), "a repeat is told", at.shown())
        at.send(standard(), b'{"n":2}')
        check("not verified: no signature fits" in at.shown(), "another body", at.shown())
        at.send(standard(at=1000000000))
        check("not verified: its time is too far" in at.shown(), "too old", at.shown())
        at.send({})
        check("not verified: there is no signature" in at.shown(), "unsigned", at.shown())
        at.send({}, b"\x1b[2J\xff")
        check("\x1b" not in at.shown() and "\\x1b[2J" in at.shown(), "nothing for the terminal")
    finally:
        same(at.stop(), 0, "exit status after SIGINT")


def test_fails_on_purpose(t):
    at = Listener(t, "--fail", "2", "--status", "204")
    try:
        same([at.send({}, b"")[0] for _ in range(4)], [503, 503, 204, 204], "answers")
        check("not checked: no secret" in at.shown(), "says that nothing was checked", at.shown())
    finally:
        same(at.stop(signal.SIGTERM), 0, "exit status after SIGTERM")


def test_secret_of_the_environment(t):
    at = Listener(t, "--scheme", "task", env={"HIKYAKU_SECRET": "plain"})
    try:
        at.send(task())
        check("-> 200, verified\n" in at.shown(), "verified", at.shown())
    finally:
        at.stop()


def test_providers(t):
    """What GitHub and Stripe send is verified as well, by both verbs."""
    at = Listener(t, "--scheme", "stripe", "--secret", "whsec_plain")
    try:
        at.send(stripe())
        check("-> 200, verified\n" in at.shown(), "verified", at.shown())
        at.send(stripe(at=1700000000))
        check("not verified: its time is too far" in at.shown(), "too old", at.shown())
        at.send(stripe(), b'{"n":2}')
        check("not verified: no signature fits" in at.shown(), "another body", at.shown())
        at.send({})
        check("not verified: there is no signature" in at.shown(), "unsigned", at.shown())
    finally:
        at.stop()
    path = capture(t, github())
    verify("--scheme", "github", "--secret", "plain", path).want(0)
    same(verify("--scheme", "github", "--secret", "other", path).code, 1, "another secret")
    path = capture(t, stripe(at=1700000000))
    verify("--scheme", "stripe", "--secret", "whsec_plain", "--at", "2023-11-14T22:13:30Z",
           path).want(0)
    same(verify("--scheme", "stripe", "--secret", "whsec_plain", path).code, 1, "too old")


def test_hub(t):
    at = Listener(t, "--scheme", "hub", "--secret", "12345678901234567890")
    try:
        same(at.send({}, None, "GET", "/g/api/pca119"), (200, b'{"Status":2}'), "health check")
        mac = hmac.new(b"12345678901234567890", (int(time.time()) // 30).to_bytes(8, "big"),
                       hashlib.sha1).digest()
        at_byte = mac[-1] & 15
        code = (int.from_bytes(mac[at_byte:at_byte + 4], "big") & 0x7fffffff) % 10**8
        at.send({"Authorization": f"{code:08d}"})
        check("-> 200, verified\n" in at.shown(), "verified", at.shown())
        at.send({"Authorization": f"{(code + 1) % 10**8:08d}"})
        check("not verified: the one-time code" in at.shown(), "a wrong code", at.shown())
        at.send({})
        check("not verified: there is no one-time code" in at.shown(), "no code", at.shown())
    finally:
        at.stop()


def capture(t, headers, body=BODY, line="POST /hook HTTP/1.1\r\n"):
    path = t.path("captured")
    with open(path, "wb") as f:
        f.write(line.encode() + b"".join(f"{k}: {v}\r\n".encode() for k, v in headers.items()))
        f.write(b"\r\n" + body)
    return path


def verify(*args):
    return run([hk.BINARY, "verify", *args], env=hk.environment({}, ""))


def test_verify(t):
    path = capture(t, standard())
    same(verify("--secret", SECRET, path).want(0).out, "verified\n", "said")
    path = capture(t, standard(), line="")
    verify("--secret", SECRET, path).want(0)
    path = capture(t, task())
    verify("--scheme", "task", "--secret", "plain", path).want(0)
    r = verify("--scheme", "task", "--secret", "other", path)
    same(r.code, 1, "exit status")
    check("no signature fits" in r.err and not r.out, "says why", r)
    path = capture(t, standard(at=1700000000))
    check("its time" in verify("--secret", SECRET, path).err, "too old")
    verify("--secret", SECRET, "--at", "2023-11-14T22:13:20Z", path).want(0)
    verify("--secret", SECRET, "--tolerance", "3153600000", path).want(0)


def test_verify_refuses(t):
    path = capture(t, standard())
    for args, says in ((("--secret", SECRET, "--scheme", "nope", path), "not known"),
                       ((path,), "HIKYAKU_SECRET"),
                       (("--secret", "short", path), "whsec_"),
                       (("--secret", SECRET, "--at", "noon", path), "RFC 3339"),
                       (("--secret", SECRET, t.path("none")), "No such file"),
                       (("--secret", "x", "--scheme", "hub", path), "signs nothing")):
        r = verify(*args)
        same(r.code, 1, f"exit status of {args}")
        check(says in r.err and len(r.err.splitlines()) == 1, f"{args} says {says}", r)
        check("short" not in r.err, "no secret is repeated", r)


def test_listen_refuses(t):
    for args, says in ((("x",), "PORT"), (("70000",), "65535"), (("0", "--scheme", "no"), "known")):
        r = run([hk.BINARY, "listen", *args], env=hk.environment({}, ""))
        same(r.code, 1, f"exit status of {args}")
        check(says in r.err, f"{args} says {says}", r)
