"""event.schema.mode = strict: 422 for what its schema refuses."""
import catalog
from hk import check, envelope, same

SETTINGS = {"EVENT_SCHEMA_MODE": "strict"}


def test_all_twenty_pass(t):
    c, table = t.srv.client(), catalog.payloads()
    same(len(table), 20, "types")
    for kind, (payload, _) in table.items():
        c.publish(envelope(kind, payload=payload)).want(202)
        c.publish(envelope(kind, payload={**payload, "extraField": {"a": 1}})).want(202)


def test_missing_field(t):
    c = t.srv.client()
    for kind, (payload, field) in catalog.payloads().items():
        less = {k: v for k, v in payload.items() if k != field}
        c.publish(envelope(kind, payload=less)).want(
            422, pointer=f"/payload/{field}", says=field)


def test_every_required_field(t):
    c, n = t.srv.client(), 0
    for kind, (payload, _) in catalog.payloads().items():
        for field in payload:
            less = {k: v for k, v in payload.items() if k != field}
            want = 202 if field in catalog.OPTIONAL.get(kind, ()) else 422
            c.publish(envelope(kind, payload=less)).want(want)
            n += 1
    check(n > 100, "fields tried", n)


def test_wrong_kind_of_value(t):
    c = t.srv.client()
    for kind, (payload, _) in catalog.payloads().items():
        for field, value in payload.items():
            wrong = "no object" if isinstance(value, dict) else {"an": "object"}
            c.publish(envelope(kind, payload={**payload, field: wrong})).want(
                422, pointer=f"/payload/{field}")


def test_inner_fields(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field, inner in (("ApprovalSubmitted", "target", "recordId"),
                               ("ApprovalDecided", "target", "objectName"),
                               ("PermissionChanged", "subject", "id")):
        payload = table[kind][0]
        less = {k: v for k, v in payload[field].items() if k != inner}
        c.publish(envelope(kind, payload={**payload, field: less})).want(
            422, pointer=f"/payload/{field}/{inner}")
    bad = {**table["RecordUpdated"][0], "changedFields": ["ok", 5]}
    c.publish(envelope("RecordUpdated", payload=bad)).want(
        422, pointer="/payload/changedFields/1")


def test_formats(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field, value in (
            ("RecordUpdated", "recordId", "x"), ("RecordUpdated", "recordVersion", "today"),
            ("StageChanged", "closeDate", "2026-02-30"), ("StageChanged", "newIsWon", "yes"),
            ("SharingUpdated", "shareModelVersion", 1.5), ("RecordDeleted", "deleted", False)):
        c.publish(envelope(kind, payload={**table[kind][0], field: value})).want(
            422, pointer=f"/payload/{field}")


def test_words(t):
    c, table = t.srv.client(), catalog.payloads()
    for kind, field in catalog.WORDS.items():
        c.publish(envelope(kind, payload={**table[kind][0], field: "Nonsense"})).want(
            422, pointer=f"/payload/{field}")


def test_unknown_type_and_version(t):
    c = t.srv.client()
    c.publish(envelope("NoSuchType")).want(422, pointer="/eventType")
    c.publish(envelope(schemaVersion=2)).want(422, pointer="/schemaVersion")


def test_in_a_batch(t):
    results = t.srv.client().publish([envelope(), envelope("NoSuchType"), envelope()])\
        .want(200).json["results"]
    same([r["status"] for r in results], [202, 422, 202], "statuses")
