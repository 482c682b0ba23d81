"""The outbox relay (E7 to E11): rows become events once, in order; what is wrong is a dead letter."""
import json

import hk
import outbox
from hk import TENANT, check, same, until
from outbox import Lite, Pg, metric, outboxes, relayed, row, serve

SETTINGS = outbox.SETTINGS


def test_rows_become_events(t):
    for box in outboxes(t):
        rows = [row("a" if i % 2 else "b", i) for i in range(2500)]
        odd = '{"n": 1e400, "text": "\\u00e9 é", "blank" :  [ 1,2 ] }'
        rows[7]["payload"] = odd
        box.put(rows[:1500])
        srv = serve(t, box)
        c = srv.client()
        box.put(rows[1500:])
        got = relayed(c, 2500)
        same([e["eventId"] for e in got], [r["event_id"] for r in rows], f"{box.mode}: all, in order")
        e, r = got[7], rows[7]
        same((e["tenantId"], e["eventType"], e["schemaVersion"], e["correlationId"],
              e["sequence"]["partitionKey"], e["sequence"]["recordVersion"], e["occurredAt"],
              e["producer"]),
             (TENANT, "order.paid", 1, r["correlation_id"], "a", r["record_version"],
              r["occurred_at"], {"service": "core", "instanceId": "i-1"}), "the envelope")
        raw = c.get("/v1/events/" + r["event_id"]).want(200).body.decode()
        check(odd in raw, "payload bytes are as written", raw)
        until(lambda: box.waiting() == 0, "published_at is set", 20)
        lines = [l for l in srv.log() if l.get("msg") == "event relayed"
                 and l.get("correlationId") == r["correlation_id"]]
        same(len(lines), 1, "its correlationId in the relay's line")
        same(metric(srv, "hikyaku_relay_events_total"), 2500.0, "counted")
        same(metric(srv, "hikyaku_relay_up"), 1.0, "up")
        srv.stop()


def test_a_row_read_twice_is_one_event(t):
    for box in outboxes(t):
        rows = [row("a", i) for i in range(100)]
        box.put(rows)
        srv = serve(t, box)
        c = srv.client()
        relayed(c, 100)
        until(lambda: box.waiting() == 0, "marked", 20)
        srv.kill9()
        # as if it had died between the append and the mark
        box.sql("UPDATE outbox_events SET published_at = NULL")
        box.put([row("a", 100)])
        srv.start()
        c = srv.client()
        got = relayed(c, 101)
        until(lambda: box.waiting() == 0, "marked again", 20)
        same(len(c.events()), 101, "each once")
        same([e["payload"]["n"] for e in got], list(range(101)), "in order")
        check(metric(srv, "hikyaku_relay_known_total") >= 100, "known ones are counted")
        srv.stop()


def test_what_is_no_event(t):
    for box in outboxes(t):
        good = [row("k", i) for i in range(3)]
        bad = [row("k", 10, event_type="no type!"), row("k", 11, producer='{"service":7}'),
               row("k", 12, payload="[1]")]
        if isinstance(box, Lite):
            bad += [row("k", 13, payload='{"a":1}, "x":{"b":2}'), row("k", 14, payload="{"),
                    row("k", 15, tenant_id="no body")]
        box.put([good[0], *bad[:2], good[1], *bad[2:], good[2]])
        srv = serve(t, box)
        c = srv.client()
        got = relayed(c, 3)
        same([e["payload"]["n"] for e in got], [0, 1, 2], "the key goes on")
        until(lambda: box.waiting() == 0, "all are marked", 20)
        dead = c.get("/v1/dead-letters", reason="SCHEMA", limit=100).want(200).json["data"]
        same(len(dead), len(bad), "a dead letter each")
        d = dead[-1]
        same((d["subscriptionId"], d["source"], d["status"], d["deadLetter"]["state"],
              d["eventType"], d["tenantId"], d["key"]),
             (None, "outbox", "DEAD_LETTER", "open", "no type!", bad[0]["tenant_id"], "k"), "what it is")
        check("eventType" in d["lastError"], "what is wrong with it", d)
        same(len(c.get("/v1/dead-letters", source="outbox", type="no type!", key="k", tenant=bad[0]["tenant_id"],
                       error="eventType").want(200).json["data"]), 1, "found by these")
        full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
        p = full["event"]["payload"]
        same(p["pointer"], "/eventType", "where")
        copy = json.loads(p["copy"])
        same((copy["eventId"], copy["eventType"]), (bad[0]["event_id"], "no type!"), "its copy")
        same(full["event"]["correlationId"], bad[0]["correlation_id"], "its correlationId")
        same(metric(srv, "hikyaku_source_refused_total"), float(len(bad)), "counted")
        audit = c.get("/v1/audit", category="SOURCE_REFUSED", limit=100).want(200).json["data"]
        same(len(audit), len(bad), "audited")
        a = c.post("/v1/dead-letters/requeue", {"filter": {}}).want(200).json
        same((a["matched"], a["requeued"], a["stillInvalid"], a["ofSources"]),
             (len(bad), 0, len(bad), len(bad)), "none is mended")
        # deciding
        at = f"/v1/dead-letters/{d['id']}"
        c.post(at + "/requeue", {}).want(422, pointer="/eventType", says="still is no event")
        c.post(at + "/requeue", {"event": {**copy, "tenantId": 1}}).want(
            422, pointer="/event/eventType")
        c.post(at + "/requeue", {"event": {**copy, "eventType": "a.b", "tenantId": 1}}).want(
            422, pointer="/event/tenantId")
        c.post(at + "/requeue", {"event": copy, "payload": {}}).want(422, pointer="/payload")
        c.post(at + "/requeue", {"payload": {"n": 9}}).want(422, pointer="/eventType")
        a = c.post(at + "/requeue", {"event": {**copy, "eventType": "order.mended"},
                                     "reason": "typo"}).want(202).json
        same(a["eventId"], bad[0]["event_id"], "it keeps its id")
        e = c.get("/v1/events/" + a["eventId"]).want(200).json
        same((e["eventType"], e["causationId"], e["causedByDelivery"], e["payload"]),
             ("order.mended", full["eventId"], d["id"], {"n": 10}), "it names its cause")
        c.post(at + "/requeue", {}).want(409)
        # the payload alone; and skipping
        d = next(x for x in dead if json.loads(
            c.get("/v1/dead-letters/" + x["id"]).json["event"]["payload"]["copy"])["eventId"]
            == bad[2]["event_id"])
        c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": {"n": 77}}).want(202)
        same(c.get("/v1/events/" + bad[2]["event_id"]).want(200).json["payload"], {"n": 77}, "mended")
        c.post(f"/v1/dead-letters/{dead[-2]['id']}/skip", {"reason": "old"}).want(200)
        same(len(c.get("/v1/dead-letters", limit=100).json["data"]), len(bad) - 3, "three decided")
        srv.cli("dead", "list").want(0)
        # of a key that is limited to a tenant they are hidden
        mine = srv.client(srv.new_key("read", "manage", tenants=[TENANT])["key"])
        same(mine.get("/v1/dead-letters").want(200).json["data"], [], "not a tenant's")
        mine.get("/v1/dead-letters/" + dead[0]["id"]).want(404)
        # read again, they are the same letters
        srv.kill9()
        box.sql("UPDATE outbox_events SET published_at = NULL")
        srv.start()
        until(lambda: box.waiting() == 0, "marked again", 20)
        c = srv.client()
        same(len(c.get("/v1/dead-letters", limit=100).json["data"]), len(bad) - 3, "none came back")
        srv.stop()


def test_an_id_with_other_content(t):
    for box in outboxes(t):
        srv = serve(t, box)
        c = srv.client()
        ev = hk.envelope()
        c.publish(ev).want(202)
        box.put([row("k", 1, event_id=ev["eventId"], tenant_id=ev["tenantId"]), row("k", 2)])
        until(lambda: box.waiting() == 0, "marked", 20)
        d, = c.get("/v1/dead-letters").want(200).json["data"]
        p = c.get("/v1/dead-letters/" + d["id"]).json["event"]["payload"]
        same(p["pointer"], "/eventId", "why")
        same(len(relayed(c, 2)), 2, "the other went on")
        srv.stop()


def test_too_large_and_strict(t):
    for box in outboxes(t):
        box.put([row("k", 1, payload=json.dumps({"x": "y" * 70000})), row("k", 2),
                 row("k", 3, event_type="RecordCreated")])
        srv = serve(t, box, WEBHOOK_MAX_PAYLOAD_SIZE="64KiB", EVENT_SCHEMA_MODE="strict")
        c = srv.client()
        until(lambda: box.waiting() == 0, "all are marked", 20)
        dead = c.get("/v1/dead-letters").want(200).json["data"]
        same(len(dead), 3, "an unknown type too, in strict mode")
        p = c.get("/v1/dead-letters/" + dead[-1]["id"]).json["event"]["payload"]
        check("bytes" in p["reason"] and p["pointer"] == "/payload", "too large", p)
        same(p["truncated"], True, "its copy lacks the payload")
        c.post(f"/v1/dead-letters/{dead[-1]['id']}/requeue", {}).want(409, says="event")
        srv.stop()


def test_key_and_version_of_known_types(t):
    """Filled in where the row has none, refused in strict mode where they are not the payload's."""
    rec = "22222222-2222-4222-8222-222222222222"
    payload = {"objectName": "Account", "recordId": rec, "deleted": True, "recordVersion": "2026-01-10T12:34:56.700Z"}
    key = f"Account:{TENANT}:{rec}"
    known = {"event_type": "RecordDeleted", "payload": json.dumps(payload)}
    for box in outboxes(t):
        if isinstance(box, Lite):
            box.sql("DROP TABLE outbox_events")
            box.sql(outbox.shipped("sqlite.sql").replace("partition_key  TEXT    NOT NULL", "partition_key  TEXT"),
                    script=True)
        else:
            box.sql("ALTER TABLE outbox_events ALTER partition_key DROP NOT NULL")
        rows = [row(None, 1, record_version=None, **known), row(key, 2, record_version=None, **known),
                row("mine", 3, record_version=None, **known), row(key, 4, **known),
                row(None, 5, record_version=None)]
        box.put(rows)
        srv = serve(t, box, EVENT_SCHEMA_MODE="strict")
        c = srv.client()
        got = relayed(c, 2)
        until(lambda: box.waiting() == 0, "all are marked", 20)
        for e in got:
            same(e["sequence"], {"partitionKey": key, "recordVersion": payload["recordVersion"]}, "filled in")
        same([e["eventId"] for e in got], [r["event_id"] for r in rows[:2]], "these two")
        dead = c.get("/v1/dead-letters").want(200).json["data"]
        at = [c.get("/v1/dead-letters/" + d["id"]).json["event"]["payload"]["pointer"] for d in dead]
        same(sorted(at), ["/eventType", "/sequence/partitionKey", "/sequence/recordVersion"], "where")
        # Read again, they are the same events.
        srv.kill9()
        box.sql("UPDATE outbox_events SET published_at = NULL")
        srv.start()
        until(lambda: box.waiting() == 0, "marked again", 20)
        same(metric(srv, "hikyaku_relay_known_total"), 2.0, "known")
        srv.stop()


def test_a_large_row_is_kept_whole(t):
    """Refused for its type, mended by hand of nobody: the copy is all there was."""
    for box in outboxes(t):
        big = json.dumps({"x": "y" * 900000})
        box.put([row("k", 1, payload=big, event_type="no type")])
        srv = serve(t, box)
        c = srv.client()
        until(lambda: box.waiting() == 0, "it is marked", 20)
        d, = c.get("/v1/dead-letters").want(200).json["data"]
        p = c.get("/v1/dead-letters/" + d["id"]).want(200).json["event"]["payload"]
        same((p["truncated"], json.loads(p["copy"])["payload"]), (False, json.loads(big)), "its copy")
        ev = json.loads(p["copy"])
        c.post(f"/v1/dead-letters/{d['id']}/requeue", {"event": {**ev, "eventType": "Mended"}}).want(202)
        got = until(lambda: [e for e in c.events() if e["eventType"] == "Mended"], "it is an event")[0]
        same(got["payload"], json.loads(big), "with all of it")
        srv.stop()


def test_many_bytes(t):
    """Rows of 700 KB: chunks are cut by their bytes."""
    for box in (Lite(t), Pg(t, "polling"), Pg(t, "xid")):
        big = json.dumps({"x": "y" * 700000})
        for i in range(4):
            box.put([row("k", 0, payload=big) for _ in range(10)])
        ids = [r[0] if isinstance(r, tuple) else r for r in (
            box.sql("SELECT event_id FROM outbox_events ORDER BY id") if isinstance(box, Lite)
            else box.sql("SELECT event_id FROM outbox_events ORDER BY id").split())]
        srv = serve(t, box)
        until(lambda: box.waiting() == 0, "all are marked", 60)
        rows = srv.client().events(limit=10)
        same([e["eventId"] for e in rows], ids, "in order")
        srv.stop()


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    outbox.end()


def test_many_refused_at_once(t):
    """What a source handed over is put back and skipped by a filter, too."""
    for box in outboxes(t):
        rows = [row("k", i, event_type="odd.type" if i % 2 else "other.type") for i in range(20)]
        box.put(rows)
        srv = serve(t, box, EVENT_SCHEMA_MODE="strict")
        c = srv.client()
        until(lambda: box.waiting() == 0, "all are marked", 20)
        what = {"source": "outbox", "type": "odd.type"}
        a = c.post("/v1/dead-letters/requeue", {"filter": what}).want(200).json
        same((a["matched"], a["requeued"], a["stillInvalid"]), (10, 0, 10), "the types are unknown still")
        until(lambda: metric(srv, "hikyaku_refused_open") == 20.0, "the gauge", 60)
        srv.stop()
        srv.settings["EVENT_SCHEMA_MODE"] = "open"
        srv.start()
        c = srv.client()
        a = c.post("/v1/dead-letters/requeue", {"filter": what, "dryRun": True}).want(200).json
        same((a["requeued"], a["ofSources"]), (10, 10), "they would be")
        a = c.post("/v1/dead-letters/requeue", {"filter": what, "reason": "types are open"}).want(200).json
        same((a["requeued"], a["failed"], a["next"]), (10, 0, None), "they are")
        same(sorted(e["eventId"] for e in c.events(type="odd.type")),
             sorted(x["event_id"] for x in rows if x["event_type"] == "odd.type"), "published, with their own ids")
        told = c.get("/v1/audit", category="DEAD_REQUEUED", limit=100).want(200).json["data"]
        same({x["webhook"]["eventType"] for x in told}, {"odd.type"}, "audited")
        srv.cli("dead", "skip", "--source", "outbox", "--note", "not ours").want(0, "10 skipped")
        same(c.get("/v1/dead-letters").want(200).json["data"], [], "none waits")
        same(len(c.get("/v1/dead-letters", state="skipped").want(200).json["data"]), 10, "these were")
        srv.stop()
