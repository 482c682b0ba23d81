"""Secrets are never in the logs, whatever happens with them."""
import base64
import json
import re

from hk import basic, check, envelope, until

PLANTED = "planted-Secret-4711"


def test_never_in_logs(t):
    srv = t.server(ADMIN_PASSWORD=PLANTED, LOG_LEVEL="debug")
    admin = srv.connect(basic("admin", PLANTED))
    keys = []
    for scopes in (["publish", "read", "manage", "admin"], ["publish"]):
        j = admin.post("/v1/keys", {"name": "k", "scopes": scopes}).want(201).json
        keys += [v for v in (j["key"], j.get("webhookSecret")) if v]
    c = srv.client(keys[0])
    c.publish(envelope()).want(202)
    c.publish(b"{").want(400)
    c.get("/v1/events?nope=1").want(422)
    c.get("/v1/nothing").want(404)
    srv.connect(basic("admin", PLANTED + "x")).get("/v1/events")
    srv.client(keys[0] + "x").get("/v1/events").want(401)
    srv.connect("Bearer " + PLANTED).get("/v1/events").want(401)
    srv.cli("key", "list", ADMIN_PASSWORD=PLANTED)
    with open(srv.data + "/seal.key") as f:
        keys += [f.readline().strip().split(":")[1]]
    admin.post("/v1/seal/rotate").want(202)
    with open(srv.data + "/seal.key") as f:
        keys += [f.readline().strip().split(":")[1]]
    shown = b"".join(admin.get(path).want(200).body for path in (
        "/v1/keys", "/v1/audit", "/v1/audit/verify", "/v1/seal", "/v1/whoami"))
    for secret in keys:
        check(secret.encode() not in shown, "a secret in an answer", secret)
    srv.stop()
    text = srv.all_logs().decode(errors="replace")
    check(len(text) > 200, "there are logs", text)
    for secret in [PLANTED] + keys + [basic("admin", PLANTED).split()[1]]:
        check(secret not in text, "a secret in the log", secret,
              *[l for l in text.split("\n") if secret in l][:2])
    if srv.url:
        word = re.search(r"://[^:/@]+:([^@]+)@", srv.url)
        check(not word or word[1] not in text, "the database's password in the log")


def test_not_plain_on_the_disk(t):
    """Keys and passwords are stored hashed, secrets that sign are sealed."""
    import os
    srv = t.server(ADMIN_PASSWORD=PLANTED)
    admin = srv.connect(basic("admin", PLANTED))
    made = admin.post("/v1/keys", {"name": "k", "scopes": ["read"]}).want(201).json
    key, word = made["key"], made["webhookSecret"]
    srv.client(key).get("/v1/events").want(200)
    srv.stop()
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                text = f.read()
            for secret in (PLANTED, key, word, word.removeprefix("whsec_")):
                check(secret.encode() not in text, f"a secret in {name}")


def test_query_strings_are_not_logged_with_keys(t):
    """A key in the wrong place is still a key."""
    srv = t.server(LOG_LEVEL="debug")
    key = srv.key()
    srv.connect().get("/v1/events?access_token=" + key)
    srv.stop()
    check(key not in srv.all_logs().decode(errors="replace"), "a key from the query in the log")


def planted(n):
    return f"planted-{n}-Secret-4711"


def test_subscriptions(t):
    """Of what a subscription keeps to itself nothing is shown, logged or stored plain."""
    import os

    import hk
    import receiver
    srv = t.server(LOG_LEVEL="debug", TIME_SCALE="100", **receiver.SETTINGS)
    c, r = srv.client(), receiver.Receiver(t)
    words = [planted(n) for n in ("header", "token", "basic", "client", "shared", "event",
                                  "otp", "salt", "value", "later")]
    header, token, basic_, client, shared, event, otp, salt, value, later = words
    r.answer("/hub/g/api/pca119", 200, body=b'{"Status":2}')
    r.answer("/fails", 500, body=b"no")
    auths = [{"type": "bearer", "token": token},
             {"type": "basic", "username": "u", "password": basic_},
             {"type": "apikey", "header": "X-Api-Key", "value": value},
             {"type": "oauth2", "tokenUrl": r.url("/token"), "clientId": "c",
              "clientSecret": client}]
    r.answer("/token", 200, {"Content-Type": "application/json"},
             b'{"access_token":"%s","token_type":"Bearer","expires_in":60}' % later.encode())
    shown, ids = b"", []
    for i, auth in enumerate(auths):
        a = c.post("/v1/subscriptions", {
            "name": f"s{i}", "url": r.url("/fails" if i % 2 else "/ok"), "auth": auth,
            "retry": {"delaysMs": [1000], "jitterMs": 0},
            "headers": {"X-Plain": "seen", "X-Hidden": {"value": header, "secret": True}}}).want(201)
        words.append(a.json["secret"])
        shown += a.body.replace(a.json["secret"].encode(), b"")
        ids.append(a.json["id"])
    a = c.post("/v1/subscriptions", {
        "name": "hub", "preset": "hub", "url": r.url("/hub"), "types": ["user.*"],
        "hub": {"tenant": "t1", "domain": "hub.example", "healthUrl": r.url("/hub/g/api/pca119"),
                "sharedInternalKey": shared, "eventApiKey": event, "organizationId": "o",
                "servicePartition": "p", "sender": "s", "userPath": "/u",
                "organizationPath": "/o", "accountPointer": "/user/accountId",
                "otp": {"secret": otp, "salt": salt, "saltMode": "key-before"}}})
    shown += a.want(201).body
    ids.append(a.json["id"])
    c.publish(envelope()).want(202)
    c.publish(envelope("user.changed", payload={"user": {"accountId": "1"}})).want(202)
    r.wait_for(2, "/ok")
    r.wait_for(4, "/fails", 20)
    r.wait_for(1, "/hub/u")
    check(any(x.headers.get("X-Hidden") == header for x in r.at("/ok")), "they are sent")
    for sid in ids:
        path = "/v1/subscriptions/" + sid
        got = c.get(path).want(200)
        shown += got.body + c("PATCH", path, got.json).want(200).body
        shown += c.post(path + "/test").want(200).body + c.get(path + "/stats").want(200).body
        a = c.post(path + "/rotate-secret")
        if a.status == 200:
            words.append(a.json["secret"])
            shown += a.body.replace(a.json["secret"].encode(), b"")
        c("PATCH", path, {"auth": {"type": "bearer"}, "nope": token}).want(422)
    shown += c.get("/v1/subscriptions", limit=1000).want(200).body
    shown += c.get("/v1/audit", limit=1000).want(200).body
    c.delete("/v1/subscriptions/" + ids[0]).want(204)
    for word in words:
        check(word.encode() not in shown, "a secret in an answer", word)
    srv.stop()
    text = srv.all_logs().decode(errors="replace")
    for word in words:
        check(word not in text, "a secret in the log", word,
              *[l for l in text.split("\n") if word in l][:2])
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                stored = f.read()
            for word in words:
                check(word.encode() not in stored, f"a secret in {name}", word)
    if srv.url:
        for table in ("subscription", "attempt", "audit", "log"):
            stored = hk.psql(srv.url, f"SELECT * FROM {table}")
            for word in words:
                check(word not in stored, f"a secret in {table}", word)


class Secrets:
    """Each word that was planted, and the place it was planted in."""

    def __init__(self):
        self.words = {}

    def plant(self, place):
        word = self.words[place] = planted(place.replace(" ", "-"))
        return word

    def add(self, place, word):
        self.words[place] = word

    def spellings(self):
        """As it is, in base64, and as hex: what a careless encoder would leave."""
        for place, word in self.words.items():
            raw = word.encode()
            forms = {raw, base64.b64encode(raw), raw.hex().encode()}
            if word.startswith(("whsec_", "whsk_")):
                forms.add(word.split("_", 1)[1].encode())
            for form in forms:
                yield place, form

    def absent(self, where, data):
        for place, form in self.spellings():
            at = data.find(form)
            check(at < 0, f"the secret of {place} in {where}", data[max(0, at - 200):at + 80])


def echo(request):
    """A receiver that answers with all that it was sent."""
    text = "".join(f"{k}: {v}\n" for k, v in request.headers.items()).encode()
    return 500, {"X-Echo": request.headers.get("Authorization", "none")}, text


def whole_store(srv):
    """All that the database holds."""
    import shutil
    import subprocess
    import hk
    if not srv.url:
        return b""
    exe = shutil.which("pg_dump") or "/usr/lib/postgresql/15/bin/pg_dump"
    out = subprocess.run([exe, "-d", srv.url], capture_output=True, timeout=60)
    check(out.returncode == 0, "pg_dump", out.stderr)
    tables = hk.psql(srv.url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'").split()
    check(len(tables) > 5, "tables", tables)
    return out.stdout + b"".join(hk.psql(srv.url, f"SELECT t::text FROM {n} t").encode()
                                 for n in tables)


def test_every_place(t):
    """Secrets in every place, receivers that tell all they hear, keys from a KMS: none is found
    in logs, answers, audit rows, errors, files or the database."""
    import os

    import receiver
    import test_seal_kms
    from pki import Pki
    kind, kms = test_seal_kms.kms(t)
    s, p = Secrets(), Pki(t.folder)
    srv = t.server(LOG_LEVEL="debug", TIME_SCALE="1000", ADMIN_PASSWORD=s.plant("admin"),
                   WEBHOOK_DEFAULT_SECRET=s.plant("default"), **kms, **receiver.SETTINGS)
    s.add("aws", test_seal_kms.SECRET)
    s.add("aws token", test_seal_kms.TOKEN + "-")  # four letters alone are found anywhere
    admin, r = srv.connect(basic("admin", s.words["admin"])), receiver.Receiver(t)
    made = admin.post("/v1/keys", {"name": "k", "scopes": ["publish", "read", "manage", "admin"]})
    s.add("api key", made.want(201).json["key"])
    s.add("task secret", made.json["webhookSecret"])
    c = srv.client(made.json["key"])
    admin.post("/v1/users", {"name": "ann", "password": s.plant("user"), "role": "operator"})
    ours = p.make("ours", "DNS:ours")
    with open(ours[0]) as cert, open(ours[1]) as key:
        mtls = {"type": "mtls", "certificate": cert.read(), "key": key.read()}
    s.add("mtls key", mtls["key"].split("\n")[1])
    r.answer("/hub/u", echo)
    r.answer("/hub/g/api/pca119", 200, body=b'{"Status":2}')
    r.answer("/token", 200, {"Content-Type": "application/json"}, json.dumps({
        "access_token": s.plant("access token"), "token_type": "Bearer", "expires_in": 60}).encode())
    r.answer("/no-token", lambda q: (401, {}, b'{"error":"invalid_client","error_description":"%s"}'
                                     % q.headers["Authorization"].encode()))
    oauth = {"type": "oauth2", "clientId": "c", "clientSecret": s.plant("client secret")}
    auths = [{"type": "bearer", "token": s.plant("bearer")},
             {"type": "basic", "username": "u", "password": s.plant("basic")},
             {"type": "apikey", "header": "X-Api-Key", "value": s.plant("apikey")},
             {**oauth, "tokenUrl": r.url("/token")}, {**oauth, "tokenUrl": r.url("/no-token")}, mtls]
    preset = {"body": "payload", "verdicts": [{"status": "200-299", "verdict": "success"},
                                              {"status": "500-599", "verdict": "retry"}],
              "headers": [{"name": "X-Preset", "value": "{secret:eventApiKey}", "secret": True}]}
    shown = c("PUT", "/v1/presets/mine", preset).want(201).body
    hub = {"tenant": "t1", "domain": "hub.example", "healthUrl": r.url("/hub/g/api/pca119"),
           "sharedInternalKey": s.plant("hub shared"), "eventApiKey": s.plant("hub event"),
           "organizationId": "o", "servicePartition": "p", "sender": "s", "userPath": "/u",
           "organizationPath": "/o", "accountPointer": "/user/accountId",
           "otp": {"secret": s.plant("otp"), "salt": s.plant("salt"), "saltMode": "key-before"}}
    retry = {"delaysMs": [1000], "jitterMs": 0}
    hidden = {"X-Hidden": {"value": s.plant("header"), "secret": True}}
    bodies = [{"auth": a, "retry": retry, "headers": hidden} for a in auths]
    bodies += [
        {"retry": retry, "headers": {"Authorization": s.plant("plain header")}},
        {"secret": "whsk_" + base64.b64encode(b"k" * 31 + b"!").decode()},
        {"preset": "repository", "secret": s.plant("repository")},
        {"url": r.url("/hub"), "preset": "hub", "types": ["user.*"], "hub": hub},
        {"preset": "mine", "hub": hub},
    ]
    s.add("ed25519", bodies[len(auths) + 1]["secret"])
    ids = []
    for i, body in enumerate(bodies):
        r.answer(f"/echo{i}", echo)
        a = c.post("/v1/subscriptions", {"name": f"s{i}", "url": r.url(f"/echo{i}"), **body})
        told = a.want(201).body
        word = a.json["secret"]
        if word and word != "********":  # shown this once
            s.add(f"secret {i}", word)
            told = told.replace(word.encode(), b"")
        shown += told
        ids.append(a.json["id"])
    for _ in range(3):
        c.publish(envelope()).want(202)
    c.publish(envelope("user.changed", payload={"user": {"accountId": "1"}})).want(202)
    for i, body in enumerate(bodies):
        if body.get("auth", {}).get("tokenUrl") != r.url("/no-token"):
            r.wait_for(1, "/hub/u" if "url" in body else f"/echo{i}", 20)
    heard = "".join(f"{q.headers}" for q in r.requests)
    for place in ("bearer", "apikey", "header", "access token", "plain header", "hub event"):
        check(s.words[place] in heard, f"{place} was sent", heard[:500])
    for sid in ids:
        path = "/v1/subscriptions/" + sid
        got = c.get(path).want(200)
        shown += got.body + c("PATCH", path, got.json).want(200).body
        shown += c.post(path + "/test").want(200).body + c.get(path + "/stats").want(200).body
        a = c.post(path + "/rotate-secret")
        if a.status == 200:
            s.add("rotated " + sid, a.json["secret"])
            shown += a.body.replace(a.json["secret"].encode(), b"")
        for bad in ({"auth": {"type": "bearer", "token": s.words["bearer"] + "\n"}},
                    {"headers": {"X": {"value": s.words["header"] + "\n", "secret": True}}},
                    {"secret": s.words["default"] + "\u0000"},
                    {"auth": {"type": s.words["basic"]}}):
            shown += c("PATCH", path, bad).want(422).body.replace(
                s.words["basic"].encode(), b"")  # that stands where a type does
    for q in ("/v1/subscriptions?limit=1000", "/v1/audit?limit=1000", "/v1/keys", "/v1/users",
              "/v1/presets", "/v1/presets/mine", "/v1/seal", "/v1/whoami", "/metrics", "/v1/events"):
        shown += c.get(q).want(200).body
    shown += srv.cli("config", "print").out.encode()
    c.delete("/v1/subscriptions/" + ids[0]).want(204)
    s.absent("an answer", shown)
    srv.stop()
    for blob, (_, key) in kind.keys.items():
        s.add("data key " + blob[:4], base64.b64encode(key).decode())
    s.absent("the log", srv.all_logs())
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                s.absent(name, f.read())
    s.absent("the database", whole_store(srv))


def test_another_server_asks_again(t):
    """Who may change a subscription but does not know its secrets can't have them sent to himself."""
    import receiver
    srv = t.server(**receiver.SETTINGS)
    c, good, evil = srv.client(), receiver.Receiver(t), receiver.Receiver(t)
    word, cookie = planted("token"), planted("cookie")
    sub = c.post("/v1/subscriptions", {
        "name": "s", "url": good.url("/a"), "auth": {"type": "bearer", "token": word},
        "headers": {"Cookie": "sid=" + cookie}}).want(201).json
    path = "/v1/subscriptions/" + sub["id"]
    check(sub["headers"]["Cookie"] == {"value": "********", "secret": True}, "a cookie is shown", sub)
    a = c("PATCH", path, {"url": evil.url("/a")}).want(422, pointer="/auth/token", says="again")
    check("/headers/Cookie" in a.json["error"]["message"], "both are named", a)
    shown = c.get(path).want(200).json
    c("PATCH", path, {**shown, "url": evil.url("/a")}).want(422, says="again")
    c("PATCH", path, {"url": evil.url("/a"), "auth": {"type": "bearer", "token": word}}).want(
        422, pointer="/headers/Cookie")
    c("PATCH", path, {"url": good.url("/b?x=1")}).want(200)
    c.publish(envelope()).want(202)
    good.wait_for(1, "/b")
    heard = "".join(f"{q.headers}" for q in good.requests)
    check(word in heard and cookie in heard, "they are sent to whom they are for", heard)
    c("PATCH", path, {"url": evil.url("/a"), "auth": {"type": "bearer", "token": "mine"},
                      "headers": {"Cookie": None}}).want(200)
    c.publish(envelope()).want(202)
    evil.wait_for(1, "/a")
    heard = "".join(f"{q.headers}" for q in evil.requests)
    check(word not in heard and cookie not in heard, "the other server heard a secret", heard)
    oauth = {"type": "oauth2", "tokenUrl": good.url("/token"), "clientId": "c", "clientSecret": word}
    sub = c.post("/v1/subscriptions", {"name": "o", "url": good.url("/a"), "auth": oauth}).want(201).json
    c("PATCH", "/v1/subscriptions/" + sub["id"], {"auth": {"tokenUrl": evil.url("/token")}}).want(
        422, pointer="/auth/clientSecret", says="tokenUrl")


def test_queries_in_the_log(t):
    """What stands behind the ? of a URL is in no line of the log and in no attempt; nor is the
    cookie that a receiver sets."""
    import receiver
    srv = t.server(LOG_LEVEL="debug", TIME_SCALE="100", **receiver.SETTINGS)
    c, r = srv.client(), receiver.Receiver(t)
    word, set_ = planted("query"), planted("answered")
    r.answer("/q", 500, {"Set-Cookie": "sid=" + set_}, b"no")
    sub = c.post("/v1/subscriptions", {"name": "q", "url": r.url("/q?token=" + word),
                                       "retry": {"delaysMs": [1000], "jitterMs": 0}}).want(201).json
    c.publish(envelope()).want(202)
    r.wait_for(2, "/q", 20)
    until(lambda: len([l for l in srv.log() if l.get("msg") == "attempt"]) >= 2, "two attempts")
    rows = until(lambda: c.get("/v1/deliveries", subscription=sub["id"]).want(200).json["data"],
                 "its delivery is listed")
    shown = b"".join(c.get("/v1/deliveries/" + d["id"]).want(200).body for d in rows)
    check(b"Set-Cookie: ********" in shown, "the answer's head is kept, masked", shown)
    shown += c.get("/v1/audit", limit=1000).want(200).body
    srv.stop()
    text = srv.all_logs()
    check(b"/q?********" in text, "the URL is logged, masked", text[-2000:])
    for where, data in (("log", text), ("answers", shown)):
        for secret in (word, set_):
            check(secret.encode() not in data, "a secret in the " + where)
