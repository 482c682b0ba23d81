"""One event per (tenant, eventId), however often it is sent."""
import threading

from hk import check, dump, envelope, new_id, same


def test_same_bytes(t):
    c, body = t.srv.client(), dump(envelope())
    one = c.publish(body).want(202).json
    two = c.publish(body).want(202).json
    same(two, {**one, "duplicate": True}, "the second answer")
    same(sum(e["eventId"] == one["eventId"] for e in c.events()), 1, "times in the log")


def test_other_bytes(t):
    c, ev = t.srv.client(), envelope()
    c.publish(ev).want(202)
    for other in ({**ev, "payload": {"a": 1}}, dump(ev).replace(b"{", b"{ ", 1), {**ev, "eventType": "x.y"}):
        a = c.publish(other).want(409)
        check(ev["eventId"] in a.json["error"]["message"]
              or a.json["error"].get("pointer") == "/eventId", "the error names the id", a)
    same(c.get("/v1/events/" + ev["eventId"]).want(200).json["payload"], ev["payload"],
         "the first one stays")


def test_across_restart(t):
    srv = t.server()
    bodies = [dump(envelope()) for _ in range(10)]
    first = [srv.client().publish(b).want(202).json for b in bodies]
    for how in (srv.stop, srv.kill9):
        how()
        srv.start()
        for b, f in zip(bodies, first):
            same(srv.client().publish(b).want(202).json, {**f, "duplicate": True},
                 f"after {how.__name__}")
        srv.client().publish(bodies[0].replace(b"{", b"{ ", 1)).want(409)


def test_within_one_batch(t):
    c, ev = t.srv.client(), envelope()
    results = c.publish([ev, envelope(), ev, {**ev, "payload": {}}]).want(200).json["results"]
    same([r["status"] for r in results], [202, 202, 202, 409], "statuses")
    same(results[2]["seq"], results[0]["seq"], "seq of the repeat")
    same(results[2].get("duplicate"), True, "the repeat is marked")
    check("error" in results[3], "the conflict is explained", results[3])
    same(sum(e["eventId"] == ev["eventId"] for e in c.events()), 1, "times in the log")


def test_batch_sent_again(t):
    c, body = t.srv.client(), dump([envelope() for _ in range(100)])
    one = c.publish(body).want(200).json["results"]
    two = c.publish(body).want(200).json["results"]
    same([r["seq"] for r in two], [r["seq"] for r in one], "seqs")
    same({r["duplicate"] for r in two}, {True}, "all are duplicates")


def test_single_then_batch(t):
    """The same event alone or as an item of an array has the same bytes."""
    c, body = t.srv.client(), dump(envelope())
    one = c.publish(body).want(202).json
    r = c.publish(b"[" + body + b"]").want(200).json["results"][0]
    same((r["status"], r["seq"], r.get("duplicate")), (202, one["seq"], True), "as an item")


def test_upper_case_id(t):
    """A UUID is the same in either case."""
    c, eid = t.srv.client(), new_id()
    ev = envelope(eventId=eid.upper())
    one = c.publish(ev).want(202).json
    same(one["eventId"].lower(), eid, "eventId")
    same(c.publish(ev).want(202).json["seq"], one["seq"], "again")
    c.publish({**ev, "eventId": eid}).want(409)
    for name in (eid, eid.upper()):
        same(c.get("/v1/events/" + name).want(200).json["eventId"].lower(), eid, "by id")


def test_at_once_from_eight(t):
    """A race for one id has one winner, and all are told the same seq."""
    srv = t.srv
    for _ in range(20):
        body, answers = dump(envelope()), []
        clients = [srv.client() for _ in range(8)]
        gate = threading.Barrier(8)

        def go(c):
            gate.wait(10)
            answers.append(c.publish(body))
        threads = [threading.Thread(target=go, args=(c,)) for c in clients]
        for th in threads:
            th.start()
        for th in threads:
            th.join(30)
        same([a.status for a in answers], [202] * 8, "statuses")
        same(len({a.json["seq"] for a in answers}), 1, "different seqs")
        same(sorted(a.json["duplicate"] for a in answers), [False] + [True] * 7, "duplicates")
        srv.hang_up()
