"""Dead letters (E17 to E19): how they come, are listed, requeued, skipped, edited."""
import receiver
from hk import TENANT, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def deads(c, **query):
    return c.get("/v1/dead-letters", **query).want(200).json["data"]


def some(c, n, **query):
    return until(lambda: (lambda l: l if len(l) == n else None)(deads(c, limit=1000, **query)),
                 f"{n} dead letters", 20)


def one(c, id):
    return c.get("/v1/deliveries/" + id).want(200).json


def audited(c, category):
    return c.get("/v1/audit", category=category, limit=1000).want(200).json["data"]


def test_after_the_schedule(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/a", lambda q: 503)
    s = subscribe(c, r.url("/a"), retry={"delaysMs": [1000, 2000, 3000]})
    ev = envelope()
    c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    same((d["status"], d["deadLetter"]["reason"], d["deadLetter"]["state"], d["attemptCount"]),
         ("DEAD_LETTER", "EXHAUSTED", "open", 4), "the dead letter")
    same({q.id for q in r.at("/a")}, {d["id"]}, "one id for all tries, and for the dead letter")
    full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
    same(len(full["attempts"]), 4, "all attempts")
    same(full["event"]["eventId"], ev["eventId"], "its event")
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same((w["status"], w["reason"]), ("DEAD_LETTER", "all tries are used up"), "why")
    same(deads(c, subscription=s["id"], reason="HTTP_STATUS"), [], "by another reason")
    same(len(deads(c, subscription=s["id"], reason="EXHAUSTED")), 1, "by its reason")


def test_permanent_at_once_and_requeue(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/p", lambda q: 400)
    s = subscribe(c, r.url("/p"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    same((d["deadLetter"]["reason"], d["attemptCount"]), ("HTTP_STATUS", 1), "4xx is final")
    r.answer_as_usual("/p")
    got = c.post(f"/v1/dead-letters/{d['id']}/requeue", {"reason": "fixed"}).want(202).json
    same(got["id"], d["id"], "it keeps its id")
    same(r.wait_for(2, "/p")[1].id, d["id"], "also on the wire")
    until(lambda: one(c, d["id"])["status"] == "SUCCESS", "it succeeds")
    same(deads(c, subscription=s["id"]), [], "no dead letter is left")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(409, says="requeued")
    row = next(x for x in audited(c, "DEAD_REQUEUED")
               if x["webhook"]["deliveryId"] == d["id"])
    check(row["actor"]["name"], "who", row)
    check("fixed" in str(row), "why", row)


def test_failing_again_is_the_same(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/g", lambda q: 400)
    s = subscribe(c, r.url("/g"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    r.wait_for(2, "/g")
    again = until(lambda: next((x for x in deads(c, subscription=s["id"])
                                if x["attemptCount"] == 2), None), "it is dead again")
    same((again["id"], again["deadLetter"]["requeues"]), (d["id"], 1), "the same one")


def test_skip(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/s", lambda q: 400)
    s = subscribe(c, r.url("/s"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "not needed"}).want(200)
    same(deads(c, subscription=s["id"]), [], "it no longer waits")
    got = one(c, d["id"])["deadLetter"]
    same((got["state"], got["note"]), ("skipped", "not needed"), "what was decided")
    check(got["decidedBy"], "by whom", got)
    c.post(f"/v1/dead-letters/{d['id']}/skip", {}).want(409, says="skipped")
    check(any(x["webhook"]["deliveryId"] == d["id"] for x in audited(c, "DEAD_SKIPPED")),
          "audited")
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"raeson": 1}).want(422)
    c.post(f"/v1/dead-letters/{new_id()}/skip", {}).want(404)


def blocked(t, path):
    """Three of one key, the first dead, with onDead block."""
    c, r = t.srv.client(), Receiver(t)
    key, first = "Account:1:" + new_id(), envelope()
    r.answer(path, lambda q: 400 if q.json["eventId"] == first["eventId"] else None)
    s = subscribe(c, r.url(path), order="key", onDead="block")
    first["sequence"]["partitionKey"] = key
    rest = [envelope(key=key) for _ in range(2)]
    for ev in [first] + rest:
        c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    r.quiet(0.3, path)
    same(r.count(path), 1, "what is behind it waits")
    w = c.get(f"/v1/deliveries/{d['id']}/why").want(200).json
    same(w["status"], "DEAD_LETTER", "why")
    check("holds" in w["reason"], "why", w)
    return c, r, d, [first] + rest


def test_block_and_skip(t):
    c, r, d, events = blocked(t, "/b1")
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "x"}).want(200)
    got = r.wait_for(3, "/b1")
    same([q.json["eventId"] for q in got[1:]], [e["eventId"] for e in events[1:]], "in order")


def test_block_and_requeue(t):
    c, r, d, events = blocked(t, "/b2")
    r.answer_as_usual("/b2")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    got = r.wait_for(4, "/b2")
    same([q.json["eventId"] for q in got[1:]], [e["eventId"] for e in events], "in order")


def test_edit(t):
    """Edited and requeued as a new event that names its cause, for this subscription alone."""
    c, r = t.srv.client(), Receiver(t)
    r.answer("/e", lambda q: 400 if q.json["payload"]["v"] == 1 else None)
    s = subscribe(c, r.url("/e"))
    subscribe(c, r.url("/other"))
    ev = envelope(type="Odd", payload={"v": 1})
    c.publish(ev).want(202)
    d, = some(c, 1, subscription=s["id"])
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": 3}).want(422, pointer="/payload")
    a = c.post(f"/v1/dead-letters/{d['id']}/requeue",
               {"payload": {"v": 2}, "reason": "typo"}).want(202).json
    same(a["requeueOf"], d["id"], "of which")
    got = r.wait_for(2, "/e")[1]
    same((got.id, got.json["eventId"]), (a["id"], a["eventId"]), "the new one")
    same((got.json["payload"], got.json["causationId"], got.json["correlationId"]),
         ({"v": 2}, ev["eventId"], ev["correlationId"]), "edited, with its cause")
    same(deads(c, subscription=s["id"]), [], "the old one is decided")
    r.quiet(0.2, "/other")
    same(r.count("/other"), 1, "nobody else gets it")


def test_edit_frees_a_blocked_key(t):
    c, r, d, events = blocked(t, "/b3")
    a = c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": {"v": 2}}).want(202).json
    got = r.wait_for(4, "/b3")
    same([q.json["eventId"] for q in got[1:]],
         [e["eventId"] for e in events[1:]] + [a["eventId"]], "the key goes on")


def test_pages(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/m", lambda q: 400)
    s = subscribe(c, r.url("/m"), concurrency=4)
    events = [envelope(type="A" if i % 2 else "B") for i in range(20)]
    c.publish(events).want(200)
    all_ = [d["id"] for d in some(c, 20)]
    for query in ({}, {"subscription": s["id"]}):
        got, after = [], {}
        while True:
            page = c.get("/v1/dead-letters", limit=3, **query, **after).want(200).json
            got += [d["id"] for d in page["data"]]
            if page["next"] is None:
                break
            after = {"after": page["next"]}
        same(got, all_, "all, once, in order")
    # by filter, dry first
    body = {"filter": {"type": "A", "subscription": s["id"]}, "dryRun": True}
    a = c.post("/v1/dead-letters/requeue", body).want(200).json
    same((a["dryRun"], a["matched"], a["requeued"], a["more"]), (True, 10, 10, False), "dry run")
    same(len(deads(c, limit=1000)), 20, "nothing has changed")
    r.answer_as_usual("/m")
    a = c.post("/v1/dead-letters/requeue", {**body, "dryRun": False}).want(200).json
    same((a["requeued"], a["failed"]), (10, 0), "put back")
    r.wait_for(30, "/m")
    some(c, 10)
    for f, at in (({"odd": 1}, None), ({"reason": "x"}, "/filter/reason"),
                  ({"from": "x"}, "/filter/from"), ({"subscription": 1}, "/filter/subscription")):
        c.post("/v1/dead-letters/requeue", {"filter": f}).want(422, pointer=at)
    c.post("/v1/dead-letters/requeue", {}).want(422, pointer="/filter")


def test_by_filter_three_times(t):
    c, r = t.srv.client(), Receiver(t)
    r.answer("/3", lambda q: 400)
    s = subscribe(c, r.url("/3"))
    c.publish(envelope()).want(202)
    d, = some(c, 1, subscription=s["id"])
    body = {"filter": {"subscription": s["id"]}}
    for i in range(3):
        a = c.post("/v1/dead-letters/requeue", body).want(200).json
        same(a["requeued"], 1, f"round {i}")
        until(lambda: (lambda l: l and l[0]["attemptCount"] == i + 2)(
            deads(c, subscription=s["id"])), "it is dead again")
    a = c.post("/v1/dead-letters/requeue", body).want(200).json
    same((a["requeued"], a["requeuedTooOften"]), (0, 1), "enough")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)  # by hand it goes


def test_tenants(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/t", lambda q: 400)
    mine = srv.client(srv.new_key("read", "manage", tenants=[TENANT])["key"])
    s1 = subscribe(c, r.url("/t"), tenants=[TENANT])
    s2 = subscribe(c, r.url("/t"))
    c.publish(envelope()).want(202)
    all_ = some(c, 2)
    same([d["subscriptionId"] for d in deads(mine)], [s1["id"]], "its own")
    other = next(d for d in all_ if d["subscriptionId"] == s2["id"])
    mine.get("/v1/dead-letters/" + other["id"]).want(404)
    mine.post(f"/v1/dead-letters/{other['id']}/skip", {}).want(404)
    a = mine.post("/v1/dead-letters/requeue", {"filter": {}, "dryRun": True}).want(200).json
    same(a["matched"], 1, "its own")


def test_survives_kill(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/k", lambda q: 400)
    s = subscribe(c, r.url("/k"))
    c.publish(envelope()).want(202)
    d, = some(c, 1)
    srv.kill9()
    srv.start()
    c = srv.client()
    r.answer_as_usual("/k")
    same([x["id"] for x in deads(c)], [d["id"]], "it is still there")
    until(lambda: c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).status == 202,
          "this node delivers again", 30)
    same(r.wait_for(2, "/k")[1].id, d["id"], "and goes")
