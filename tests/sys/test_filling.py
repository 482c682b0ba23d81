"""Missing eventId, occurredAt and correlationId are filled in."""
import re
import time
import uuid
from datetime import datetime

from hk import check, envelope, same, until

MS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def stored(t, ev):
    c = t.srv.client()
    eid = c.publish(ev).want(202).json["eventId"]
    return c.get("/v1/events/" + eid).want(200).json


def age(text):
    return time.time() - datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def test_event_id(t):
    uuid.UUID(stored(t, envelope(eventId=...))["eventId"])


def test_occurred_at(t):
    got = stored(t, envelope(occurredAt=...))
    check(MS.fullmatch(got["occurredAt"]), "RFC 3339, UTC, ms", got)
    check(abs(age(got["occurredAt"])) < 30, "it is now", got)


def test_correlation_id(t):
    uuid.UUID(stored(t, envelope(correlationId=...))["correlationId"])


def test_all_three(t):
    ev = envelope(eventId=..., occurredAt=..., correlationId=...)
    got = stored(t, ev)
    for k, v in ev.items():
        same(got[k], v, k)


def test_given_ones_stay(t):
    ev = envelope(occurredAt="2020-02-29T23:59:59.001Z")
    got = stored(t, ev)
    for k in ("eventId", "occurredAt", "correlationId"):
        same(got[k], ev[k], k)


def test_received_at(t):
    c = t.srv.client()
    c.publish(envelope()).want(202)
    got = c.events()[-1]
    check(MS.fullmatch(got["receivedAt"]) and abs(age(got["receivedAt"])) < 30,
          "receivedAt is now", got)


def test_correlation_id_is_in_the_log_lines(t):
    srv = t.server(LOG_LEVEL="debug")
    ev = envelope()
    srv.client().publish(ev).want(202)
    # It is written when the answer has gone.
    until(lambda: any(ev["correlationId"] in str(l) for l in srv.log()),
          "correlationId stands in the log line of the append")
