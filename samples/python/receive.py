#!/usr/bin/env python3
"""A receiver that verifies: receive.py SCHEME SECRET PORT (0: a free one).

SCHEME is standard, repository, task or hub. Answers 204, or 401 with the reason.
An ed25519 key (whpk_) can't be used here: Python's standard library has no
ed25519. Take a package that has it, or the sample in another language.
"""
import base64
import hashlib
import hmac
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer

TOLERANCE = 300


def mac(key, message):
    return hmac.new(key, message, hashlib.sha256)


def fresh(seconds):
    return abs(time.time() - seconds) <= TOLERANCE


def standard(headers, body, secret):
    """Standard Webhooks: several signatures may stand there while a secret is rotated."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    if not fresh(int(headers["webhook-timestamp"])):
        return "too old"
    signed = f'{headers["webhook-id"]}.{headers["webhook-timestamp"]}.'.encode() + body
    want = "v1," + base64.b64encode(mac(key, signed).digest()).decode()
    good = [hmac.compare_digest(want, s) for s in headers["webhook-signature"].split(" ")]
    return None if any(good) else "wrong signature"


def repository(headers, body, secret):
    want = "sha256=" + mac(secret.encode(), body).hexdigest()
    return None if hmac.compare_digest(want, headers["X-NemakiWare-Signature"]) else "wrong signature"


def task(headers, body, secret):
    if not fresh(int(headers["X-Timestamp"]) / 1000):
        return "too old"
    want = mac(secret.encode(), headers["X-Timestamp"].encode() + b"." + body).hexdigest()
    return None if hmac.compare_digest(want, headers["X-Signature"]) else "wrong signature"


def hub(headers, body, secret):
    """A one-time code (RFC 6238: SHA-1, 30 s, 8 digits). It proves who called, not what was said."""
    codes = []
    for step in range(int(time.time()) // 30 - 1, int(time.time()) // 30 + 2):
        sum = hmac.new(secret.encode(), step.to_bytes(8, "big"), hashlib.sha1).digest()
        at = sum[-1] & 15
        codes.append("%08d" % ((int.from_bytes(sum[at:at + 4], "big") & 0x7fffffff) % 10**8))
    good = [hmac.compare_digest(code, headers["Authorization"]) for code in codes]
    return None if any(good) else "wrong or old code"


SCHEMES = {"standard": standard, "repository": repository, "task": task, "hub": hub}


def verify(scheme, headers, body, secret):
    """None, or why not. The body is the bytes that came: parse it afterwards."""
    try:
        return SCHEMES[scheme](headers, body, secret)
    except (TypeError, ValueError, AttributeError):
        return "a header is missing or malformed"


def main(scheme, secret, port):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            why = verify(scheme, self.headers, body, secret)
            self.send_response(401 if why else 204)
            self.end_headers()
            print(why or "verified", flush=True)

        def log_message(self, *args):
            pass

    server = HTTPServer(("127.0.0.1", port), Handler)
    print(f"listening on {server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    if sys.argv[2].startswith("whpk_"):
        sys.exit("Python's standard library has no ed25519: see the top of this file")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
