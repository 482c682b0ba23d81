"""Secrets are never in the logs, whatever happens with them."""
import re

from hk import basic, check, envelope

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
