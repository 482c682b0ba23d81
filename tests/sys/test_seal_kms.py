"""Keys from AWS KMS: against a stand-in that speaks its protocol and checks signatures."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import threading

from hk import check, same, until
from test_seal import refused, stored

ID, SECRET, TOKEN, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "tok+en", "eu-x-1"


def sign(key, text):
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


def signature(method, path, headers, names, body, date, scope):
    """AWS Signature Version 4."""
    canonical = "\n".join([method, path, "", *(f"{n}:{headers[n].strip()}" for n in names), "",
                           ";".join(names), hashlib.sha256(body).hexdigest()])
    key = ("AWS4" + SECRET).encode()
    for part in scope.split("/"):
        key = sign(key, part)
    text = "\n".join(["AWS4-HMAC-SHA256", date, scope,
                      hashlib.sha256(canonical.encode()).hexdigest()])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


class Kms(http.server.BaseHTTPRequestHandler):
    keys, calls, wrong, mode = {}, [], [], "good"

    def log_message(self, *_):
        pass

    def answer(self, status, j):
        body = j if isinstance(j, bytes) else json.dumps(j).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/x-amz-json-1.1")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def signed(self, body):
        head = {k.lower(): v for k, v in self.headers.items()}
        auth = dict(p.strip().split("=", 1) for p in
                    head["authorization"].removeprefix("AWS4-HMAC-SHA256 ").split(","))
        who, scope = auth["Credential"].split("/", 1)
        names = auth["SignedHeaders"].split(";")
        want = signature("POST", self.path, head, names, body, head["x-amz-date"], scope)
        return (who == ID and auth["Signature"] == want and "x-amz-target" in names
                and scope.split("/")[1:] == [REGION, "kms", "aws4_request"]
                and head.get("x-amz-security-token") == TOKEN)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        target, j = self.headers["X-Amz-Target"], json.loads(body)
        self.calls.append(target)
        if not self.signed(body):
            self.wrong.append(dict(self.headers))
            return self.answer(403, {"__type": "InvalidSignatureException", "message": "no"})
        if self.mode == "denied":
            return self.answer(400, {"__type": "AccessDeniedException", "message": "not you"})
        if self.mode == "junk":
            return self.answer(200, b"<html>")
        if self.mode == "short":
            return self.answer(200, {"Plaintext": "AAAA", "CiphertextBlob": "AAAA"})
        same(j["EncryptionContext"], {"app": "hikyaku"}, "context")
        if target == "TrentService.GenerateDataKey":
            same(j["KeySpec"], "AES_256", "spec")
            key, blob = os.urandom(32), base64.b64encode(os.urandom(60)).decode()
            self.keys[blob] = (j["KeyId"], key)
            return self.answer(200, {"KeyId": j["KeyId"], "CiphertextBlob": blob,
                                     "Plaintext": base64.b64encode(key).decode()})
        same(target, "TrentService.Decrypt", "target")
        if j["CiphertextBlob"] not in self.keys:
            return self.answer(400, {"__type": "InvalidCiphertextException"})
        key_id, key = self.keys[j["CiphertextBlob"]]
        return self.answer(200, {"KeyId": key_id, "Plaintext": base64.b64encode(key).decode()})


def kms(t):
    kind = type("One", (Kms,), {"keys": {}, "calls": [], "wrong": [], "mode": "good"})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    t.later(lambda: (server.shutdown(), server.server_close()))
    settings = {"WEBHOOK_ENCRYPTION_KEY_SOURCE": "kms",
                "WEBHOOK_ENCRYPTION_KMS_KEY_ID": "alias/one",
                "WEBHOOK_ENCRYPTION_KMS_URL": f"http://127.0.0.1:{server.server_port}/",
                "AWS_REGION": REGION, "AWS_ACCESS_KEY_ID": ID, "AWS_SECRET_ACCESS_KEY": SECRET,
                "AWS_SESSION_TOKEN": TOKEN}
    return kind, settings


def test_kms(t):
    """Made at the first start, unwrapped at each, never plain on the disk."""
    k, settings = kms(t)
    srv = t.server(**settings)
    srv.new_key("read")
    same(k.calls, ["TrentService.GenerateDataKey"], "asked once")
    same(k.wrong, [], "signed")
    first = stored(srv)[-1]["kid"]
    check(first.startswith("kms-"), "its id", first)
    check(not os.path.exists(srv.data + "/seal.key"), "no key file")
    plain = [v[1] for v in k.keys.values()]
    srv.restart()
    same(k.calls[1:], ["TrentService.Decrypt"], "unwrapped at the start")
    srv.admin().post("/v1/seal/rotate").want(409, says="KMS")
    srv.new_key("read")
    srv.stop()
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                text = f.read()
            check(not any(p in text or base64.b64encode(p) in text for p in plain),
                  f"a key in {name}")
    text = srv.all_logs()
    check(not any(base64.b64encode(p) in text for p in plain) and SECRET.encode() not in text,
          "no key in the log")


def test_rotate(t):
    """Another key of the KMS, and another data key."""
    k, settings = kms(t)
    srv = t.server(**settings)
    for _ in range(3):
        srv.new_key("read")
    first = stored(srv)[-1]["kid"]
    srv.stop()
    srv.settings["WEBHOOK_ENCRYPTION_KMS_KEY_ID"] = "alias/two"
    srv.start()
    until(lambda: first not in {v["kid"] for v in stored(srv)}, "the start moves all on")
    second = stored(srv)[-1]["kid"]
    until(lambda: not srv.admin().get("/v1/seal").json["running"], "done")
    srv.stop()
    third = srv.cli("seal", "rotate").want(0, says=f"the key {second} can go").out.strip()
    same({v["kid"] for v in stored(srv)}, {third}, "a new data key, without a server")
    srv.start()
    same([x["id"] for x in srv.admin().get("/v1/seal").json["keys"]], [third, second, first],
         "the keys")
    same(k.wrong, [], "signed")


def test_trouble(t):
    """A KMS that says no, or nothing, stops the start with the reason."""
    k, settings = kms(t)
    srv = t.server(**settings)
    srv.stop()
    for mode, says in (("denied", "AccessDeniedException"), ("junk", "JSON"),
                       ("short", "32 bytes")):
        k.mode = mode
        refused(srv, says)
    k.mode = "good"
    refused(srv, "refused it with 403", AWS_SECRET_ACCESS_KEY="wrong")
    refused(srv, "region", AWS_REGION=None)
    refused(srv, "AWS_ACCESS_KEY_ID", AWS_ACCESS_KEY_ID=None)
    refused(srv, "kms.key.id", WEBHOOK_ENCRYPTION_KMS_KEY_ID=None)
    refused(srv, "did not answer", WEBHOOK_ENCRYPTION_KMS_URL="http://127.0.0.1:1/")
    k.keys.clear()
    refused(srv, "InvalidCiphertextException")
