"""GET /v1/events/{eventId}."""
from hk import envelope, new_id, same


def test_found(t):
    c, ev = t.srv.client(), envelope()
    c.publish(ev).want(202)
    got = c.get("/v1/events/" + ev["eventId"]).want(200).json
    same(got["deliveries"], [], "deliveries")
    for k, v in ev.items():
        same(got[k], v, k)


def test_absent(t):
    t.srv.client().get("/v1/events/" + new_id()).want(404)


def test_no_uuid(t):
    c = t.srv.client()
    for bad in ("x", "123", new_id() + "0", new_id()[:-1], new_id()[:-1] + "g", "..%2f"):
        c.get("/v1/events/" + bad).want(422)


def test_old_one(t):
    """Found also when its id is no longer among the newest."""
    c, ev = t.srv.client(), envelope()
    c.publish(ev).want(202)
    for _ in range(5):
        c.publish([envelope() for _ in range(1000)]).want(200)
    same(c.get("/v1/events/" + ev["eventId"]).want(200).json["eventId"], ev["eventId"], "id")


def test_after_restart(t):
    srv = t.server()
    events = [envelope() for _ in range(20)]
    srv.client().publish(events).want(200)
    srv.kill9()
    srv.start()
    for ev in events:
        same(srv.client().get("/v1/events/" + ev["eventId"]).want(200).json["payload"],
             ev["payload"], "payload")
