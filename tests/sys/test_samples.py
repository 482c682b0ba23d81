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


SCHEMES = (("standard", STANDARD, standard), ("repository", "plain", repository), ("task", "plain", task))


def cases(make, timed):
    """headers, body, whether it is good"""
    now = time.time()
    yield make(now), BODY, True
    yield make(now), BODY + b" ", False
    yield {}, BODY, False
    if timed:
        yield make(now - 400), BODY, False
        yield make(now + 400), BODY, False


def serve(t, *command):
    """Each scheme through a sample that is a server."""
    for scheme, secret, make in SCHEMES:
        p = subprocess.Popen([*command, scheme, secret, "0"], stdout=subprocess.PIPE, text=True)
        try:
            port = int(re.search(r"(\d+)", p.stdout.readline())[1])
            for headers, body, good in cases(make, scheme != "repository"):
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
                c.request("POST", "/", body, headers)
                same(c.getresponse().status, 204 if good else 401, f"{scheme} {headers}")
                c.close()
        finally:
            p.kill()
            p.wait()


def test_python(t):
    serve(t, "python3", f"{ROOT}/samples/python/receive.py")


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
                        "GOCACHE": t.path("gocache")})
    serve(t, binary)


def test_c(t):
    binary = t.path("receive-c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", binary,
                    f"{ROOT}/samples/c/receive.c", "-lcrypto"], check=True)
    for scheme, secret, make in SCHEMES:
        for headers, body, good in cases(make, scheme != "repository"):
            env = {"HTTP_" + k.upper().replace("-", "_"): v for k, v in headers.items()}
            r = subprocess.run([binary, scheme, secret], input=body, env=env, capture_output=True)
            same(r.returncode, 0 if good else 1, f"{scheme} {headers}")
            check(r.stdout.startswith(b"Status: 204" if good else b"Status: 401"), "answer", r)
