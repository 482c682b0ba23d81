"""What builds on a change is asked for right behind it, on new servers.

A change is answered when it is committed; the engine reads it from the log a
moment later. Whoever asks in between is served as if there were no between:
never 503, never "gone", and never an answer after which nothing happens.
"""
import threading
import time

import receiver
from hk import TENANT, Client, check, envelope, new_id, now, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
ROUNDS = 6


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def ended(c, p):
    return until(lambda: (lambda x: x if x["state"] != "running" else None)(
        c.get("/v1/replays/" + p["id"]).want(200).json), "the replay ends")


def replay_first(c, r):
    """Of the first subscription that a server has."""
    begin = now()
    c.publish([envelope(type="Early") for _ in range(5)]).want(200)
    s = subscribe(c, r.url("/replay"))
    p = c.post("/v1/replays", {"subscription": s["id"], "since": begin,
                               "types": ["Early"]}).want(202).json
    r.wait_for(5, "/replay")
    last = ended(c, p)
    same((last["state"], last["done"]), ("done", last["total"]), "the replay")


def test_first_replay(t):
    r = Receiver(t)
    for _ in range(ROUNDS):
        srv = t.server()
        replay_first(srv.client(), r)
        srv.stop()
        r.clear()


def test_first_calls(t):
    """The first call of a server's life is one of its engine."""
    r = Receiver(t)
    srv, begin = t.server(), now()
    s = subscribe(srv.client(), r.url("/test"))
    srv.client().publish(envelope()).want(202)
    r.wait_for(1, "/test")
    srv.client()("PUT", "/v1/consumers/first", {}).want(201)
    calls = (
        lambda c: c.post(f"/v1/subscriptions/{s['id']}/test"),
        lambda c: c.get("/v1/consumers/first/events"),
        lambda c: c.post(f"/v1/subscriptions/{s['id']}/enable", {"from": "now"}),
        lambda c: c.post("/v1/replays", {"subscription": s["id"], "since": begin, "exclusive": True}))
    for _ in range(ROUNDS // 2):
        for call in calls:
            srv.restart()
            got = call(srv.client())
            check(got.status in (200, 202), "served", got)


def test_subscribe_then(t):
    """… test, change, test, disable, enable from now, delete."""
    r = Receiver(t)
    for _ in range(ROUNDS // 2):
        srv = t.server()
        c = srv.client()
        for i in range(ROUNDS):
            s = subscribe(c, r.url(f"/a{i}"))
            path = "/v1/subscriptions/" + s["id"]
            same(c.post(path + "/test").want(200).json["success"], True, "a test")
            c("PATCH", path, {"url": r.url(f"/b{i}")}).want(200)
            same(c.post(path + "/test").want(200).json["success"], True, "a test")
            same((r.count(f"/a{i}"), r.count(f"/b{i}")), (1, 1), "where the change says")
            c.post(path + "/disable").want(200)
            c.publish(envelope()).want(202)
            c.post(path + "/enable", {"from": "now"}).want(200)
            c.delete(path).want(204)
        r.quiet(0.2)
        same(sum(r.count(f"/b{i}") for i in range(ROUNDS)), ROUNDS, "tests alone")
        srv.stop()
        r.clear()


def test_publish_then_retry(t):
    """Dead, mended, put back: each right behind the other."""
    r = Receiver(t)
    for i in range(ROUNDS // 2):
        c = t.server().client()
        r.answer(f"/dead{i}", 500)
        s = subscribe(c, r.url(f"/dead{i}"), retry={"count": 0})
        path = "/v1/subscriptions/" + s["id"]
        c.publish([envelope() for _ in range(3)]).want(200)
        dead = until(lambda: (lambda d: d if len(d) == 3 else None)(
            c.get("/v1/dead-letters").want(200).json["data"]), "three dead letters")
        c.post(path + "/disable").want(200)
        c("PATCH", path, {"url": r.url(f"/well{i}")}).want(200)
        c.post(path + "/enable").want(200)
        c.post(f"/v1/dead-letters/{dead[0]['id']}/requeue").want(202)
        c.post(f"/v1/deliveries/{dead[1]['id']}/retry").want(202)
        c.post(f"/v1/dead-letters/{dead[2]['id']}/skip", {"reason": "no"}).want(200)
        r.wait_for(2, f"/well{i}")
        done = c.post(f"/v1/deliveries/{dead[0]['id']}/retry?newId=true").want(202).json
        r.wait_for(3, f"/well{i}")
        same(ended(c, {"id": done["replay"]})["state"], "done", "the new one's replay")
        same(r.count(f"/dead{i}"), 3, "at the old address")


def test_replay_then_stop(t):
    c, r = t.server().client(), Receiver(t)
    s = subscribe(c, r.url("/stop"))
    begin = now()
    c.publish([envelope() for _ in range(40)]).want(200)
    r.wait_for(40, "/stop")
    for _ in range(ROUNDS):
        p = c.post("/v1/replays", {"subscription": s["id"], "since": begin,
                                   "ratePerSecond": 1}).want(202).json
        c.delete("/v1/replays/" + p["id"]).want(204)
    time.sleep(0.5)  # what was on its way
    r.quiet(1.5, "/stop")
    check(r.count("/stop") <= 40 + ROUNDS, "they stopped", r.count("/stop"))
    # Six at once: none is in the way of a seventh.
    p = c.post("/v1/replays", {"subscription": s["id"], "since": begin}).want(202).json
    same(ended(c, p)["state"], "done", "the next")


def test_consumer_then_fetch(t):
    for _ in range(ROUNDS // 2):
        c = t.server().client()
        for i in range(ROUNDS):
            c("PUT", f"/v1/consumers/w{i}", {}).want(201)
            same(c.get(f"/v1/consumers/w{i}/events").want(200).json["data"], [], "nothing yet")
            ev = envelope()
            c.publish(ev).want(202)
            got = c.get(f"/v1/consumers/w{i}/events", wait=20).want(200).json["data"]
            same([g["eventId"] for g in got], [ev["eventId"]], "what was published")
            said = c.post(f"/v1/consumers/w{i}/ack", {"cursors": [got[0]["cursor"]]}).want(200).json
            same(said["results"][0]["status"], "acked", "its end")
            c.delete(f"/v1/consumers/w{i}").want(204)
            c.get(f"/v1/consumers/w{i}/events").want(404)


def test_names_then_use(t):
    """A key, a preset, a source: made and used."""
    r = Receiver(t)
    for i in range(ROUNDS // 2):
        srv = t.server()
        c = srv.admin()
        for k in range(ROUNDS):
            key = c.post("/v1/keys", {"name": f"k{k}", "scopes": ["publish", "manage"]}).want(201).json
            mine = Client(srv, "Bearer " + key["key"])
            preset, source = f"p{k}", f"s{k}"
            mine("PUT", "/v1/presets/" + preset, {"description": "mine", "headers": [{"name": "X-Round", "value": str(k)}],
                  "verdicts": [{"status": "200-299", "verdict": "success"}]}).want(201)
            s = subscribe(mine, r.url(f"/p{i}-{k}"), preset=preset)
            same(mine.post(f"/v1/subscriptions/{s['id']}/test").want(200).json["success"], True, "a test")
            same(r.wait_for(1, f"/p{i}-{k}")[0].headers["X-Round"], str(k), "by the preset")
            mine("PUT", "/v1/sources/" + source, {"scheme": "bearer", "secret": "token-12345",
                                                  "defaults": {"tenantId": TENANT, "eventType": "x.y"}}).want(201)
            Client(srv, "Bearer token-12345").post("/in/" + source, {"hello": new_id()}).want(202)
            r.wait_for(2, f"/p{i}-{k}")
            c.delete(f"/v1/subscriptions/{s['id']}").want(204)
            mine.close()
            c.delete("/v1/keys/" + key["id"]).want(204)
            Client(srv, "Bearer " + key["key"]).get("/v1/events").want(401)


def test_while_much_is_published(t):
    """The engine is behind: what is asked for still happens."""
    srv, r = t.server(), Receiver(t)
    stop = threading.Event()

    def load():
        c = Client(srv, "Bearer " + srv.key())
        while not stop.is_set():
            c.publish_ndjson([envelope(type="load.x", payload={}) for _ in range(500)]).want(200)
        c.close()
    work = threading.Thread(target=load)
    c = srv.client()
    subscribe(c, r.url("/load"), types=["load.*"], filter=".eventType == \"load.y\"")
    work.start()
    try:
        for i in range(ROUNDS):
            s = subscribe(c, r.url(f"/q{i}"), types=["Asked"])
            begin = now()
            ev = envelope(type="Asked")
            c.publish(ev).want(202)
            r.wait_for(1, f"/q{i}", 60)
            p = c.post("/v1/replays", {"subscription": s["id"], "since": begin}).want(202).json
            same([g.json["eventId"] for g in r.wait_for(2, f"/q{i}", 60)], [ev["eventId"]] * 2, "again")
            until(lambda: c.get("/v1/replays/" + p["id"]).want(200).json["state"] == "done", "its end", 60)
    finally:
        stop.set()
        work.join()
