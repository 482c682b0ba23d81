"""The receivers in samples/ take what the server really sends, on every attempt.

A task's webhook is refused three times, so that the sample judges the third
retry too: it is signed afresh, and with time.scale the minutes are short.
"""
import http.client
import os
import re
import shutil
import subprocess

import receiver
from hk import ROOT, Skip, check, envelope, same, until
from test_tasks import Owner

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def listening(t, command, scheme, secret):
    """A sample that is a server; asks it about a request: 204 or 401."""
    p = subprocess.Popen([*command, scheme, secret, "0"], stdout=subprocess.PIPE, text=True)
    t.later(lambda: (p.kill(), p.wait()))
    port = int(re.search(r"(\d+)", p.stdout.readline())[1])

    def ask(request):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        c.request("POST", "/", request.body, dict(request.headers))
        status = c.getresponse().status
        c.close()
        return status
    return ask


def called(t, command, scheme, secret):
    """The C sample runs once a request, as a CGI program."""
    def ask(request):
        env = {"HTTP_" + k.upper().replace("-", "_"): v for k, v in request.headers.items()}
        r = subprocess.run([*command, scheme, secret], input=request.body, env=env,
                           capture_output=True)
        return int(re.match(rb"Status: (\d+)", r.stdout)[1])
    return ask


def judge(t, start, command):
    srv, r, o = t.srv, receiver.Receiver(t), Owner(t.srv)
    # task: four attempts, the last one is taken
    sample, wrong = start(t, command, "task", o.secret), start(t, command, "task", "another")
    said = []

    def answer(request):
        said.append((sample(request), wrong(request)))
        return 503 if len(said) < 4 else said[-1][0]
    r.answer("/task", answer)
    task = o.submit(callbackUrl=r.url("/task"))
    o.report(task, "COMPLETED", confidenceScore=0.9, forwarderName="貨運").want(200)
    until(lambda: o.history(task)[0]["status"] == "delivered", "delivered on the third retry", 20)
    same(said, [(204, 401)] * 4, "task, each attempt")
    same(o.history(task)[0]["attempts"], 4, "attempts")
    # standard: the second is a retry
    c = srv.client()
    made = c.post("/v1/subscriptions", {"name": "s", "url": r.url("/std"), "types": ["Sample"]}
                  ).want(201).json
    sample, seen = start(t, command, "standard", made["secret"]), []

    def answer_standard(request):
        seen.append(sample(request))
        return 503 if len(seen) < 2 else seen[-1]
    r.answer("/std", answer_standard)
    c.publish(envelope(type="Sample", payload={"n": 1.50, "s": "é"})).want(202)
    until(lambda: len(seen) == 2, "a retry", 20)
    same(seen, [204, 204], "standard")
    c.delete(f"/v1/subscriptions/{made['id']}").want(204)


def test_python(t):
    judge(t, listening, ["python3", f"{ROOT}/samples/python/receive.py"])


def test_node(t):
    if not shutil.which("node"):
        raise Skip("no node here")
    judge(t, listening, ["node", f"{ROOT}/samples/node/receive.js"])


def test_go(t):
    if not shutil.which("go"):
        raise Skip("no go here")
    binary = t.path("receive-go")
    subprocess.run(["go", "build", "-o", binary, f"{ROOT}/samples/go/receive.go"], check=True,
                   env={**os.environ, "GO111MODULE": "off", "GOCACHE": os.path.join(ROOT, "build", "gocache")})
    judge(t, listening, [binary])


def test_c(t):
    binary = t.path("receive-c")
    subprocess.run(["cc", "-Wall", "-Wextra", "-Werror", "-o", binary,
                    f"{ROOT}/samples/c/receive.c", "-lcrypto"], check=True)
    check(os.access(binary, os.X_OK), "built", binary)
    judge(t, called, [binary])


def test_libhikyaku(t):
    judge(t, called, [os.path.join(ROOT, "build", "release", "example", "receive")])
