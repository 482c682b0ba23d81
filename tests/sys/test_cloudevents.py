"""CloudEvents in: structured, batched, binary; and what one Hikyaku sends, another takes."""
import json
import urllib.parse

import receiver
from hk import TENANT, check, envelope, new_id, same
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
ONE = {"Content-Type": "application/cloudevents+json; charset=utf-8"}
BATCH = {"Content-Type": "application/cloudevents-batch+json"}


def ce(**over):
    ev = {"specversion": "1.0", "id": new_id(), "source": "/shop", "type": "order.placed",
          "tenantid": TENANT, "subject": "order-1", "data": {"n": 1}}
    ev.update(over)
    return {k: v for k, v in ev.items() if v is not ...}


def get(c, id):
    return c.get("/v1/events/" + id).want(200).json


def test_structured(t):
    c = t.srv.client()
    ev = ce(time="2026-01-10T21:34:56.789+09:00", schemaversion=2, instanceid="pod-7",
            correlationid=new_id(), recordversion="2026-01-10T12:34:56.7Z", colour="red")
    body = json.dumps(ev).replace('{"n": 1}', '{"n" : 1.50, "big": 12345678901234567890}').encode()
    a = c.post("/v1/events", body, ONE).want(202).json
    same((a["eventId"], a["duplicate"]), (ev["id"], False), "the answer")
    got = c.get("/v1/events/" + ev["id"]).want(200)
    check(b'"payload":{"n" : 1.50, "big": 12345678901234567890}' in got.body, "data byte for byte", got)
    j = got.json
    same((j["eventType"], j["occurredAt"], j["tenantId"], j["schemaVersion"], j["correlationId"]),
         ("order.placed", "2026-01-10T12:34:56.789Z", TENANT, 2, ev["correlationid"]), "fields")
    same(j["producer"], {"service": "shop", "instanceId": "pod-7"}, "producer")
    same(j["sequence"], {"partitionKey": "order-1", "recordVersion": ev["recordversion"]}, "sequence")
    same(j["cloudEvent"], {"colour": "red"}, "an extension is kept")
    same(c.post("/v1/events", body, ONE).want(202).json["duplicate"], True, "a repeat")
    ev["data"] = {"n": 2}
    c.post("/v1/events", ev, ONE).want(409, pointer="/eventId")


def test_foreign_ids(t):
    c = t.srv.client()
    ev = ce(id="A-" + new_id(), source="https://shop.example/a")
    first = c.post("/v1/events", ev, ONE).want(202).json
    again = c.post("/v1/events", ev, ONE).want(202).json
    same((again["eventId"], again["duplicate"]), (first["eventId"], True), "one event")
    other = c.post("/v1/events", {**ev, "source": "https://shop.example/b"}, ONE).want(202).json
    check(other["eventId"] != first["eventId"], "another source is another event")
    got = get(c, first["eventId"])
    same(got["cloudEvent"], {"id": ev["id"], "source": ev["source"]}, "both are kept")
    same(got["producer"]["service"], ev["source"], "its service")


def test_batch(t):
    c = t.srv.client()
    evs = [ce(), ce(type="no type"), ce(data=[1]), ce(tenantid="a b"), ce()]
    r = c.post("/v1/events", evs, BATCH).want(200).json["results"]
    same([x["status"] for x in r], [202, 422, 422, 422, 202], "each for itself")
    same([x["error"]["pointer"] for x in r[1:4]], ["/type", "/data", "/tenantid"], "where")
    same((r[0]["eventId"], r[4]["eventId"]), (evs[0]["id"], evs[4]["id"]), "ids")
    same(c.post("/v1/events", b"[]", BATCH).want(200).json, {"results": [], "failed": 0}, "an empty batch")
    c.post("/v1/events", ce(), BATCH).want(422, says="array")
    c.post("/v1/events", [ce()], ONE).want(422, says="batch")


def binary(**over):
    h = {"ce-specversion": "1.0", "ce-id": new_id(), "ce-source": "/shop", "ce-type": "order.placed",
         "ce-tenantid": TENANT, "Content-Type": "application/json"}
    h.update({"ce-" + k: v for k, v in over.items()})
    return {k: v for k, v in h.items() if v is not ...}


def test_binary(t):
    c = t.srv.client()
    h = binary(subject="k%C3%A9%201", time="2026-01-10T12:34:56.789Z", x="y")
    c.post("/v1/events", b' {"a" : 1.50}\n', h).want(202)
    got = c.get("/v1/events/" + h["ce-id"]).want(200)
    check(b'"payload":{"a" : 1.50}' in got.body, "data byte for byte", got)
    same((got.json["sequence"]["partitionKey"], got.json["cloudEvent"]), ("ké 1", {"x": "y"}), "decoded")
    same(c.post("/v1/events", b'{"a" : 1.50}', h).want(202).json["duplicate"], True, "a repeat")
    for over, pointer in (({"specversion": "0.3"}, "ce-specversion"), ({"specversion": ...}, "ce-specversion"),
                          ({"id": ...}, "ce-id"), ({"type": "a b"}, "ce-type"),
                          ({"source": ...}, "ce-source"), ({"tenantid": "a b"}, "ce-tenantid"),
                          ({"time": "now"}, "ce-time"), ({"subject": "%ff"}, "ce-subject")):
        c.post("/v1/events", {}, binary(**over)).want(422, "INVALID_FIELD", pointer)
    c.post("/v1/events", b"[1]", binary()).want(422, says="object")
    c.post("/v1/events", b"{", binary()).want(400)
    c.post("/v1/events", b"<a/>", {**binary(), "Content-Type": "text/xml"}).want(415)


def test_binary_without_a_type(t):
    """Content-Type may be absent: the headers say what it is. Else it may not."""
    c = t.srv.client()
    h = {**binary(), "Content-Type": None}
    c.post("/v1/events", b'{"a":1}', h).want(202)
    same(get(c, h["ce-id"])["payload"], {"a": 1}, "its data")
    c.post("/v1/events", b'{"a":1}', {"Content-Type": None}).want(415)


TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_survives_the_way_through(t):
    """Source, id and extensions of others arrive as they came, in both modes."""
    c, r = t.srv.client(), Receiver(t)
    for preset in ("cloudevents", "cloudevents-binary"):
        type = "through." + preset
        c.post("/v1/subscriptions", {"name": preset, "url": r.url("/" + preset), "preset": preset,
                                     "types": [type]}).want(201)
        evs = [ce(type=type, id="A-é \"1\" " + new_id(), source="https://shop.example/a?b=%20c",
                  traceparent=TRACE, tracestate="k=1", n=5, partitionkey="p/1", subject="s 1",
                  correlationid="req 7", dataschema="urn:x"),
               ce(type=type, id=new_id().upper(), source="urn:shop:é", traceparent=TRACE),
               ce(type=type, id=new_id(), source="/shop/a", partitionkey="k")]
        evs[2].pop("subject", None)
        for ev in evs:
            c.post("/v1/events", ev, ONE).want(202)
        r.wait_for(3, "/" + preset)
        seen = {}
        for q in r.at("/" + preset):
            a = q.json if preset == "cloudevents" else {
                k[3:].lower(): urllib.parse.unquote(v) for k, v in q.headers.items() if k.lower().startswith("ce-")}
            seen[a["id"]] = a
        for ev in evs:
            a = seen[ev["id"]]
            for name in ("source", "subject", "traceparent", "tracestate", "partitionkey", "correlationid",
                         "dataschema", "n"):
                if name in ev:
                    same(str(a.get(name)), str(ev[name]), name)
                elif name != "correlationid":
                    same(a.get(name), None, name + " that was not there")


def test_tenants(t):
    """The tenant of a key that has one; a key of several must be told."""
    srv, one, two = t.srv, new_id(), new_id()
    c = srv.client(srv.new_key("publish", "read", tenants=[one])["key"])
    ev = ce(tenantid=...)
    c.post("/v1/events", ev, ONE).want(202)
    same(get(c, ev["id"])["tenantId"], one, "the key's")
    c.post("/v1/events", ce(tenantid=two), ONE).want(403, pointer="/tenantid")
    several = srv.client(srv.new_key("publish", tenants=[one, two])["key"])
    several.post("/v1/events", ce(tenantid=...), ONE).want(422, pointer="/tenantid")
    several.post("/v1/events", ce(tenantid=two), ONE).want(202)


def test_strict(t):
    c = t.server(EVENT_SCHEMA_MODE="strict").client()
    c.post("/v1/events", ce(), ONE).want(422, pointer="/type")
    c.post("/v1/events", ce(type="RecordDeleted", data={"objectName": 1}), ONE).want(
        422, pointer="/data/objectName")
    c.post("/v1/events", b'{"objectName":1}', binary(type="RecordDeleted")).want(
        422, pointer="/objectName")
    # Key and version are the payload's: filled in, or named.
    data, key = deleted()
    for how in (..., key):
        ev = ce(type="RecordDeleted", subject=..., partitionkey=how, data=data)
        c.post("/v1/events", ev, ONE).want(202)
        same(get(c, ev["id"])["sequence"], {"partitionKey": key, "recordVersion": data["recordVersion"]}, "sequence")
    c.post("/v1/events", ce(type="RecordDeleted", data=data), ONE).want(422, pointer="/partitionkey", says=key)
    c.post("/v1/events", ce(type="RecordDeleted", subject=key, data=data, recordversion="2020-01-01T00:00:00Z"),
           ONE).want(422, pointer="/recordversion")
    c.post("/v1/events", json.dumps(data).encode(), binary(type="RecordDeleted", subject="mine")).want(
        422, pointer="ce-partitionkey")


def deleted():
    data = {"objectName": "Account", "recordId": new_id(), "deleted": True, "recordVersion": "2026-01-10T12:34:56.7Z"}
    return data, f"Account:{TENANT}:{data['recordId']}"


def test_open_mode_fills_in(t):
    c = t.srv.client()
    data, key = deleted()
    body, head = json.dumps(data).encode(), binary(type="RecordDeleted")
    head.pop("ce-subject", None)
    id = c.post("/v1/events", body, head).want(202).json["eventId"]
    same(get(c, id)["sequence"], {"partitionKey": key, "recordVersion": data["recordVersion"]}, "sequence")
    same(c.post("/v1/events", body, head).want(202).json["duplicate"], True, "a repeat is the same event")


FIELDS = ("eventId", "schemaVersion", "eventType", "occurredAt", "tenantId", "producer",
          "correlationId", "sequence", "payload")


def round_trip(t, preset):
    """Out of one, into another: the same event."""
    a, b, r = t.srv.client(), t.server(folder=t.path("other-" + preset)), Receiver(t)
    b = b.client()
    path = "/" + preset
    a.post("/v1/subscriptions", {"name": preset, "url": r.url(path), "preset": preset,
                                 "types": ["trip." + preset]}).want(201)
    seq = {"partitionKey": "Grüße \"%41\" 飛脚/1", "recordVersion": "2026-01-10T21:34:56.789123+09:00"}
    evs = [envelope("trip." + preset, payload={"text": "é\u2028\"", "n": 1.5}, schemaVersion=7,
                    producer={"service": "core app/ü%41", "instanceId": "pod \"1\" é"}, sequence=seq,
                    occurredAt="2026-01-10T12:34:56.789123Z"),
           envelope("trip." + preset, sequence={"partitionKey": "k"}),
           envelope("trip." + preset, sequence={"partitionKey": "/a/b", "recordVersion": None},
                    occurredAt=..., correlationId=..., producer={"service": "/x/y", "instanceId": "1"})]
    for ev in evs:
        a.publish(ev).want(202)
    for got in r.wait_for(3, path):
        for duplicate in (False, True):
            j = b.post("/v1/events", got.body, dict(got.headers.items())).want(202).json
            same(j["duplicate"], duplicate, "once")
    for ev in evs:
        was, now = get(a, ev["eventId"]), get(b, ev["eventId"])
        if was["sequence"].get("recordVersion", 0) is None:
            del was["sequence"]["recordVersion"]  # null says no more than nothing
        for f in FIELDS:
            same(now[f], was[f], f)
        check("cloudEvent" not in now, "nothing was left over", now)


def test_round_trip_structured(t):
    round_trip(t, "cloudevents")


def test_round_trip_binary(t):
    round_trip(t, "cloudevents-binary")
