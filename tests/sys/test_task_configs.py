"""Webhook configurations of a key, for tasks that name no callback URL (seed 004, 3.2)."""
import time

import receiver
from hk import check, new_id, same, until
from test_tasks import SETTINGS as BASE, Owner, _signed, verify

SETTINGS = BASE
PATH = "/api/v1/webhook-configurations"
EVENTS = ["invoice.processing", "invoice.completed", "invoice.failed", "invoice.review_required"]


def make(o, url, events=EVENTS, **more):
    return o.c.post(PATH, {"url": url, "events": events, **more}).want(201).json["data"]


def test_defaults_and_secret(t):
    r, o = receiver.Receiver(t), Owner(t.srv)
    c = make(o, r.url("/d"))
    same({k: c[k] for k in ("isActive", "timeout", "retryEnabled", "maxRetries", "description",
                            "headers", "events")},
         {"isActive": True, "timeout": 30000, "retryEnabled": True, "maxRetries": 3,
          "description": None, "headers": {}, "events": EVENTS}, "defaults of the seed")
    same(c["secret"], "********", "the key's secret by default, which was shown with the key")
    seen = o.c.get(f"{PATH}/{c['id']}").want(200).json["data"]
    same(seen, {**c, "secret": "********"}, "later masked")
    same(o.c.get(PATH).want(200).json["data"], [seen], "list")
    o.report(o.submit(), "PROCESSING").want(200)
    verify(r.wait_for(1, "/d")[0], o.secret)


def test_events_headers_and_several(t):
    """Each that wants the event gets it; a task with a callback URL uses none."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    make(o, r.url("/all"), secret="a secret of 32 characters or more", description="所有",
         headers={"X-Env": "prod", "Authorization": "Bearer hush"})
    make(o, r.url("/failed"), ["invoice.failed"])
    off = make(o, r.url("/off"), isActive=False)
    task = o.submit()
    o.report(task, "PROCESSING").want(200)
    o.report(task, "FAILED").want(200)
    got = r.wait_for(2, "/all")
    check(all(_signed(g, "a secret of 32 characters or more") for g in got), "its own secret")
    same({(g.headers["X-Env"], g.headers["Authorization"]) for g in got}, {("prod", "Bearer hush")},
         "its headers")
    same([g.json["event"] for g in r.wait_for(1, "/failed")], ["invoice.failed"], "what it wants")
    h = until(lambda: [d for d in [o.history(task)] if all(x["status"] == "delivered" for x in d)],
              "all delivered")[0]
    same(sorted(x["event"] for x in h), ["invoice.failed", "invoice.failed", "invoice.processing"],
         "a delivery each")
    same(o.stats()["total"], 3, "counted each")
    o.report(o.submit(callbackUrl=r.url("/cb")), "PROCESSING").want(200)
    r.wait_for(1, "/cb")
    time.sleep(0.3)
    same((len(r.at("/all")), len(r.at("/off"))), (2, 0), "neither")
    o.c("PATCH", f"{PATH}/{off['id']}", {"isActive": True}).want(200)
    o.report(o.submit(), "COMPLETED").want(200)
    r.wait_for(1, "/off")
    shown = o.c.get(PATH).want(200).body.decode()
    check("hush" not in shown and "a secret of 32" not in shown and "所有" in shown, "masked", shown)


def test_change_and_remove(t):
    r, o = receiver.Receiver(t), Owner(t.srv)
    c = make(o, r.url("/one"), maxRetries=1, timeout=5000, description="d")
    r.answer("/one", 500)
    first = o.submit()
    o.report(first, "PROCESSING").want(200)
    until(lambda: o.history(first)[0]["status"] == "failed", "failed after one retry")
    same(len(r.at("/one")), 2, "1 retry")
    j = o.c("PATCH", f"{PATH}/{c['id']}", {"retryEnabled": False, "headers": {"X-A": "1"},
                                           "description": None}).want(200).json["data"]
    same((j["retryEnabled"], j["maxRetries"], j["timeout"], j["headers"], j["description"],
          j["url"], j["secret"]), (False, 1, 5000, {"X-A": "1"}, None, r.url("/one"), "********"),
         "only what was named")
    second = o.submit()
    o.report(second, "PROCESSING").want(200)
    until(lambda: o.history(second)[0]["status"] == "failed", "failed without retry")
    same(len(r.at("/one")), 3, "no retry")
    check(_signed(r.at("/one")[-1], o.secret), "the secret stays")
    o.c("PATCH", f"{PATH}/{c['id']}", {"url": r.url("/two"), "secret": "new"}).want(200)
    o.report(o.submit(), "PROCESSING").want(200)
    check(_signed(r.wait_for(1, "/two")[0], "new"), "a new secret, a new URL")
    r.answer("/two", 500)
    o.c("PATCH", f"{PATH}/{c['id']}", {"retryEnabled": True, "maxRetries": 10}).want(200)
    open_ = o.submit()
    o.report(open_, "PROCESSING").want(200)
    r.wait_for(2, "/two")
    o.c.delete(f"{PATH}/{c['id']}").want(204)
    same(o.stats()["pending"], 0, "what was under way is given up")
    same(o.history(open_)[0]["status"], "failed", "and says so")
    o.c.delete(f"{PATH}/{c['id']}").want(404)
    same(o.c.get(PATH).want(200).json["data"], [], "gone")
    bare = o.submit()
    o.report(bare, "PROCESSING").want(200)
    same(o.history(bare), [], "nobody is told")
    same(len(o.history(second)), 1, "what was is remembered")
    make(o, r.url("/two"))  # the URL is free again


def test_unique_by_key_and_url(t):
    r, a, b = receiver.Receiver(t), Owner(t.srv), Owner(t.srv)
    one = make(a, r.url("/u"))
    a.c.post(PATH, {"url": r.url("/u"), "events": EVENTS}).want(409, pointer="/url")
    other = make(b, r.url("/u"))
    two = make(a, r.url("/v"))
    a.c("PATCH", f"{PATH}/{two['id']}", {"url": r.url("/u")}).want(409, pointer="/url")
    for method in ("GET", "DELETE"):
        a.c(method, f"{PATH}/{other['id']}").want(404)
    a.c("PATCH", f"{PATH}/{other['id']}", {"isActive": False}).want(404)
    a.c.get(f"{PATH}/{new_id()}").want(404)
    same(len(a.c.get(PATH).want(200).json["data"]), 2, "its own")
    check(one["id"] != other["id"], "ids")


def test_bad_input(t):
    o = Owner(t.srv)
    good = {"url": "https://example.com/h", "events": ["invoice.failed"]}
    for more, at in (({"events": []}, "/events"), ({"events": ["invoice.x"]}, "/events/0"),
                     ({"events": None}, "/events"), ({"url": None}, "/url"),
                     ({"url": "https://127.0.0.1.nip.io:x/"}, "/url"),
                     ({"url": "https://10.1.2.3/"}, "/url"), ({"timeout": 0}, "/timeout"),
                     ({"timeout": "1"}, "/timeout"), ({"maxRetries": -1}, "/maxRetries"),
                     ({"maxRetries": 65}, "/maxRetries"), ({"secret": ""}, "/secret"),
                     ({"secret": "x" * 129}, "/secret"), ({"isActive": 1}, "/isActive"),
                     ({"description": "x" * 501}, "/description"),
                     ({"headers": {"X-Signature": "1"}}, "/headers/X-Signature"),
                     ({"retries": 1}, "/retries")):
        o.c.post(PATH, {**good, **more}).want(422, pointer=at)
    o.c.post(PATH, b"[]").want(422)
    same(o.c.get(PATH).want(200).json["data"], [], "none was made")


def test_another_server_asks_for_secret_headers_again(t):
    """The key's holder may not know what its configuration sends."""
    r, evil, o = receiver.Receiver(t), receiver.Receiver(t), Owner(t.srv)
    c = make(o, r.url("/h"), headers={"X-Env": "prod", "Authorization": "Bearer hush"})
    path = f"{PATH}/{c['id']}"
    o.c("PATCH", path, {"url": evil.url("/h")}).want(422, pointer="/headers/Authorization",
                                                     says="again")
    o.c("PATCH", path, {"url": evil.url("/h"), "headers": {"Authorization": "********"}}).want(422)
    o.c("PATCH", path, {"url": r.url("/other")}).want(200)
    o.c("PATCH", path, {"url": evil.url("/h"), "headers": {"Authorization": "Bearer mine"}}).want(200)
    o.report(o.submit(), "PROCESSING").want(200)
    same(evil.wait_for(1, "/h")[0].headers["Authorization"], "Bearer mine", "what it was given")
