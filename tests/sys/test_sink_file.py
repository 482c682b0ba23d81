"""The sink for tests: lines in a file, through crashes and failures."""
import json
import os

from hk import check, envelope, new_id, same, until

SETTINGS = {"TIME_SCALE": "100"}


def start(t):
    folder = t.path("lines" + new_id())
    os.makedirs(folder)
    return t.server(SINK_FILE_FOLDER=folder, **SETTINGS), folder


def subscribe(c, url="file:got", **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more})


def lines(folder, name="got"):
    path = os.path.join(folder, name)
    if not os.path.isfile(path):
        return []
    with open(path) as f:
        return [json.loads(x) for x in f]


def test_refused_without_its_setting(t):
    subscribe(t.srv.client()).want(422, pointer="/url")


def test_only_names(t):
    srv, _ = start(t)
    c = srv.client()
    for url in ("file:", "file:../x", "file:a/b", "file:.x", "file:///tmp/x"):
        subscribe(c, url).want(422, pointer="/url")


def test_delivers(t):
    srv, folder = start(t)
    c = srv.client()
    s = subscribe(c, filter=".payload.n > 1").want(201).json
    check(not s.get("secret"), "nothing is signed", s)
    events = [envelope(payload={"n": n}) for n in range(4)]
    for ev in events:
        c.publish(ev).want(202)
    got = until(lambda: len(lines(folder)) == 2 and lines(folder), "two lines")
    same([json.loads(x["body"]) for x in got], events[2:], "what the filter wants, as published")
    same([x["eventId"] for x in got], [e["eventId"] for e in events[2:]], "ids")
    same([x["attempt"] for x in got], [1, 1], "attempts")
    until(lambda: c.get("/v1/deliveries/" + got[0]["deliveryId"]).json["status"] == "SUCCESS", "it is delivered")


def test_survives_kill_9(t):
    srv, folder = start(t)
    subscribe(srv.client(), order="key").want(201)
    events = []
    for n in range(3):
        c = srv.client()
        for _ in range(50):
            ev = envelope(key="k")
            c.publish(ev).want(202)
            events.append(ev["eventId"])
        srv.kill9()
        srv.start()
    until(lambda: {x["eventId"] for x in lines(folder)} == set(events), "all of them")
    ids = {}
    for x in lines(folder):
        same(ids.setdefault(x["eventId"], x["deliveryId"]), x["deliveryId"], "a repeat has the same id")
    first = list(dict.fromkeys(x["eventId"] for x in lines(folder)))
    same(first, events, "first arrivals are in order")


def test_retries_when_it_cannot_be_written(t):
    srv, folder = start(t)
    c = srv.client()
    subscribe(c, retry={"delaysMs": [10000] * 20, "jitterMs": 0}).want(201)
    os.mkdir(os.path.join(folder, "got"))  # a folder can't be appended to, whoever we are
    ev = envelope()
    c.publish(ev).want(202)

    def failed():
        d = c.get("/v1/deliveries").want(200).json["data"]
        return d and d[0]["attemptCount"] >= 2

    until(failed, "two failed tries")
    os.rmdir(os.path.join(folder, "got"))
    got = until(lambda: lines(folder), "a line")
    same(len(got), 1, "once")
    same(got[0]["eventId"], ev["eventId"], "the event")
    check(got[0]["attempt"] > 2, "after failed ones", got)
    d = c.get("/v1/deliveries/" + got[0]["deliveryId"]).want(200).json
    check("got: " in d["attempts"][0]["error"], "why it failed", d)
