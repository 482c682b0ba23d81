"""Publishing is light: eventType and payload are enough, tenants have names, all errors are told at once."""
import json
import uuid

import hk
from hk import check, envelope, new_id, same
from receiver import Receiver

SETTINGS = {"WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8"}
SPACE = uuid.UUID("6b1f6e0a-9d0c-4c57-8f21-5d3a0e7c9b42")  # docs/event-types.md


def little(**more):
    return {"eventType": "order.paid", "payload": {"n": 1}, **more}


def get(c, answer):
    return c.get("/v1/events/" + answer["eventId"]).want(200).json


def test_two_members(t):
    srv = t.srv
    key = srv.new_key("publish", "read", name="shop")
    c = srv.client(key["key"])
    got = get(c, c.publish(little()).want(202).json)
    same((got["schemaVersion"], got["tenantId"], got["producer"]["service"], got["sequence"]["partitionKey"]),
         (1, "default", "shop", ""), "what was filled in")
    check(got["producer"]["instanceId"] and got["occurredAt"].endswith("Z"), "and the rest", got)
    same(got["payload"], {"n": 1}, "the payload")


def test_ways_in(t):
    """An array, lines and CloudEvents have the same defaults."""
    c = t.srv.client()
    many = c.publish([little(), little(payload=7), little()]).want(200).json
    same(([r["status"] for r in many["results"]], many["failed"]), ([202, 422, 202], 1), "array")
    lines = b"\n".join(json.dumps(little()).encode() for _ in range(3))
    many = c.post("/v1/events", lines, {"Content-Type": "application/x-ndjson"}).want(200).json
    same(([r["status"] for r in many["results"]], many["failed"]), ([202] * 3, 0), "lines")
    ev = {"specversion": "1.0", "id": "1-" + new_id(), "source": "/shop", "type": "order.paid"}
    got = get(c, c.post("/v1/events", ev, {"Content-Type": "application/cloudevents+json"}).want(202).json)
    same((got["tenantId"], got["sequence"].get("partitionKey", "")), ("default", ""), "CloudEvent")


def test_names_of_tenants(t):
    srv, admin = t.srv, t.srv.admin()
    name = "acme.eu:shop-1_" + new_id()[:8]
    id = str(uuid.uuid5(SPACE, name))
    ev = get(admin, admin.publish(little(tenantId=name)).want(202).json)
    same(ev["tenantId"], name, "the name is the event's")
    for word in (name, id, id.upper()):
        same([e["eventId"] for e in admin.events(tenant=word)], [ev["eventId"]], f"found by {word}")
    made = admin.post("/v1/keys", {"name": "k", "scopes": ["publish", "read", "manage", "consume"],
                                   "tenants": [name]}).want(201).json
    same(made["tenants"], [name], "a key shows the name")
    c = srv.client(made["key"])
    same(c.get("/v1/whoami").want(200).json["tenants"], [name], "whoami too")
    same(get(c, c.publish(little()).want(202).json)["tenantId"], name, "the tenant of the key")
    c.publish(little(tenantId=id)).want(202)
    c.publish(little(tenantId="other")).want(403, pointer="/tenantId")
    same(len(c.events()), 3, "all of the tenant, by either name")
    sub = c.post("/v1/subscriptions", {"name": "s", "url": "https://example.com/h"}).want(201).json
    same(sub["tenants"], [name], "a subscription shows the name")
    c("PUT", "/v1/consumers/w" + id[:8], {"tenants": [name]}).want(201)
    two = srv.client(srv.new_key("publish", tenants=[name, "other"])["key"])
    two.publish(little()).want(422, pointer="/tenantId", says="several")
    for bad in ("", "a b", "a/b", "x" * 65, "é"):
        admin.publish(little(tenantId=bad)).want(422, pointer="/tenantId")


def test_delivered_by_name(t):
    """A subscription finds the tenant by name, and what is dead is shown by it."""
    srv, r = t.srv, Receiver(t)
    c, name = srv.client(), "t-" + new_id()[:8]
    r.answer("/gone", 400)
    for path, preset in (("/ok", "cloudevents-binary"), ("/gone", "standard")):
        c.post("/v1/subscriptions", {"name": path, "url": r.url(path), "tenants": [name], "preset": preset,
                                     "order": "key"}).want(201)
    for who in (name, "somebody", str(uuid.uuid5(SPACE, name))):
        c.publish(little(tenantId=who)).want(202)
    r.wait_for(2, "/ok")
    same(sorted(q.headers["ce-tenantid"] for q in r.at("/ok")), sorted([name, str(uuid.uuid5(SPACE, name))]),
         "as the event calls it")
    dead = hk.until(lambda: c.get("/v1/dead-letters", tenant=name).want(200).json["data"], "a dead letter")
    same(dead[0]["tenantId"], name, "its tenant")


def test_no_key_no_order(t):
    """Events without a key do not wait for each other, also where there is order by key."""
    srv, r = t.srv, Receiver(t)
    c = srv.client()
    type = "nokey.t" + new_id()[:8]
    r.answer("/r", lambda q: 500 if q.json["payload"]["n"] == 0 else None)
    c.post("/v1/subscriptions", {"name": "n", "url": r.url("/r"), "types": [type], "order": "key",
                                 "onDead": "block"}).want(201)
    c.publish([little(eventType=type, payload={"n": n}) for n in range(5)]).want(200)
    hk.until(lambda: {q.json["payload"]["n"] for q in r.at("/r")} == set(range(5)), "the others arrive")


def test_all_errors_at_once(t):
    c = t.srv.client()
    bad = {"eventId": 7, "eventType": "a b", "tenantId": "a b", "sequence": {"recordVersion": "soon"}, "seq": 1}
    want = ["/eventId", "/eventType", "/tenantId", "/sequence/recordVersion", "/payload", "/seq"]
    j = c.publish(bad).want(422, pointer="/eventId").json
    same([e["pointer"] for e in j["errors"]], want, "all of them")
    same(j["errors"][0], j["error"], "the first is the error")
    r = c.publish([bad, little()]).want(200).json
    same([e["pointer"] for e in r["results"][0]["errors"]], want, "also in a batch")


def test_strict_envelope(t):
    c = t.server(EVENT_ENVELOPE="strict").client()
    j = c.publish(little()).want(422, pointer="/schemaVersion").json
    same([e["pointer"] for e in j["errors"]], ["/schemaVersion", "/tenantId", "/producer", "/sequence"], "what it lacks")
    c.publish(envelope(tenantId="acme")).want(422, pointer="/tenantId")
    c.publish(envelope(eventId=..., occurredAt=..., correlationId=...)).want(202)
