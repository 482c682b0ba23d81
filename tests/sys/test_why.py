"""GET /v1/deliveries/{id}/why: the program is driven into each state and must name it."""
import receiver
from hk import check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
NEVER = {"delaysMs": [600000000]}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def listed(c, **query):
    return c.get("/v1/deliveries", **query).want(200).json["data"]


def why(c, id):
    return c.get(f"/v1/deliveries/{id}/why").want(200).json


def becomes(c, id, reason, status):
    """Waits for the reason, which a machine that is slow may reach late."""
    w = until(lambda: (lambda x: x if x["reason"] == reason else None)(why(c, id)), reason, 15)
    same(w["status"], status, reason)
    return w


def one_of(c, sub, **query):
    return until(lambda: listed(c, subscription=sub["id"], **query), "it is listed", 15)


def test_settled_and_waiting(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    ok = subscribe(c, r.url("/ok"))
    retry = subscribe(c, r.url("/retry"), retry=NEVER)
    dead = subscribe(c, r.url("/dead"))
    r.answer("/retry", 503)
    r.answer("/dead", 400)
    c.publish(envelope()).want(202)
    becomes(c, one_of(c, ok)[0]["id"], "it was delivered", "SUCCESS")
    w = becomes(c, one_of(c, retry)[0]["id"], "it waits for its next attempt", "RETRY_PENDING")
    check(w["until"], "when", w)
    d = one_of(c, dead, status="DEAD_LETTER")[0]
    w = why(c, d["id"])
    same(w["status"], "DEAD_LETTER", "given up")
    check(w["reason"], "and why", w)
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "no"}).want(200)
    until(lambda: why(c, d["id"])["reason"] == "somebody skipped it", "it is skipped", 15)


def test_being_sent(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/slow"))
    r.answer("/slow", 200, delay=3, times=1)
    c.publish(envelope()).want(202)
    got = r.wait_for(1, "/slow")[0]
    becomes(c, got.id, "it is being sent", "PROCESSING")
    becomes(c, got.id, "it was delivered", "SUCCESS")
    same(s["enabled"], True, "as before")


def test_breaker(t):
    srv = t.server(TIME_SCALE="1")
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/b"), concurrency=1, retry={"delaysMs": [1] * 20})
    r.answer("/b", 503)
    for _ in range(8):
        c.publish(envelope()).want(202)
    r.wait_for(5, "/b")
    w = until(lambda: next((x for x in (why(c, d["id"]) for d in listed(c, subscription=s["id"]))
                            if x["reason"] == "the breaker of its endpoint is open"), None),
              "one waits for the breaker", 15)
    check(w["until"], "until when", w)


def test_rest(t):
    srv = t.server(TIME_SCALE="1")
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/r"), concurrency=1)
    r.answer("/r", 429, {"Retry-After": "300"})
    for _ in range(3):
        c.publish(envelope()).want(202)
    w = until(lambda: next((x for x in (why(c, d["id"]) for d in listed(c, subscription=s["id"]))
                            if x["reason"] == "its endpoint asked for a rest"), None),
              "one waits for the rest", 15)
    check(w["until"], "until when", w)


def test_rate(t):
    srv = t.server(TIME_SCALE="1")
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/l"), ratePerSecond=1)
    for _ in range(10):
        c.publish(envelope()).want(202)
    w = until(lambda: next((x for x in (why(c, d["id"]) for d in listed(c, subscription=s["id"]))
                            if x["reason"].startswith("its subscription's rate")), None),
              "one waits for the rate", 15)
    same(w["status"], "PENDING", "status")
    check(w["until"], "until when", w)


def test_disabled_and_gone(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    off = subscribe(c, r.url("/off"), enabled=False)
    gone = subscribe(c, r.url("/gone"), retry=NEVER)
    r.answer("/gone", 503)
    ev = envelope()
    c.publish(ev).want(202)
    d = until(lambda: listed(c, event=ev["eventId"], subscription=off["id"]), "it waits", 15)[0]
    becomes(c, d["id"], "its subscription is disabled", "PENDING")
    d = one_of(c, gone, status="RETRY_PENDING")[0]
    c.delete("/v1/subscriptions/" + gone["id"]).want(204)
    until(lambda: "gone" in c.get(f"/v1/deliveries/{d['id']}/why").want(200).json["reason"],
          "the subscription is gone", 15)


def test_exclusive_replay(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/x"), order="key", retry=NEVER)
    key = "Account:1:" + new_id()
    begin = envelope(key=key)
    c.publish(begin).want(202)
    r.wait_for(1, "/x")
    r.answer("/x", 503)
    late = envelope(key="Account:1:" + new_id())
    c.publish(late).want(202)
    d = one_of(c, s, status="RETRY_PENDING")[0]
    r.answer_as_usual("/x")
    r.answer("/x", 200, delay=4, times=1)
    c.post("/v1/replays", {"subscription": s["id"], "since": begin["occurredAt"],
                           "exclusive": True}).want(202)
    c.post(f"/v1/deliveries/{d['id']}/retry").want(202)
    becomes(c, d["id"], "an exclusive replay of its subscription goes first", "PENDING")
    becomes(c, d["id"], "it was delivered", "SUCCESS")
