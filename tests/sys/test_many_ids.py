"""Dedupe over more ids than are kept in memory, also after a crash."""
import os
import uuid

from hk import SLOW, TENANT, check, same

BATCHES, EACH = 300, 1000  # more than twice what stays in memory
EVENT = ('{"eventId":"%s","schemaVersion":1,"eventType":"ids.many","occurredAt":'
         '"2026-01-10T12:34:56.789Z","tenantId":"' + TENANT + '","producer":'
         '{"service":"s","instanceId":"i"},"correlationId":"' + TENANT + '","sequence":'
         '{"partitionKey":"k","recordVersion":null},"payload":{"n":%d}}')


def ids(n):
    """Random UUIDs, quickly."""
    bits = os.urandom(16 * n)
    return [str(uuid.UUID(bytes=bits[i:i + 16], version=4)) for i in range(0, 16 * n, 16)]


def fill(c):
    """Publishes them all; returns [(body, id, seq)] of a few from everywhere."""
    few, last = [], 0
    for b in range(BATCHES):
        texts = [EVENT % (eid, n) for n, eid in enumerate(ids(EACH))]
        results = c.publish(("[" + ",".join(texts) + "]").encode()).want(200).json["results"]
        same({r["status"] for r in results}, {202}, f"statuses of batch {b}")
        same({r["duplicate"] for r in results}, {False}, f"duplicates in batch {b}")
        check(results[0]["seq"] > last, "seq grows", results[0], last)
        last = results[-1]["seq"]
        n = b * 7 % EACH
        few.append((texts[n].encode(), results[n]["eventId"], results[n]["seq"]))
    return few


def known(c, few, when):
    for body, eid, seq in few:
        same(c.publish(body).want(202).json, {"eventId": eid, "seq": seq, "duplicate": True}, when)
    for body, eid, seq in few[::7]:
        c.publish(body.replace(b'"payload":{', b'"payload":{"x":1,')).want(409)
        same(c.get("/v1/events/" + eid).want(200).json["seq"], seq, f"by id, {when}")


def test_all_are_known(t):
    srv = t.server()
    few = fill(srv.client(timeout=60 * SLOW))
    known(srv.client(), few, "at once")
    srv.kill9()
    srv.start()
    known(srv.client(), few, "after kill -9")
    srv.restart()
    known(srv.client(), few, "after a restart")
