"""`hikyaku demo`: the story that it tells, and where it tells none."""
import re
import signal
import subprocess

import hk
from hk import check, same, until

PRIVATE = {"WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8"}


def test_story(t):
    srv = t.server(**PRIVATE)
    r = srv.cli("demo", "--seconds", "2", SERVER_LISTEN=f"127.0.0.1:{srv.port}").want(0)
    check(f"http://127.0.0.1:{srv.port}" in r.out, "where the server is", r.out)
    same(len(re.findall(r"publish .*deal-\d", r.out)), 2, "two rounds")
    same(len(re.findall(r"delivered .*/steady .*verified, answered 200", r.out)), 6, "steady")
    same(len(re.findall(r"refused .*/recovers .*verified, answered 503", r.out)), 3, "down first")
    same(len(re.findall(r"delivered .*/recovers .*tried again", r.out)), 2, "then it is back")
    check("6 events published, 8 deliveries verified" in r.out, "the sum", r.out)
    check("NOT VERIFIED" not in r.out, "all verified", r.out)

    key = re.search(r"hk_\S+", r.out)[0]
    same([e["eventType"] for e in srv.client(key).events()],
         2 * ["RecordCreated", "RecordUpdated", "StageChanged"], "the key reads them")
    subs = srv.client().get("/v1/subscriptions").want(200).json["data"]
    same(sorted((s["name"], s["enabled"]) for s in subs),
         [("demo-recovers", False), ("demo-steady", False)], "switched off in the end")

    # on a store that is in use: what the last one left goes, others are left alone
    srv.cli("demo", "--seconds", "1").want(0)
    same(len(srv.client().get("/v1/subscriptions").want(200).json["data"]), 2, "the same two")
    srv.client().post("/v1/subscriptions", {"name": "mine", "url": "http://127.0.0.1:9/x"}).want(201)
    srv.cli("demo").want(1, says="the subscription mine might get")
    srv.cli("demo", "--force", "--seconds", "1").want(0)


def test_strict(t):
    """What it publishes fits the catalog."""
    srv = t.server(EVENT_SCHEMA_MODE="strict", **PRIVATE)
    srv.cli("demo", "--seconds", "1").want(0)


def test_says_what_is_missing(t):
    srv = t.server()
    srv.cli("demo").want(1, says="WEBHOOK_URL_ALLOW_PRIVATE=127.0.0.0/8")
    same(srv.client().get("/v1/subscriptions").want(200).json["data"], [], "nothing was made")
    same([k["name"] for k in srv.admin().get("/v1/keys").want(200).json["data"] if k["name"] == "demo"],
         [], "nor a key")
    srv.stop()
    srv.cli("demo").want(1, says="no server runs")
    srv.cli("demo", data=False, HIKYAKU_DATA=t.path("none")).want(1, says="no server runs")


def test_broken_off(t):
    """Its subscriptions don't stay on."""
    srv = t.server(**PRIVATE)
    out = t.path("demo.out")
    with open(out, "wb") as f:
        p = subprocess.Popen([hk.BINARY, "demo", "--seconds", "60", "--data", srv.data], stdout=f,
                             env=hk.environment({}, srv.url))
    t.later(p.kill)

    def said(word):
        with open(out) as f:
            return word in f.read()

    until(lambda: said("delivered"), "it goes on")
    p.send_signal(signal.SIGINT)
    same(p.wait(10), 0, "it ends well")
    check(said("switched off"), "it cleans up")
    subs = srv.client().get("/v1/subscriptions").want(200).json["data"]
    same([s["enabled"] for s in subs], [False, False], "both are off")
