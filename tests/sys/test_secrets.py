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
