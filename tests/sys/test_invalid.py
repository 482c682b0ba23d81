"""What is wrong in an envelope is 422 with its JSON pointer and a reason."""
import hk
from hk import check, envelope, same

SETTINGS = {"EVENT_ENVELOPE": "strict"}  # seed 003 to the letter: all of it is needed

ROWS = [  # what is changed in a good envelope, the pointer it must name
    ({"eventType": ...}, "/eventType"),
    ({"eventType": 7}, "/eventType"),
    ({"eventType": ""}, "/eventType"),
    ({"eventType": "x" * 129}, "/eventType"),
    ({"eventType": "a b\n"}, "/eventType"),
    ({"tenantId": ...}, "/tenantId"),
    ({"tenantId": None}, "/tenantId"),
    ({"tenantId": "not-a-uuid"}, "/tenantId"),
    ({"eventId": "123"}, "/eventId"),
    ({"eventId": 5}, "/eventId"),
    ({"eventId": "11111111-1111-4111-8111-11111111111g"}, "/eventId"),
    ({"schemaVersion": ...}, "/schemaVersion"),
    ({"schemaVersion": "1"}, "/schemaVersion"),
    ({"schemaVersion": 1.5}, "/schemaVersion"),
    ({"schemaVersion": 0}, "/schemaVersion"),
    ({"schemaVersion": -1}, "/schemaVersion"),
    ({"occurredAt": "yesterday"}, "/occurredAt"),
    ({"occurredAt": 1700000000}, "/occurredAt"),
    ({"occurredAt": "2026-02-30T00:00:00.000Z"}, "/occurredAt"),
    ({"occurredAt": "2026-01-10T25:00:00.000Z"}, "/occurredAt"),
    ({"correlationId": "x"}, "/correlationId"),
    ({"producer": ...}, "/producer"),
    ({"producer": "core"}, "/producer"),
    ({"producer": {"instanceId": "i"}}, "/producer/service"),
    ({"producer": {"service": "", "instanceId": "i"}}, "/producer/service"),
    ({"producer": {"service": "s" * 129, "instanceId": "i"}}, "/producer/service"),
    ({"producer": {"service": "s", "instanceId": 5}}, "/producer/instanceId"),
    ({"sequence": ...}, "/sequence"),
    ({"sequence": []}, "/sequence"),
    ({"sequence": {"recordVersion": None}}, "/sequence/partitionKey"),
    ({"sequence": {"partitionKey": "", "recordVersion": None}}, "/sequence/partitionKey"),
    ({"sequence": {"partitionKey": "k" * 513, "recordVersion": None}}, "/sequence/partitionKey"),
    ({"sequence": {"partitionKey": "k", "recordVersion": "1"}}, "/sequence/recordVersion"),
    ({"sequence": {"partitionKey": "k", "recordVersion": 5}}, "/sequence/recordVersion"),
    ({"payload": ...}, "/payload"),
    ({"payload": None}, "/payload"),
    ({"payload": []}, "/payload"),
    ({"payload": "{}"}, "/payload"),
]


def changed(over):
    ev = {**envelope(), **over}
    return {k: v for k, v in ev.items() if v is not ...}


def test_pointers(t):
    c, wrong = t.srv.client(), []
    for over, pointer in ROWS:
        a = c.publish(changed(over))
        try:
            a.want(422, pointer=pointer)
        except hk.Failed as e:
            wrong.append(f"{over!r}: {e}"[:400])
    check(not wrong, f"{len(wrong)} of {len(ROWS)}:\n    " + "\n    ".join(wrong))
    same(c.events(), [], "none of them is in the log")


def test_no_object(t):
    for body in (b"1", b'"x"', b"true", b"null"):
        t.srv.client().publish(body).want(422)


def test_pointers_in_a_batch(t):
    """Each item says what is wrong in it."""
    results = t.srv.client().publish([changed(o) for o, _ in ROWS]).want(200).json["results"]
    same(len(results), len(ROWS), "results")
    for (over, pointer), r in zip(ROWS, results):
        check(r["status"] == 422 and r["error"]["pointer"].endswith(pointer), f"{over!r}", r)


def test_times_that_are_right(t):
    c = t.srv.client()
    for at in ("2026-01-10T12:34:56Z", "2026-01-10T12:34:56.7Z", "2024-02-29T00:00:00.000Z"):
        c.publish(envelope(occurredAt=at, sequence={"partitionKey": "k", "recordVersion": at}))\
            .want(202)


def test_record_version_may_be_null(t):
    t.srv.client().publish(
        envelope(sequence={"partitionKey": "k", "recordVersion": None})).want(202)


def test_extra_fields_are_welcome(t):
    t.srv.client().publish(envelope(traceparent="00-1", nested={"a": [{}]})).want(202)
