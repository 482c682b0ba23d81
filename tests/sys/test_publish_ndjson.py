"""POST /v1/events with application/x-ndjson: an event per line."""
from hk import check, dump, envelope, same


def test_lines(t):
    c, events = t.srv.client(), [envelope() for _ in range(30)]
    results = c.publish_ndjson(events).want(200).json["results"]
    same([r["eventId"] for r in results], [e["eventId"] for e in events], "order of results")
    same({r["status"] for r in results}, {202}, "statuses")
    seqs = [r["seq"] for r in results]
    same(seqs, sorted(set(seqs)), "seqs follow the lines")


def test_bad_lines_stop_nobody(t):
    c = t.srv.client()
    good = [envelope() for _ in range(3)]
    lines = [dump(good[0]), b'{"eventType":', dump(good[1]), dump(envelope(payload=[])),
             b"\xff\xfe", dump(good[2])]
    results = c.publish_ndjson(b"\n".join(lines)).want(200).json["results"]
    same([r["status"] // 100 for r in results], [2, 4, 2, 4, 4, 2], "statuses")
    same(results[3]["status"], 422, "a payload that is no object")
    for i in (1, 3, 4):
        check(results[i]["error"]["message"] and results[i]["error"]["code"],
              f"line {i} says why", results[i])
    for ev in good:
        c.get("/v1/events/" + ev["eventId"]).want(200)


def test_line_ends(t):
    """CRLF, empty lines and a missing last newline are all fine."""
    c, events = t.srv.client(), [envelope() for _ in range(3)]
    body = dump(events[0]) + b"\r\n\r\n" + dump(events[1]) + b"\n\n" + dump(events[2])
    results = c.publish_ndjson(body).want(200).json["results"]
    same([r["status"] for r in results], [202] * 3, "statuses")


def test_one_line_is_still_a_batch(t):
    results = t.srv.client().publish_ndjson([envelope()]).want(200).json["results"]
    same([r["status"] for r in results], [202], "statuses")


def test_too_many_lines(t):
    a = t.srv.client().publish_ndjson([envelope() for _ in range(1001)])
    check(a.status in (413, 422), "1001 are refused", a)
    a.want(a.status, says="1000")
