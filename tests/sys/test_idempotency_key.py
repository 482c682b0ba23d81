"""Idempotency-Key: the same key and body give the same answer."""
from hk import check, dump, envelope, new_id, same


def head(key):
    return {"Idempotency-Key": key}


def test_missing_id_is_derived(t):
    c, body = t.srv.client(), dump(envelope(eventId=...))
    key = new_id()
    one = c.publish(body, head(key)).want(202).json
    two = c.publish(body, head(key)).want(202).json
    same((two["eventId"], two["seq"], two["duplicate"]), (one["eventId"], one["seq"], True),
         "the second answer")
    same(sum(e["eventId"] == one["eventId"] for e in c.events()), 1, "times in the log")


def test_without_key_each_is_new(t):
    c, body = t.srv.client(), dump(envelope(eventId=...))
    ids = {c.publish(body).want(202).json["eventId"] for _ in range(3)}
    same(len(ids), 3, "events")


def test_other_body(t):
    c, key = t.srv.client(), new_id()
    ev = envelope(eventId=...)
    c.publish(ev, head(key)).want(202)
    c.publish({**ev, "payload": {"other": 1}}, head(key)).want(409)


def test_other_key_is_another_event(t):
    c, body = t.srv.client(), dump(envelope(eventId=...))
    a = c.publish(body, head(new_id())).want(202).json
    b = c.publish(body, head(new_id())).want(202).json
    check(a["eventId"] != b["eventId"], "two keys, two events", a, b)


def test_keys_of_two_callers_do_not_meet(t):
    body, key = dump(envelope(eventId=...)), "order-17"
    a = t.srv.client(t.srv.new_key("publish")["key"]).publish(body, head(key)).want(202).json
    b = t.srv.client(t.srv.new_key("publish")["key"]).publish(body, head(key)).want(202).json
    check(a["eventId"] != b["eventId"], "one caller's key is not another's", a, b)


def test_batch(t):
    c, key = t.srv.client(), new_id()
    body = dump([envelope(eventId=...) for _ in range(10)])
    one = c.publish(body, head(key)).want(200).json["results"]
    two = c.publish(body, head(key)).want(200).json["results"]
    same([(r["eventId"], r["seq"]) for r in two], [(r["eventId"], r["seq"]) for r in one],
         "the second answer")
    same(len({r["eventId"] for r in one}), 10, "ids of one batch differ")


def test_across_restart(t):
    srv, body = t.server(), dump(envelope(eventId=...))
    one = srv.client().publish(body, head("once")).want(202).json
    srv.kill9()
    srv.start()
    same(srv.client().publish(body, head("once")).want(202).json["seq"], one["seq"], "seq")


def test_given_id_stays(t):
    ev = envelope()
    got = t.srv.client().publish(ev, head(new_id())).want(202).json
    same(got["eventId"], ev["eventId"], "eventId")


def test_too_long(t):
    c = t.srv.client()
    c.publish(envelope(eventId=...), head("k" * 255)).want(202)
    a = c.publish(envelope(eventId=...), head("k" * 256))
    check(a.status in (400, 422), "256 characters are refused", a)
    a.want(a.status, says="idempotency-key")
