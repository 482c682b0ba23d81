"""hikyaku dead and hikyaku replay."""
import json

import receiver
from hk import check, envelope, new_id, now, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def lines(out):
    return [json.loads(l) for l in out.splitlines()]


def test_dead(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    r.answer("/d", lambda q: 400)
    s = subscribe(c, r.url("/d"))
    c.publish([envelope() for _ in range(5)]).want(200)

    def all_():
        got = lines(srv.cli("dead", "list", "--json").want(0).out)
        return got if len(got) == 5 else None
    deads = until(all_, "five dead letters")
    table = srv.cli("dead", "list", "--subscription", s["id"], "--reason", "HTTP_STATUS").want(0).out
    check(all(d["id"] in table for d in deads), "as a table", table)
    same(srv.cli("dead", "list", "--json", "--reason", "EXPIRED").want(0).out, "", "of another reason")
    srv.cli("dead", "list", "--reason", "odd").want(1, "reason")
    srv.cli("dead", "skip", deads[0]["id"], "--note", "why not").want(0, "is skipped")
    srv.cli("dead", "skip", deads[0]["id"]).want(1, "skipped already")
    srv.cli("dead", "skip", "x").want(1, "no dead letter's id")
    srv.cli("dead", "skip", deads[1]["id"]).want(1, "why")
    srv.cli("dead", "skip", "--all").want(1, "why")
    srv.cli("dead", "skip").want(2, "either ids")
    srv.cli("dead", "skip", deads[1]["id"], "--all").want(2, "either ids")
    srv.cli("dead", "skip", "--all", "--dry-run").want(0, "4 would be skipped")
    same(srv.cli("dead", "list", "--json", "--type", "no.*").want(0).out, "", "of another type")
    same(len(lines(srv.cli("dead", "list", "--json", "--type", deads[0]["eventType"],
                           "--tenant", deads[0]["tenantId"], "--error", "400").want(0).out)), 4, "by all")
    same([d["id"] for d in lines(srv.cli("dead", "list", "--json", "--state", "skipped").want(0).out)],
         [deads[0]["id"]], "by state")
    srv.cli("dead", "requeue").want(2)
    srv.cli("dead", "requeue", "--all", "--dry-run").want(0, "4 would be requeued")
    r.answer_as_usual("/d")
    srv.cli("dead", "requeue", deads[1]["id"]).want(0, "is requeued")
    srv.cli("dead", "requeue", "--subscription", s["id"]).want(0, "3 requeued")
    r.wait_for(9, "/d")
    same(srv.cli("dead", "list", "--json").want(0).out, "", "none is left")


def test_replay(t):
    srv = t.server()
    c, r = srv.client(), Receiver(t)
    begin = now()
    s = subscribe(c, r.url("/r"))
    c.publish([envelope(type="A") for _ in range(5)] + [envelope(type="B")]).want(200)
    r.wait_for(6, "/r")
    srv.cli("replay", "--subscription", s["id"], "--since", begin, "--types", "A").want(0, "done")
    same(r.count("/r"), 11, "those of type A once more")
    srv.cli("replay", "--subscription", s["id"]).want(2)
    srv.cli("replay", "--subscription", new_id(), "--since", begin).want(1, "no such subscription")
    srv.cli("replay", "--subscription", s["id"], "--since", "x").want(1, "since")
    srv.cli("replay", "--subscription", s["id"], "--since", begin, "--rate", "1", "--detach").want(
        0, "running")


def test_without_a_server(t):
    srv = t.server()
    srv.stop()
    for args in (("dead", "list"), ("dead", "skip", new_id()), ("dead", "requeue", "--all"),
                 ("replay", "--subscription", new_id(), "--since", now())):
        srv.cli(*args).want(1, "no server runs")
