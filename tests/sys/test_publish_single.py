"""POST /v1/events with one envelope: 202 after the commit, then it is there."""
from hk import check, envelope, new_id, same


def test_accepted(t):
    c, ev = t.srv.client(), envelope()
    j = c.publish(ev).want(202).json
    same(set(j), {"eventId", "seq", "duplicate"}, "fields of the answer")
    same(j["eventId"], ev["eventId"], "eventId")
    same(j["duplicate"], False, "duplicate")
    check(isinstance(j["seq"], int) and j["seq"] > 0, "seq is a whole number", j)


def test_comes_back_as_published(t):
    c, ev = t.srv.client(), envelope(extra={"kept": [1, None]})
    seq = c.publish(ev).want(202).json["seq"]
    got = c.get("/v1/events/" + ev["eventId"]).want(200).json
    for k, v in ev.items():
        same(got.get(k), v, k)
    listed = next(e for e in c.events() if e["eventId"] == ev["eventId"])
    same(listed["seq"], seq, "seq in the list")
    check(listed["receivedAt"].endswith("Z"), "receivedAt is UTC", listed)


def test_seq_grows(t):
    c = t.srv.client()
    seqs = [c.publish(envelope()).want(202).json["seq"] for _ in range(20)]
    same(seqs, sorted(set(seqs)), "seqs of one connection")


def test_media_types(t):
    c = t.srv.client()
    for ct in ("application/json; charset=utf-8", "APPLICATION/JSON",
               "application/json;charset=UTF-8"):
        c.publish(envelope(), {"Content-Type": ct}).want(202)
    for ct in ("text/plain", "application/xml", "application/jsonx"):
        c.publish(envelope(), {"Content-Type": ct}).want(415)


def test_survives_kill(t):
    """What was answered is on the disk, not in a buffer."""
    srv = t.server()
    ids = [srv.client().publish(envelope()).want(202).json["eventId"] for _ in range(5)]
    srv.kill9()
    srv.start()
    same([e["eventId"] for e in srv.client().events()], ids, "after kill -9")


def test_big_payload(t):
    ev = envelope(payload={"text": "x" * 500_000})
    t.srv.client().publish(ev).want(202)
    got = t.srv.client().get("/v1/events/" + ev["eventId"]).want(200).json
    same(got["payload"], ev["payload"], "half a megabyte")


def test_any_key_and_type_names(t):
    c = t.srv.client()
    for kind, key in (("order.created", "Order:1"), ("x", "日本:キー"), ("A-b_c.d", "k" * 512)):
        ev = envelope(kind, key)
        c.publish(ev).want(202)
        same([e["eventId"] for e in c.events(key=key)], [ev["eventId"]], f"by key {key!r}")


def test_same_id_in_two_tenants(t):
    """Ids are unique per tenant: one tenant can't occupy another's."""
    c, eid = t.srv.client(), new_id()
    one = c.publish(envelope(eventId=eid)).want(202).json
    two = c.publish(envelope(eventId=eid, tenant=new_id())).want(202).json
    same(two["duplicate"], False, "duplicate")
    check(one["seq"] != two["seq"], "two events", one, two)
