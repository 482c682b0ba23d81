"""The receivers in samples/ verify what each scheme sends, and refuse the rest."""
import base64
import hashlib
import hmac
import http.client
import os
import re
import shutil
import subprocess
import time

from hk import Skip, check, same

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
KEY = bytes(range(32))
STANDARD = "whsec_" + base64.b64encode(KEY).decode()
BODY = '{"n":1.50,"s":"é"}'.encode()


def sha(key, message):
    return hmac.new(key, message, hashlib.sha256)


def standard(now):
    at = str(int(now))
    good = base64.b64encode(sha(KEY, f"msg_1.{at}.".encode() + BODY).digest()).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": at, "webhook-signature": f"v1,AAAA v1,{good}"}


def repository(now):
    return {"X-NemakiWare-Signature": "sha256=" + sha(b"plain", BODY).hexdigest()}


def task(now):
    at = str(int(now * 1000))
    return {"X-Timestamp": at, "X-Signature": sha(b"plain", at.encode() + b"." + BODY).hexdigest()}


def hub(now):
    sum = hmac.new(b"plain", int(now // 30).to_bytes(8, "big"), hashlib.sha1).digest()
    at = sum[-1] & 15
    return {"Authorization": "%08d" % ((int.from_bytes(sum[at:at + 4], "big") & 0x7fffffff) % 10**8)}


class Ed25519:
    """A key pair; the openssl program signs with it."""

    def __init__(self, t):
        self.path = t.path("ed25519.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.path], check=True)
        der = subprocess.run(["openssl", "pkey", "-in", self.path, "-pubout", "-outform", "DER"],
                             check=True, capture_output=True).stdout
        self.public = "whpk_" + base64.b64encode(der[-32:]).decode()
        self.t = t

    def __call__(self, now):
        at = str(int(now))
        message = self.t.path("signed")
        with open(message, "wb") as f:
            f.write(f"msg_1.{at}.".encode() + BODY)
        sig = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", self.path, "-in", message],
                             check=True, capture_output=True).stdout
        other = base64.b64encode(bytes(64)).decode()
        return {"webhook-id": "msg_1", "webhook-timestamp": at,
                "webhook-signature": f"v1,AAAA v1a,{other} v1a,{base64.b64encode(sig).decode()}"}


PLAIN = (("standard", STANDARD, standard), ("repository", "plain", repository),
         ("task", "plain", task), ("hub", "plain", hub))
UNTIMED = ("repository", "github")
BODILESS = ("hub",)  # what a code does not cover


def schemes(t, ed25519=True):
    pair = Ed25519(t) if ed25519 else None
    return PLAIN + ((("standard", pair.public, pair),) if pair else ())


def cases(scheme, make):
    """headers, body, whether it is good"""
    now = time.time()
    yield make(now), BODY, True
    if scheme not in BODILESS:
        yield make(now), BODY + b" ", False
    yield {}, BODY, False
    if scheme not in UNTIMED:
        yield make(now - 400), BODY, False
        yield make(now + 400), BODY, False


def serve(t, *command, ed25519=True):
    """Each scheme through a sample that is a server."""
    for scheme, secret, make in schemes(t, ed25519):
        p = subprocess.Popen([*command, scheme, secret, "0"], stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r"(\d+)", p.stdout.readline())[1])
            for headers, body, good in cases(scheme, make):
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                c.request("POST", "/", body, headers)
                same(c.getresponse().status, 204 if good else 401, f"{scheme} {headers}")
                c.close()
        finally:
            p.kill()
            p.wait()


def test_python(t):
    sample = f"{ROOT}/samples/python/receive.py"
    serve(t, "python3", sample, ed25519=False)
    r = subprocess.run(["python3", sample, "standard", "whpk_AAAA", "0"], capture_output=True, text=True)
    check(r.returncode == 1 and "no ed25519" in r.stderr, "it says what it can't", r)


def test_node(t):
    if not shutil.which("node"):
        raise Skip("no node here")
    serve(t, "node", f"{ROOT}/samples/node/receive.js")


def test_go(t):
    if not shutil.which("go"):
        raise Skip("no go here")
    binary = t.path("receive-go")
    subprocess.run(["go", "build", "-o", binary, f"{ROOT}/samples/go/receive.go"], check=True,
                   env={**os.environ, "GOFLAGS": "-mod=mod", "GO111MODULE": "off",
                        "GOCACHE": f"{ROOT}/build/gocache"})
    serve(t, binary)


def test_c(t):
    binary = t.path("receive-c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", binary,
                    f"{ROOT}/samples/c/receive.c", "-lcrypto"], check=True)
    call(binary, schemes(t))


def call(binary, which):
    """Each scheme through a program that runs once a request."""
    for scheme, secret, make in which:
        for headers, body, good in cases(scheme, make):
            env = {"HTTP_" + k.upper().replace("-", "_"): v for k, v in headers.items()}
            r = subprocess.run([binary, scheme, secret], input=body, env=env, capture_output=True)
            same(r.returncode, 0 if good else 1, f"{scheme} {headers}")
            check(r.stdout.startswith(b"Status: 204" if good else b"Status: 401"), "answer", r)


def github(now):
    return {"X-Hub-Signature-256": "sha256=" + sha(b"plain", BODY).hexdigest()}


def stripe(now):
    at = str(int(now))
    good = sha(b"whsec_x", at.encode() + b"." + BODY).hexdigest()
    return {"Stripe-Signature": f"t={at},v1={'0' * 64},v1={good},v0=1"}


def test_libhikyaku(t):
    call(f"{ROOT}/build/release/example/receive", schemes(t) + (
        ("cloudevents", STANDARD, standard), ("github", "plain", github),
        ("stripe", "whsec_x", stripe)))
