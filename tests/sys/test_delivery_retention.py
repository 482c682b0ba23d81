"""What goes by its age, and what becomes of deliveries whose event goes."""
import time

import hk
import receiver
from hk import check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
SHORT = {"EVENT_RETENTION_DAYS": "2s", "EVENT_DEDUPE_DAYS": "2s"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def gone(c, ev):
    c.publish(envelope()).want(202)  # the newest entry always stays
    return c.get("/v1/events/" + ev["eventId"]).status == 404


def deads(c, s):
    return c.get("/v1/dead-letters", subscription=s["id"]).want(200).json["data"]


def test_attempts_go(t):
    srv = t.server(WEBHOOK_DELIVERY_LOG_RETENTION_DAYS="2s")
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/a"))
    c.publish([envelope() for _ in range(600)]).want(200)
    r.wait_for(600, "/a")
    old = until(lambda: c.get("/v1/deliveries", subscription=s["id"], limit=1000)
                .want(200).json["data"], "they are listed")
    until(lambda: not c.get("/v1/deliveries", subscription=s["id"]).want(200).json["data"],
          "they go", 30, 0.2)
    c.get("/v1/deliveries/" + old[0]["id"]).want(404)
    w = c.get(f"/v1/deliveries/{old[0]['id']}/why").want(200).json
    check("settled" in w["reason"], "why", w)
    c.publish(envelope()).want(202)
    r.wait_for(601, "/a")
    same(len(until(lambda: c.get("/v1/deliveries", subscription=s["id"]).want(200).json["data"],
                   "the new one")), 1, "young ones stay")


def test_decided_dead_letters_go(t):
    srv = t.server(WEBHOOK_DELIVERY_LOG_RETENTION_DAYS="2s")
    c, r = srv.client(), Receiver(t)
    r.answer("/d", lambda q: 400)
    s = subscribe(c, r.url("/d"))
    c.publish([envelope(), envelope()]).want(200)
    two = until(lambda: (lambda l: l if len(l) == 2 else None)(deads(c, s)), "two dead letters")
    c.post(f"/v1/dead-letters/{two[0]['id']}/skip", {"reason": "seen"}).want(200)
    until(lambda: c.get("/v1/dead-letters/" + two[0]["id"]).status == 404, "the decided one goes",
          30, 0.2)
    same([d["id"] for d in deads(c, s)], [two[1]["id"]], "the other waits")


def test_a_row_becomes_a_dead_letter_with_its_body(t):
    srv = t.server(**SHORT)
    c, r = srv.client(), Receiver(t)
    r.answer("/r", lambda q: 503)
    # the second try comes after the log has lost the event
    s = subscribe(c, r.url("/r"), retry={"delaysMs": [600000, 600000]})
    ev = envelope()
    c.publish(ev).want(202)
    d, = until(lambda: c.get("/v1/deliveries", subscription=s["id"], status="RETRY_PENDING")
               .want(200).json["data"], "it waits")
    r.answer_as_usual("/r")
    until(lambda: gone(c, ev), "the event goes", 30, 0.2)
    dead = until(lambda: next((x for x in deads(c, s) if x["id"] == d["id"]), None),
                 "it is a dead letter", 30, 0.2)
    same(dead["deadLetter"]["reason"], "EXPIRED", "its reason")
    full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
    same(full["event"], ev, "its body was kept")
    # and it can still be sent, under its own id
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    got, = r.wait_for(1, "/r", when=lambda q: q.id == d["id"] and q.n > 0
                      and q.headers["webhook-id"] == d["id"] and q is not r.at("/r")[0])
    same(got.json, ev, "the same event")
    until(lambda: c.get("/v1/deliveries/" + d["id"]).want(200).json["status"] == "SUCCESS",
          "it is delivered")


def test_dead_letters_keep_their_body(t):
    srv = t.server(**SHORT)
    c, r = srv.client(), Receiver(t)
    r.answer("/k", 400, times=1)
    s = subscribe(c, r.url("/k"))
    ev = envelope()
    c.publish(ev).want(202)
    d, = until(lambda: deads(c, s), "a dead letter")
    until(lambda: gone(c, ev), "the event goes", 30, 0.2)
    same(c.get("/v1/dead-letters/" + d["id"]).want(200).json["event"], ev, "its body")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(202)
    got = r.wait_for(1, "/k", when=lambda q: q.id == d["id"] and q is not r.at("/k")[0])
    same(got[0].json, ev, "the same event")


def test_kept_bodies_are_shown(t):
    """Also sealed ones, and with what they are of; and they are sent."""
    srv = t.server(**SHORT, EVENT_SEAL_PAYLOAD="true")
    c, r = srv.client(), Receiver(t)
    r.answer("/k", 400, times=1)
    s = subscribe(c, r.url("/k"))
    ev = envelope(key="k")
    c.publish(ev).want(202)
    d, = until(lambda: deads(c, s), "a dead letter")
    until(lambda: gone(c, ev), "the event goes", 30, 0.2)
    full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
    same((full["event"], full["eventId"], full["eventType"], full["tenantId"], full["key"]),
         (ev, ev["eventId"], ev["eventType"], ev["tenantId"], "k"), "all of it")
    same([x["eventType"] for x in deads(c, s)], [ev["eventType"]], "in the list too")
    a = c.post("/v1/dead-letters/requeue", {"filter": {"key": "k"}}).want(200).json
    same((a["requeued"], a["gone"]), (1, 0), "by a filter")
    got = r.wait_for(1, "/k", when=lambda q: q.id == d["id"] and q is not r.at("/k")[0])
    same(got[0].json, ev, "the same event")


def test_a_reader_jumps(t):
    """One that stood still while the log went on leaves one dead letter for all it lost."""
    srv = t.server(**SHORT)
    c, r = srv.client(), Receiver(t)
    s = subscribe(c, r.url("/j"), enabled=False)
    lost = [envelope() for _ in range(50)]
    c.publish(lost).want(200)
    until(lambda: gone(c, lost[-1]), "they go", 30, 0.2)
    c("PATCH", "/v1/subscriptions/" + s["id"], {"enabled": True}).want(200)
    d = until(lambda: next((x for x in deads(c, s) if "seqTo" in x["deadLetter"]), None),
              "a dead letter for the stretch", 20)
    same(d["deadLetter"]["reason"], "EXPIRED", "its reason")
    check(d["deadLetter"]["seqTo"] - d["deadLetter"]["seqFrom"] >= 49, "all of them", d)
    check(any(l.get("msg") == "events went before they were delivered" for l in srv.log()),
          "a line in the log")
    check(any(e["eventType"] == "ops.events.expired" for e in c.events()), "an event for others")
    c.post(f"/v1/dead-letters/{d['id']}/requeue", {}).want(409)
    c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "seen"}).want(200)
    new = envelope(type="New")
    c.publish(new).want(202)
    r.wait_for(1, "/j", when=lambda q: q.json["eventId"] == new["eventId"])
    check(not {q.json["eventId"] for q in r.at("/j")} & {e["eventId"] for e in lost}, "lost")
