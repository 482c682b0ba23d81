"""Subscriptions: every field, its errors, masks, changes, tenants, versions."""
import hk
import receiver
from hk import check, new_id, same, until

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
URL = "http://127.0.0.1:9/hook"
BASE = {"name": "n", "url": URL}
MASK = "********"
OTP = {"secret": "otp-secret-otp-secret"}
HUB = {"tenant": "t1", "domain": "hub.example", "sharedInternalKey": "shared-key",
       "eventApiKey": "event-key", "organizationId": "o", "servicePartition": "p",
       "sender": "pca-id", "userPath": "/user-events",
       "organizationPath": "/organization-events", "accountPointer": "/user/accountId",
       "otp": OTP}


def make(c, **more):
    return c.post("/v1/subscriptions", {**BASE, **more}).want(201).json


def patch(c, s, body):
    return c("PATCH", "/v1/subscriptions/" + s["id"], body)


def get(c, s):
    return c.get("/v1/subscriptions/" + s["id"]).want(200).json


def test_defaults(t):
    c = t.srv.client()
    s = make(c)
    check(s["secret"].startswith("whsec_"), "a secret was made", s)
    want = {"name": "n", "url": URL, "enabled": True, "preset": "standard", "order": "none",
            "onDead": "continue", "dropStale": False, "coalesce": False,
            "deadlineSeconds": None, "timeoutMs": 15000, "concurrency": 16,
            "ratePerSecond": None, "managedBy": None, "disabledReason": None, "version": 1}
    same({k: s.get(k) for k in want}, want, "the defaults")
    same(s["auth"], {"type": "none"}, "no auth")
    same(s["batch"]["mode"], "immediate", "no batches")
    same(s["createdAt"], s["changedAt"], "times")
    same(s["delivery"], {"state": "live", "lag": 0, "openUntil": None, "notBefore": None}, "state")
    same(get(c, s), {**s, "secret": MASK}, "the same, masked")


def test_all_fields(t):
    c = t.srv.client()
    given = {"types": ["RecordUpdated", "feed.item.*"], "tenants": [hk.TENANT],
             "filter": ".payload.amount > 100", "template": "{id:.eventId}",
             "headers": {"X-Env": "prod"}, "auth": {"type": "bearer", "token": "tok"},
             "order": "key", "onDead": "block", "dropStale": True, "coalesce": True,
             "deadlineSeconds": 60, "retry": {"delaysMs": [1000, 2000], "jitterMs": 5},
             "timeoutMs": 5000, "concurrency": 3, "ratePerSecond": 7,
             "batch": {"mode": "batched", "windowSeconds": 7, "maxSize": 50}}
    s = make(c, **given)
    for name, value in given.items():
        if name == "auth":
            value = {"type": "bearer", "token": MASK}
        got = s[name]
        if name == "retry":
            got = {k: got.get(k) for k in value}
        same(got, value, name)
    got = get(c, s)
    check(b"tok" not in hk.dump(got["auth"]).replace(b"token", b""), "masked", got["auth"])


ERRORS = [
    ({"name": None}, "/name"), ({"name": 5}, "/name"), ({"name": ""}, "/name"),
    ({"name": "x" * 201}, "/name"),
    ({"url": None}, "/url"), ({"url": "ftp://x/"}, "/url"), ({"url": "nonsense"}, "/url"),
    ({"url": "http://10.0.0.1/"}, "/url"), ({"url": "https://[::1]/"}, "/url"),
    ({"url": "https://a.example/" + "x" * 2048}, "/url"),
    ({"enabled": "yes"}, "/enabled"),
    ({"types": "x"}, "/types"), ({"types": [5]}, "/types/0"),
    ({"types": ["a.*.b"]}, "/types/0"), ({"types": [""]}, "/types/0"),
    ({"tenants": ["a b"]}, "/tenants/0"),
    ({"filter": 5}, "/filter"), ({"filter": ".a ||| .b"}, "/filter"),
    ({"filter": "env"}, "/filter"), ({"template": "{a:"}, "/template"),
    ({"preset": "nope"}, "/preset"), ({"preset": 5}, "/preset"),
    ({"secret": 5}, "/secret"), ({"secret": "whsec_!!"}, "/secret"),
    ({"secret": MASK}, "/secret"),
    ({"headers": []}, "/headers"), ({"headers": {"a b": "x"}}, "/headers/a b"),
    ({"headers": {"X": "a\r\nb"}}, "/headers/X"),
    ({"headers": {"Host": "x"}}, "/headers/Host"),
    ({"headers": {"webhook-id": "x"}}, "/headers/webhook-id"),
    ({"headers": {"X": {"value": MASK, "secret": True}}}, "/headers/X/value"),
    ({"auth": 5}, "/auth"), ({"auth": {"type": "magic"}}, "/auth/type"),
    ({"auth": {"type": "basic", "username": "u"}}, "/auth/password"),
    ({"auth": {"type": "bearer"}}, "/auth/token"),
    ({"auth": {"type": "bearer", "token": "t", "tokne": "x"}}, "/auth/tokne"),
    ({"auth": {"type": "oauth2", "tokenUrl": "http://10.0.0.1/", "clientId": "c",
               "clientSecret": "s"}}, "/auth/tokenUrl"),
    ({"order": "by luck"}, "/order"), ({"onDead": "x"}, "/onDead"),
    ({"dropStale": 1}, "/dropStale"), ({"coalesce": 1}, "/coalesce"),
    ({"deadlineSeconds": 0}, "/deadlineSeconds"), ({"deadlineSeconds": 1.5}, "/deadlineSeconds"),
    ({"retry": {"delaysMs": "x"}}, "/retry/delaysMs"), ({"retry": {"dealys": []}}, "/retry/dealys"),
    ({"timeoutMs": 0}, "/timeoutMs"), ({"timeoutMs": 300001}, "/timeoutMs"),
    ({"concurrency": 0}, "/concurrency"), ({"ratePerSecond": 0}, "/ratePerSecond"),
    ({"batch": {"mode": "x"}}, "/batch/mode"), ({"batch": {"maxSize": 0}}, "/batch/maxSize"),
    ({"urll": URL}, "/urll"), ({"id": new_id()}, "/id"), ({"version": 1}, "/version"),
    ({"managedBy": "me"}, "/managedBy"), ({"secrets": []}, "/secrets"),
    ({"preset": "hub", "hub": {**HUB, "domian": "x"}}, "/hub/domian"),
    ({"preset": "hub", "hub": {**HUB, "otp": {"digits": 6}}}, "/hub/otp/secret"),
]


def test_every_error_names_its_field(t):
    c = t.srv.client()
    wrong = []
    for more, pointer in ERRORS:
        a = c.post("/v1/subscriptions", {**BASE, **more})
        got = a.json.get("error", {}).get("pointer") if a.status != 201 else None
        if a.status != 422 or got != pointer:
            wrong.append((more, pointer, a))
    check(not wrong, "422 with the pointer", *wrong)
    c.post("/v1/subscriptions", b"{").want(400)
    c.post("/v1/subscriptions", b"[]").want(422)


def test_bad_program_names_the_place(t):
    a = t.srv.client().post("/v1/subscriptions", {**BASE, "filter": ".a | nosuch(1)"}).want(
        422, pointer="/filter")
    check("nosuch" in a.json["error"]["message"], "what is wrong with it", a)


def secrets(s):
    return [s["secret"], s["auth"].get("password"), s["headers"]["X-Key"]["value"]]


def test_masks(t):
    """What is read can be written back, and the secrets stay."""
    srv = t.srv
    c = srv.client()
    r = receiver.Receiver(t)
    s = make(c, url=r.url("/m"), headers={"X-Key": {"value": "hidden", "secret": True}, "X-B": "b"},
             auth={"type": "basic", "username": "u", "password": "pw"})
    got = get(c, s)
    same(secrets(got), [MASK] * 3, "masked")
    same(secrets(make(c, **{**{k: got[k] for k in ("headers", "auth")},
                            "headers": {"X-Key": {"value": "x", "secret": True}},
                            "auth": {"type": "basic", "username": "u", "password": "p"}}))[1:],
         [MASK] * 2, "masked also when made")
    again = patch(c, s, got).want(200).json
    same(again["version"], 2, "its version")
    c.post(f"/v1/subscriptions/{s['id']}/test").want(200)
    call, = r.wait_for(1, "/m")
    same((call.headers["X-Key"], call.headers["Authorization"]),
         ("hidden", hk.basic("u", "pw")), "the values behind the masks")
    check(receiver.verify(call, s["secret"]), "and the secret", call)
    other = patch(c, s, {"secret": "whsec_" + "QUJD" * 8}).want(200).json
    same(other["secret"], MASK, "a given secret is not shown")
    c.post(f"/v1/subscriptions/{s['id']}/test").want(200)
    check(receiver.verify(r.wait_for(2, "/m")[1], "whsec_" + "QUJD" * 8), "it signs")


def test_patch(t):
    c = t.srv.client()
    s = make(c, types=["a.b"], headers={"X-A": "1", "X-B": "2"}, ratePerSecond=5)
    p = patch(c, s, {"name": "new", "headers": {"X-A": None, "X-C": "3"},
                     "ratePerSecond": None}).want(200).json
    same((p["name"], p["headers"], p["types"], p["ratePerSecond"]),
         ("new", {"X-B": "2", "X-C": "3"}, ["a.b"], None), "merged")
    same(get(c, s), p, "kept")
    patch(c, s, {"nmae": "x"}).want(422, pointer="/nmae")
    patch(c, s, {"url": "ftp://x"}).want(422, pointer="/url")
    patch(c, s, {"filter": "a b c"}).want(422, pointer="/filter")
    patch(c, s, b"{").want(400)
    same(get(c, s), p, "an error changes nothing")
    p = patch(c, s, {"enabled": False}).want(200).json
    same((p["enabled"], p["delivery"]["state"]), (False, "disabled"), "switched")
    check(patch(c, s, {"enabled": True}).want(200).json["enabled"], "and back")


def test_versions(t):
    c = t.srv.client()
    s = make(c)
    same(patch(c, s, {"version": 1, "name": "a"}).want(200).json["version"], 2, "the next")
    patch(c, s, {"version": 1, "name": "b"}).want(409, pointer="/version")
    patch(c, s, {"version": "x"}).want(422, pointer="/version")
    same(get(c, s)["name"], "a", "the first won")
    patch(c, s, {"name": "c"}).want(200)


def test_absent(t):
    c = t.srv.client()
    s = make(c)
    c.delete("/v1/subscriptions/" + s["id"]).want(204)
    for sid in (s["id"], new_id(), "x"):
        path = "/v1/subscriptions/" + sid
        c.get(path).want(404)
        c("PATCH", path, {"name": "x"}).want(404)
        c.delete(path).want(404)
        c.get(path + "/stats").want(404)
        for verb in ("enable", "disable", "rotate-secret", "test"):
            c.post(f"{path}/{verb}").want(404)


def test_list(t):
    srv = t.server()
    c = srv.client()
    made = [make(c, name=f"Name-{i}", enabled=i % 2 == 0) for i in range(7)]
    ids = [s["id"] for s in made]

    def listed(**query):
        out, after, pages = [], {}, 0
        while True:
            j = c.get("/v1/subscriptions", **query, **after).want(200).json
            out += [s["id"] for s in j["data"]]
            pages += 1
            if j["next"] is None:
                return out, pages
            after = {"after": j["next"]}
    same(listed(), (ids, 1), "all")
    same(listed(limit=3), (ids, 3), "in pages")
    same(listed(enabled="true")[0], ids[::2], "enabled")
    same(listed(enabled="false", limit=1)[0], ids[1::2], "disabled, page by page")
    same(listed(q="NAME-3")[0], [ids[3]], "by name")
    same(listed(q="127.0.0.1:9")[0], ids, "by URL")
    same(listed(managedBy="repository")[0], [], "managed")
    check(b"whsec_" not in c.get("/v1/subscriptions").body, "no secret in a list")
    page = c.get("/v1/subscriptions", limit=2).want(200).json
    c.delete("/v1/subscriptions/" + page["next"]).want(204)
    rest = c.get("/v1/subscriptions", after=page["next"]).want(200).json
    same([s["id"] for s in rest["data"]], ids[2:], "a cursor outlives its subscription")
    for bad in ({"limit": 0}, {"limit": 1001}, {"after": "x"}, {"after": new_id()},
                {"enabled": "maybe"}, {"nope": 1}):
        c.get("/v1/subscriptions", **bad).want(422)


def test_tenants(t):
    """A key that is limited to tenants stays inside them."""
    srv = t.server()
    a, b = new_id(), new_id()
    all_, key = srv.client(), srv.client(srv.new_key("manage", "read", tenants=[a])["key"])
    whole, of_b, of_a = make(all_), make(all_, tenants=[b]), make(all_, tenants=[a])
    mine = make(key)
    same(mine["tenants"], [a], "the key's tenants")
    key.post("/v1/subscriptions", {**BASE, "tenants": [b]}).want(403, pointer="/tenants")
    key.post("/v1/subscriptions", {**BASE, "tenants": [a, b]}).want(403, pointer="/tenants")
    same([s["id"] for s in key.get("/v1/subscriptions").want(200).json["data"]],
         [of_a["id"], mine["id"]], "what it sees")
    for s in (whole, of_b):
        path = "/v1/subscriptions/" + s["id"]
        key.get(path).want(404)
        patch(key, s, {"name": "x"}).want(404)
        key.delete(path).want(404)
        key.get(path + "/stats").want(404)
        for verb in ("enable", "disable", "rotate-secret", "test"):
            key.post(f"{path}/{verb}").want(404)
    patch(key, of_a, {"tenants": [b]}).want(403, pointer="/tenants")
    same(patch(key, of_a, {"tenants": None}).want(200).json["tenants"], [a], "never all")
    key.delete("/v1/subscriptions/" + of_a["id"]).want(204)


def test_scopes(t):
    srv = t.srv
    s = make(srv.client())
    path = "/v1/subscriptions/" + s["id"]
    read = srv.client(srv.new_key("read")["key"])
    for p in ("/v1/subscriptions", path, path + "/stats"):
        read.get(p).want(200)
    read.post("/v1/subscriptions", BASE).want(403)
    patch(read, s, {}).want(403)
    read.delete(path).want(403)
    for verb in ("enable", "disable", "rotate-secret", "test"):
        read.post(f"{path}/{verb}").want(403)
    srv.client(srv.new_key("publish")["key"]).get(path).want(403)


def managed(srv, s):
    """As if another part of the program had made it."""
    sql = "UPDATE subscription SET managed_by = 'repository'"
    if srv.url:
        hk.psql(srv.url, sql)
    else:
        import sqlite3
        db = sqlite3.connect(srv.data + "/hikyaku.db", timeout=10)
        db.execute(sql)
        db.commit()
        db.close()


def test_managed_is_read_only(t):
    srv = t.server()
    c = srv.client()
    s = make(c)
    managed(srv, s)
    path = "/v1/subscriptions/" + s["id"]
    same([x["id"] for x in c.get("/v1/subscriptions", managedBy="repository").want(200)
          .json["data"]], [s["id"]], "listed")
    patch(c, s, {"name": "x"}).want(409, says="managed")
    c.delete(path).want(409)
    for verb in ("enable", "disable", "rotate-secret"):
        c.post(f"{path}/{verb}").want(409)
    c.post(path + "/test").want(200)


def test_switching_twice_is_once(t):
    c = t.srv.client()
    s = make(c)
    path = "/v1/subscriptions/" + s["id"]
    same(c.post(path + "/enable").want(200).json["version"], 1, "it is enabled already")
    same(c.post(path + "/disable").want(200).json["version"], 2, "disabled")
    same(c.post(path + "/disable", {"reason": "x"}).want(200).json["version"], 2, "once")
    c.post(path + "/disable", {"raeson": "x"}).want(422, pointer="/raeson")


def test_audit(t):
    srv = t.server()
    key = srv.new_key("manage", "read")
    c = srv.client(key["key"])
    s = make(c, headers={"X-Audit-Name": "audit-value"})
    path = "/v1/subscriptions/" + s["id"]
    patch(c, s, {"name": "changed"}).want(200)
    new = c.post(path + "/rotate-secret").want(200).json["secret"]
    c.post(path + "/disable").want(200)
    c.post(path + "/enable").want(200)
    c.delete(path).want(204)
    rows = srv.admin().get("/v1/audit", limit=100).want(200)
    mine = [r for r in reversed(rows.json["data"]) if s["id"] in str(r)]
    seen = [next(v for k, v in r.items() if k in ("category", "event", "action")) for r in mine]
    same([x for x in seen if "DROPPED" not in x],
         ["SUBSCRIPTION_CREATED", "SUBSCRIPTION_CHANGED", "SECRET_ROTATED",
          "SUBSCRIPTION_DISABLED", "SUBSCRIPTION_CHANGED", "SUBSCRIPTION_DELETED"], "each change")
    check(all(key["name"] in str(r) for r in mine if "DROPPED" not in str(r)), "who", mine)
    check("X-Audit-Name" in str(mine), "names of headers", mine)
    for secret in (s["secret"], new, "audit-value"):
        check(secret.encode() not in rows.body, "and no values", secret)


def test_rotate_many(t):
    c = t.srv.client()
    s = make(c)
    path = f"/v1/subscriptions/{s['id']}/rotate-secret"
    done = 0
    while done < 20 and c.post(path).status == 200:
        done += 1
    check(3 <= done < 20, "there is a bound", done)
    c.post(path).want(409)
    none = make(c, preset="hub", hub=HUB)
    c.post(f"/v1/subscriptions/{none['id']}/rotate-secret").want(409)


def test_ed25519(t):
    c = t.srv.client()
    import base64
    key = "whsk_" + base64.b64encode(bytes(range(64))).decode()
    a = c.post("/v1/subscriptions", {**BASE, "secret": key})
    if a.status == 422:  # not a pair: the seed alone
        a = c.post("/v1/subscriptions",
                   {**BASE, "secret": "whsk_" + base64.b64encode(bytes(range(32))).decode()})
    s = a.want(201).json
    check(s["publicKey"].startswith("whpk_"), "the public key", s)
    same(get(c, s)["publicKey"], s["publicKey"], "is shown always")
    new = c.post(f"/v1/subscriptions/{s['id']}/rotate-secret").want(200).json
    check(new["secret"].startswith("whsk_") and new["publicKey"] != s["publicKey"], "rotated", new)


def test_hub(t):
    c = t.srv.client()
    s = make(c, preset="hub", hub=HUB, types=["user.*"])
    hub = get(c, s)["hub"]
    same((hub["sharedInternalKey"], hub["eventApiKey"], hub["otp"]["secret"]), (MASK,) * 3, "masked")
    same(patch(c, s, {"hub": hub}).want(200).json["hub"], hub, "written back")
    until(lambda: get(c, s)["version"] == 2, "a version")
