"""A published body comes back byte for byte: in the list, alone, in the stream."""
import re

from hk import TENANT, check, new_id, same, until

PAYLOADS = {
    "numbers": b'{"a":0.1,"b":1e400,"c":12345678901234567890,"d":-0,"e":-0.0,"f":1E+2,'
               b'"g":0.10000000000000000000000000000001,"h":1.0,"i":100000000000000000000e-20}',
    "blanks": b'{ \t"a" :\r\n [ 1 ,\t2 , { } , [ ] ] , "b":{ "c" : null } \n}',
    "escapes": rb'{"a":"\u0041\/\"\\\b\f\n\r\t","b":"\ud83d\ude00","\u0061b":"\u0000\u001f\u2028"}',
    "utf-8": '{"é":"日本語 😀 \u2028\u2029 \u00a0\ufeff","\U0001f980":"\U0010ffff"}'.encode(),
    "order": b'{"z":1,"a":2,"m":3,"10":4,"9":5}',
    "words": b'{"t":true,"f":false,"n":null,"":"empty name"}',
    "deep": b'{"a":' + b"[" * 50 + b"]" * 50 + b"}",
    "long": b'{"s":"' + b"0123456789" * 20000 + b'"}',
    "empty": b"{}",
    "html": b'{"s":"</script><b>&amp;\'"}',
}


def body(eid, payload, odd=False):
    gap = b" \n\t" if odd else b""
    return (b'{' + gap + b'"payload":' + gap + payload + b',"eventId":"' + eid.encode()
            + b'",' + gap + b'"schemaVersion":1,"eventType":"bytes.kept","tenantId":"'
            + TENANT.encode() + b'","producer":{"service":"s",' + gap + b'"instanceId":"i"},'
            b'"occurredAt":"2026-01-10T12:34:56.789Z","correlationId":"' + eid.encode()
            + b'","sequence":{"partitionKey":"K:\\u00e9","recordVersion":null},'
            b'"extra":1.50' + gap + b'}')


def whole(text, sent, where):
    """All bytes of the envelope; seq and the like may stand before or after."""
    check(sent[1:] in text or sent.rstrip()[:-1].rstrip() in text,
          f"the bytes changed {where}", sent[:300], text[:600])


def test_comes_back(t):
    c = t.srv.client()
    for name, payload in PAYLOADS.items():
        for odd in (False, True):
            eid = new_id()
            sent = body(eid, payload, odd)
            seq = c.publish(sent).want(202).json["seq"]
            one = c.get("/v1/events/" + eid).want(200)
            whole(one.body, sent, f"in /v1/events/ID ({name})")
            page = c.get("/v1/events", key="K:é", limit=1000).want(200)
            whole(page.body, sent, f"in the list ({name})")
            same([e["seq"] for e in page.json["data"] if e["eventId"] == eid], [seq], "seq")


def test_in_a_batch(t):
    c = t.srv.client()
    sent = [body(new_id(), p) for p in PAYLOADS.values()]
    results = c.publish(b" [ " + b" ,\n".join(sent) + b"\t] ").want(200).json["results"]
    same({r["status"] for r in results}, {202}, "statuses")
    for r, s in zip(results, sent):
        whole(c.get("/v1/events/" + r["eventId"]).want(200).body, s, "in a batch")


def test_filled_in_fields_change_nothing_else(t):
    c = t.srv.client()
    sent = body(new_id(), PAYLOADS["numbers"])
    less = re.sub(rb',"occurredAt":"[^"]*","correlationId":"[^"]*"', b"", sent)
    eid = c.publish(less).want(202).json["eventId"]
    text = c.get("/v1/events/" + eid).want(200).body
    for part in (PAYLOADS["numbers"], b'"partitionKey":"K:\\u00e9"', b'"extra":1.50'):
        check(part in text, "the rest stays as it was", part, text)


def test_over_the_stream(t):
    s = t.srv.stream(type="bytes.kept")
    same(s.answer.status, 200, "status")
    c = t.srv.client()
    for name, payload in PAYLOADS.items():
        if b"\n" in payload or b"\r" in payload:
            continue  # a line end inside `data:` is the stream's to fold
        n, sent = len(s.events), body(new_id(), payload)
        c.publish(sent).want(202)
        until(lambda: len(s.events) > n, f"{name} on the stream")
        whole(s.events[n]["data"].encode(), sent, f"on the stream ({name})")


def test_stream_folds_line_ends(t):
    s = t.srv.stream(type="bytes.kept")
    eid = new_id()
    t.srv.client().publish(body(eid, PAYLOADS["blanks"], True)).want(202)
    until(lambda: s.events, "the event on the stream")
    same(s.ids(), [eid], "one event, still JSON")


def test_after_restart(t):
    srv = t.server()
    sent = [body(new_id(), p, True) for p in PAYLOADS.values()]
    ids = [srv.client().publish(s).want(202).json["eventId"] for s in sent]
    srv.restart()
    for eid, s in zip(ids, sent):
        whole(srv.client().get("/v1/events/" + eid).want(200).body, s, "after a restart")
