"""event.schema.mode = open, the default: what a schema refuses is taken and warned of."""
import catalog
from hk import envelope, same, until


def test_all_twenty_pass(t):
    c = t.srv.client()
    for kind, (payload, _) in catalog.payloads().items():
        c.publish(envelope(kind, payload=payload)).want(202)


def test_misfits_pass(t):
    c = t.srv.client()
    for kind in catalog.payloads():
        c.publish(envelope(kind, payload={"nothing": "fits"})).want(202)


def test_misfits_are_warned_of(t):
    srv = t.server()
    ev = envelope("StageChanged", payload={"nothing": "fits"})
    srv.client().publish(ev).want(202)
    until(lambda: [l for l in srv.log() if l.get("level") == "warn"
                   and ("StageChanged" in str(l) or ev["eventId"] in str(l))],
          "a warning that names the event")


def test_unknown_type_and_version(t):
    c = t.srv.client()
    c.publish(envelope("NoSuchType")).want(202)
    c.publish(envelope(schemaVersion=2)).want(202)
    same(len(c.events(type="NoSuchType")), 1, "in the log")

