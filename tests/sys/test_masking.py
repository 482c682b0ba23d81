"""event.mask: values that are masked before an event is stored."""
from hk import check, dump, envelope, new_id, same, until

SETTINGS = {"EVENT_MASK": "RecordCreated:/payload/fields/Email,*:/payload/secret"}
MAIL, WORD = "someone@example.com", "open-sesame-4711"


def created(**fields):
    return envelope("RecordCreated", payload={
        "objectName": "Contact", "recordId": new_id(), "ownerId": new_id(),
        "fields": fields, "changedFields": list(fields), "recordVersion": None})


def test_masked(t):
    c, ev = t.srv.client(), created(Email=MAIL, Name="Anna")
    eid = c.publish(ev).want(202).json["eventId"]
    a = c.get("/v1/events/" + eid).want(200)
    check(MAIL.encode() not in a.body, "the value is gone", a)
    got = a.json["payload"]["fields"]
    check("Email" in got and got["Email"] != MAIL, "its name stays", got)
    same(got["Name"], "Anna", "the neighbour")
    check(MAIL not in str(c.events()), "not in the list either")


def test_other_type_is_not(t):
    c = t.srv.client()
    ev = envelope("RecordUpdated", payload={"fields": {"Email": MAIL + ".org"}})
    c.publish(ev).want(202)
    got = c.get("/v1/events/" + ev["eventId"]).want(200).json
    same(got["payload"]["fields"]["Email"], MAIL + ".org", "another type keeps it")


def test_all_types(t):
    c = t.srv.client()
    for kind in ("RecordCreated", "some.thing"):
        ev = envelope(kind, payload={"secret": {"inner": WORD}, "b": 1.50})
        c.publish(ev).want(202)
        a = c.get("/v1/events/" + ev["eventId"]).want(200)
        check(WORD.encode() not in a.body, f"masked in {kind}", a)
        same(a.json["payload"]["b"], 1.50, "the rest")


def test_absent_is_fine(t):
    c = t.srv.client()
    ev = created(Name="Bert")
    c.publish(ev).want(202)
    same(c.get("/v1/events/" + ev["eventId"]).want(200).json["payload"], ev["payload"], "payload")


def test_written_otherwise(t):
    """The name may be spelled with escapes; it is the same name."""
    c, ev = t.srv.client(), created(Email=MAIL)
    body = dump(ev).replace(b'"Email"', rb'"\u0045mail"')
    c.publish(body).want(202)
    check(MAIL.encode() not in c.get("/v1/events/" + ev["eventId"]).want(200).body,
          "an escaped name is masked too")


def test_duplicates_by_what_was_received(t):
    c, body = t.srv.client(), dump(created(Email=MAIL))
    one = c.publish(body).want(202).json
    same(c.publish(body).want(202).json["seq"], one["seq"], "the same bytes")
    c.publish(body.replace(MAIL.encode(), b"other@example.com")).want(409)


def test_nowhere_on_the_disk_or_in_the_log(t):
    srv = t.server()
    s = srv.stream()
    srv.client().publish(created(Email=MAIL)).want(202)
    srv.client().publish([created(Email=MAIL), created(Email=MAIL)]).want(200)
    until(lambda: len(s.events) == 3, "three events on the stream")
    check(MAIL not in str(s.events), "not on the stream", s.events)
    srv.stop()
    check(MAIL.encode() not in srv.all_logs(), "not in the log lines")
    import os
    for folder, _, names in os.walk(srv.data):
        for name in names:
            with open(os.path.join(folder, name), "rb") as f:
                check(MAIL.encode() not in f.read(), f"not in {name}")
