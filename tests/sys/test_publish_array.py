"""POST /v1/events with a JSON array: a result per item, in the order given."""
from hk import check, envelope, new_id, same


def test_results_in_order(t):
    c, events = t.srv.client(), [envelope() for _ in range(50)]
    results = c.publish(events).want(200).json["results"]
    same([r["eventId"] for r in results], [e["eventId"] for e in events], "order of results")
    same({r["status"] for r in results}, {202}, "statuses")
    seqs = [r["seq"] for r in results]
    same(seqs, sorted(set(seqs)), "seqs follow the order given")


def test_array_of_one(t):
    results = t.srv.client().publish([envelope()]).want(200).json["results"]
    same([r["status"] for r in results], [202], "statuses")


def test_bad_items_stop_nobody(t):
    c = t.srv.client()
    good = [envelope() for _ in range(4)]
    batch = [good[0], envelope(eventType=5), good[1], "no object", good[2],
             envelope(tenantId="a b"), good[3]]
    answer = c.publish(batch).want(200).json
    results = answer["results"]
    same([r["status"] for r in results], [202, 422, 202, 422, 202, 422, 202], "statuses")
    same(answer["failed"], 3, "how many were refused")
    for i, tail in ((1, "/eventType"), (5, "/tenantId")):
        err = results[i]["error"]
        check(err["pointer"].endswith(tail) and err["message"] and err["code"],
              f"item {i} names {tail}", results[i])
    for r in (results[1], results[3], results[5]):
        check("seq" not in r, "a refused item has no seq", r)
    for ev in good:
        c.get("/v1/events/" + ev["eventId"]).want(200)


def test_thousand_and_one(t):
    c = t.srv.client()
    results = c.publish([envelope(tenant=TEN_K) for _ in range(1000)]).want(200).json["results"]
    same([r["status"] for r in results], [202] * 1000, "a thousand")
    a = c.publish([envelope(tenant=TEN_K) for _ in range(1001)])
    check(a.status in (413, 422), "1001 are refused", a)
    a.want(a.status, says="1000")
    same(len(c.events(tenant=TEN_K)), 1000, "a refused batch leaves nothing")


TEN_K = new_id()


def test_same_key_keeps_order(t):
    c, key = t.srv.client(), "Batch:" + new_id()
    for n in range(0, 60, 20):
        c.publish([envelope("b.t", key, payload={"n": n + i}) for i in range(20)]).want(200)
    same([e["payload"]["n"] for e in c.events(key=key)], list(range(60)), "order of a key")


def test_malformed_array_is_refused_whole(t):
    c, ev = t.srv.client(), envelope()
    before = len(c.events(tenant=ev["tenantId"]))
    import json
    c.publish(b"[" + json.dumps(ev).encode() + b",{]").want(400)
    same(len(c.events(tenant=ev["tenantId"])), before, "nothing of it was taken")
