"""key.rate.limit: past it 429 with Retry-After; keys do not share it."""
import time

from hk import check, envelope, same

SETTINGS = {"KEY_RATE_LIMIT": "20"}


def test_limited(t):
    srv = t.srv
    c = srv.client(srv.new_key("publish")["key"])
    answers = [c.publish(envelope()) for _ in range(60)]
    good = [a for a in answers if a.status == 202]
    limited = [a for a in answers if a.status == 429]
    same(len(good) + len(limited), 60, "answers are 202 or 429")
    check(15 <= len(good) <= 50, "about a second's worth passes", len(good))
    for a in limited:
        a.want(429)
        check(a.headers["Retry-After"].isdigit() and int(a.headers["Retry-After"]) >= 1,
              "Retry-After in seconds", a.headers.items())
    time.sleep(int(limited[-1].headers["Retry-After"]) + 0.1)
    c.publish(envelope()).want(202)


def test_others_are_not(t):
    srv = t.srv
    c = srv.client(srv.new_key("publish")["key"])
    while c.publish(envelope()).status != 429:
        pass
    srv.client(srv.new_key("publish")["key"]).publish(envelope()).want(202)


def test_refused_is_not_taken(t):
    srv = t.server()
    c, good = srv.client(srv.new_key("publish")["key"]), []
    for _ in range(80):
        ev = envelope()
        if c.publish(ev).status == 202:
            good.append(ev["eventId"])
    srv.stop()
    srv.settings["KEY_RATE_LIMIT"] = "0"
    srv.start()
    same([e["eventId"] for e in srv.client().events()], good, "what was taken")


def test_batches_cost_their_events(t):
    """A batch in debt passes; then the key waits for what it took."""
    srv = t.srv
    c = srv.client(srv.new_key("publish")["key"])
    c.publish([envelope() for _ in range(60)]).want(200)
    a = c.publish(envelope()).want(429)
    check(int(a.headers["Retry-After"]) >= 2, "60 at 20 a second take a while",
          a.headers["Retry-After"])


def test_own_limit(t):
    """A key may have a limit of its own."""
    srv = t.srv
    c = srv.client(srv.new_key("publish", ratePerSecond=500)["key"])
    for _ in range(60):
        c.publish(envelope()).want(202)
