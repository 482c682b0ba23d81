"""API keys: scopes, tenants, expiry, revocation, last use."""
import time
from datetime import datetime, timedelta, timezone

from hk import check, envelope, new_id, same, until


def row(srv, key_id):
    return next((k for k in srv.client().get("/v1/keys", limit=1000).want(200).json["data"]
                 if k["id"] == key_id), None)


def test_create(t):
    k = t.srv.new_key("publish")
    check(k["key"].startswith("hk_") and len(k["key"]) >= 35, "the key", k)
    check(k["id"], "an id", k)


def test_shown_once(t):
    k = t.srv.new_key("publish", "read")
    a = t.srv.client().get("/v1/keys", limit=1000).want(200)
    check(k["key"].encode() not in a.body, "the list does not show the key", a)
    same(sorted(row(t.srv, k["id"])["scopes"]), ["publish", "read"], "scopes in the list")


def test_bad_requests(t):
    c = t.srv.admin()
    for body, pointer in (
            ({"name": "n"}, "/scopes"), ({"name": "n", "scopes": []}, "/scopes"),
            ({"name": "n", "scopes": ["fly"]}, "/scopes"),
            ({"name": "n", "scopes": "read"}, "/scopes"),
            ({"scopes": ["read"]}, "/name"), ({"name": 5, "scopes": ["read"]}, "/name"),
            ({"name": "n", "scopes": ["read"], "tenants": ["a b"]}, "/tenants"),
            ({"name": "n", "scopes": ["read"], "nmae": "x"}, "/nmae"),
            ({"name": "n", "scopes": ["read"], "expiresAt": "soon"}, "/expiresAt")):
        a = c.post("/v1/keys", body).want(422)
        check(a.json["error"]["pointer"].startswith(pointer), f"names {pointer}", a)


def test_scopes(t):
    srv = t.srv
    publish, read = (srv.new_key(s)["key"] for s in ("publish", "read"))
    manage, admin = (srv.new_key(s)["key"] for s in ("manage", "admin"))
    ev = envelope()
    may = {  # what each may do
        "publish": (publish, {"publish"}),
        "read": (read, {"read"}),
        "admin": (admin, {"publish", "read", "keys"}),
    }
    for name, (key, can) in may.items():
        c = srv.client(key)
        for what, do in (("publish", lambda: c.publish(ev)),
                         ("read", lambda: c.get("/v1/events", limit=1)),
                         ("keys", lambda: c.get("/v1/keys", limit=1))):
            a = do()
            if what in can:
                check(a.status in (200, 202), f"{name} may {what}", a)
            else:
                a.want(403)
    srv.client(manage).publish(envelope()).want(403)
    srv.client(publish).get("/v1/events/" + ev["eventId"]).want(403)
    same(srv.stream(publish).answer.status, 403, "publish may not stream")


def test_no_more_than_the_maker_has(t):
    """A key can't make one that may more than itself."""
    srv = t.srv
    a = srv.client(srv.new_key("manage")["key"]).post(
        "/v1/keys", {"name": "up", "scopes": ["admin"]})
    same(a.status, 403, "a manage key makes an admin key")


def test_tenants(t):
    srv, mine, other = t.srv, new_id(), new_id()
    c = srv.client(srv.new_key("publish", "read", tenants=[mine])["key"])
    ev, theirs = envelope(tenant=mine), envelope(tenant=other)
    c.publish(ev).want(202)
    c.publish(theirs).want(403)
    srv.client().publish(theirs).want(202)
    same([e["eventId"] for e in c.events()], [ev["eventId"]], "the list shows its own")
    c.get("/v1/events/" + ev["eventId"]).want(200)
    c.get("/v1/events/" + theirs["eventId"]).want(404)
    a = c.get("/v1/events", tenant=other)
    check(a.status == 403 or a.json["data"] == [], "another tenant asked for by name", a)
    results = c.publish([envelope(tenant=mine), envelope(tenant=other)]).want(200).json["results"]
    same([r["status"] for r in results], [202, 403], "in a batch")


def test_two_tenants(t):
    srv, a, b, x = t.srv, new_id(), new_id(), new_id()
    c, all_ = srv.client(srv.new_key("read", tenants=[a, b])["key"]), srv.client()
    want = []
    for tenant in (a, x, b, x, a):
        ev = envelope(tenant=tenant)
        all_.publish(ev).want(202)
        want += [ev["eventId"]] if tenant != x else []
    same([e["eventId"] for e in c.events(limit=1)], want, "both of its tenants")


def test_tenants_on_the_stream(t):
    srv, mine = t.srv, new_id()
    s = srv.stream(srv.new_key("read", tenants=[mine])["key"])
    ev = envelope(tenant=mine)
    srv.client().publish(envelope()).want(202)
    srv.client().publish(ev).want(202)
    until(lambda: s.events, "its event")
    time.sleep(0.2)
    same(s.ids(), [ev["eventId"]], "only its own")


def test_revoked_at_once(t):
    srv = t.srv
    k = srv.new_key("read", "publish")
    c = srv.client(k["key"])
    c.get("/v1/events").want(200)
    a = srv.client().delete("/v1/keys/" + k["id"])
    check(a.status in (200, 204), "revoked", a)
    c.get("/v1/events").want(401)
    c.publish(envelope()).want(401)
    same(srv.stream(k["key"]).answer.status, 401, "a new stream")
    again = srv.client().delete("/v1/keys/" + k["id"])
    check(again.status in (200, 204, 404), "a second time does no harm", again)
    srv.client().delete("/v1/keys/" + new_id()).want(404)


def test_revoked_stream_ends(t):
    """Who has lost the right to read gets nothing more."""
    srv = t.srv
    k = srv.new_key("read")
    s = srv.stream(k["key"], tenant=new_id())
    srv.client().delete("/v1/keys/" + k["id"])
    until(lambda: s.over, "the stream ends", 40)


def test_revoked_after_restart(t):
    srv = t.server()
    k = srv.new_key("read")
    srv.client().delete("/v1/keys/" + k["id"])
    srv.kill9()
    srv.start()
    srv.client(k["key"]).get("/v1/events").want(401)


def test_expired(t):
    srv = t.srv
    at = datetime.now(timezone.utc) + timedelta(seconds=2)
    k = srv.new_key("read", expiresAt=at.strftime("%Y-%m-%dT%H:%M:%S.000Z"))
    c = srv.client(k["key"])
    c.get("/v1/events").want(200)
    until(lambda: c.get("/v1/events").status == 401, "the key expires", 6, 0.2)


def test_last_used(t):
    srv = t.srv
    k = srv.new_key("read")
    check(not row(srv, k["id"]).get("lastUsedAt"), "never used", row(srv, k["id"]))
    srv.client(k["key"]).get("/v1/events").want(200)
    got = until(lambda: row(srv, k["id"]).get("lastUsedAt"), "lastUsedAt is shown", 15, 0.2)
    at = datetime.fromisoformat(got.replace("Z", "+00:00")).timestamp()
    check(abs(time.time() - at) < 120, "and it is now", got)


def test_stream_ends_with_its_key(t):
    srv = t.srv
    end = datetime.now(timezone.utc) + timedelta(seconds=2)
    key = srv.new_key("read", expiresAt=end.isoformat().replace("+00:00", "Z"))["key"]
    s = srv.stream(key)
    same(s.answer.status, 200, "it streams")
    until(lambda: s.over, "the stream ends with its key", 5)
    check(datetime.now(timezone.utc) >= end - timedelta(milliseconds=50), "and not before")
