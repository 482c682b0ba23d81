"""Callbacks of tasks that nobody needs end."""
import time

import receiver
from hk import check, same, until
from test_tasks import SETTINGS as BASE, Owner, verify

SETTINGS = {**BASE, "TASK_CALLBACK_KEEP": "1s"}


def callbacks(t, url):
    """Those of a receiver, by their URL."""
    subs = t.srv.client().get("/v1/subscriptions", limit=1000, managedBy="task").want(200).json["data"]
    return {s["url"]: s["id"] for s in subs if s["url"].startswith(url)}


def test_they_do_not_pile_up(t):
    """50 tasks, each with a URL of its own: afterwards none is left but what is to be decided."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    tasks = {n: o.submit(callbackUrl=r.url(f"/pile/{n}")) for n in range(50)}
    same(len(callbacks(t, r.url("/pile/"))), 50, "one each")
    r.answer("/pile/49", 500)
    for n in tasks:
        o.report(tasks[n], "PROCESSING").want(200)
        if n > 0:
            o.report(tasks[n], "COMPLETED").want(200)
    until(lambda: o.stats()["pending"] == 0, "all are settled", 60)
    kept = {r.url("/pile/0"): "its task goes on", r.url("/pile/49"): "two dead letters"}
    until(lambda: set(callbacks(t, r.url("/pile/"))) == set(kept), "the others ended", 60)
    time.sleep(1.5)
    same(set(callbacks(t, r.url("/pile/"))), set(kept), "these stay")
    # What was delivered is still told, to the key and to an admin.
    h = o.history(tasks[7])
    same([(d["event"], d["status"], d["httpStatus"]) for d in h],
         [("invoice.completed", "delivered", 200), ("invoice.processing", "delivered", 200)], "history")
    j = t.srv.client().get("/v1/deliveries/" + h[0]["id"]).want(200).json
    same(len(j["attempts"]), 1, "its attempts")
    same(o.stats(), {"total": 99, "delivered": 97, "failed": 2, "pending": 0,
                     "successRate": 97.98}, "statistics")
    a = o.c.post(f"/api/v1/webhooks/{h[0]['id']}/retry").want(409)
    check("gone" in str(a.json), "sending it anew is too late, and that is said", a)
    # A dead letter can still be sent anew, and then its callback ends too.
    r.answer_as_usual("/pile/49")
    for d in o.history(tasks[49]):
        o.c.post(f"/api/v1/webhooks/{d['id']}/retry").want(200)
    until(lambda: {d["status"] for d in o.history(tasks[49])} == {"delivered"}, "delivered")
    o.report(tasks[0], "FAILED").want(200)
    until(lambda: not callbacks(t, r.url("/pile/")), "none is left", 60)
    # The same URL again is a callback again.
    o.report(o.submit(callbackUrl=r.url("/pile/7")), "COMPLETED").want(200)
    verify(r.wait_for(3, "/pile/7")[2], o.secret)


def test_one_that_is_off_stays_off(t):
    r, o, c = receiver.Receiver(t), Owner(t.srv), t.srv.client()
    o.report(o.submit(callbackUrl=r.url("/off")), "COMPLETED").want(200)
    r.wait_for(1, "/off")
    sub = callbacks(t, r.url("/off"))[r.url("/off")]
    c.post(f"/v1/subscriptions/{sub}/disable", {"reason": "it floods them"}).want(200)
    o.report(o.submit(callbackUrl=r.url("/other")), "COMPLETED").want(200)
    until(lambda: not callbacks(t, r.url("/other")), "the other ended", 60)
    same(callbacks(t, r.url("/off")), {r.url("/off"): sub}, "it is there")


def test_used_again_and_again(t):
    """While callbacks of the same URLs end, each task is told of."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    for n in range(12):
        for path in ("/again/1", "/again/2"):
            o.report(o.submit(callbackUrl=r.url(path)), "COMPLETED").want(200)
        time.sleep(0.35)
    for path in ("/again/1", "/again/2"):
        got = r.wait_for(12, path)
        same(len({g.json["taskId"] for g in got}), 12, "each of them")
