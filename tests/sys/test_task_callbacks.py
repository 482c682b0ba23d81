"""Callbacks of tasks that nobody needs end; the key's secret can be given and replaced."""
import time

import receiver
from hk import check, same, until
from test_task_configs import make
from test_tasks import SETTINGS as BASE, Owner, _signed, verify

SETTINGS = {**BASE, "TASK_CALLBACK_KEEP": "1s"}
GIVEN = "a secret that the receiver chose"


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


def test_secret_is_given(t):
    """With the key; shown in that answer and in no other; sealed."""
    r, admin = receiver.Receiver(t), t.srv.admin()
    o = Owner(t.srv)
    o.made = t.srv.new_key("submit", "query", webhookSecret=GIVEN)
    same(o.made["webhookSecret"], GIVEN, "as it was given")
    o.c = t.srv.client(o.made["key"])
    o.report(o.submit(callbackUrl=r.url("/given")), "PROCESSING").want(200)
    verify(r.wait_for(1, "/given")[0], GIVEN)
    for path in ("/v1/keys?limit=1000", "/v1/keys/" + o.made["id"], "/v1/audit?limit=1000"):
        check(GIVEN.encode() not in admin.get(path).want(200).body, f"not in {path}")
    for bad in ("", "x" * 129, "a\nb", "whsec_AA", 7, "whpk_" + "A" * 43 + "="):
        a = admin.post("/v1/keys", {"name": "k", "scopes": ["submit"], "webhookSecret": bad}).want(422)
        check("webhookSecret" in str(a.json), "it names the member", bad, a)


def test_secret_is_replaced(t):
    """At once, for callbacks and configurations that sign with it, and no others."""
    r, o, admin = receiver.Receiver(t), Owner(t.srv), t.srv.admin()
    other = Owner(t.srv)
    path = f"/v1/keys/{o.made['id']}/rotate-webhook-secret"
    make(o, r.url("/conf"))
    make(o, r.url("/own"), secret="of its own, not the key's")
    task, plain = o.submit(callbackUrl=r.url("/cb")), o.submit()
    theirs = other.submit(callbackUrl=r.url("/theirs"))
    o.report(task, "PROCESSING").want(200)
    verify(r.wait_for(1, "/cb")[0], o.secret)
    made = admin.post(path).want(200).json
    same(made["id"], o.made["id"], "the key")
    fresh = made["webhookSecret"]
    check(fresh.startswith("whsec_") and fresh != o.secret, "another", made)
    o.report(task, "REVIEW_REQUIRED").want(200)
    o.report(plain, "PROCESSING").want(200)
    other.report(theirs, "PROCESSING").want(200)
    verify(r.wait_for(2, "/cb")[1], fresh)
    verify(r.wait_for(1, "/conf")[0], fresh)
    check(_signed(r.wait_for(1, "/own")[0], "of its own, not the key's"), "its own")
    verify(r.wait_for(1, "/theirs")[0], other.secret)
    same(admin.post(path, {"webhookSecret": GIVEN}).want(200).json["webhookSecret"], GIVEN, "given")
    t.srv.restart()
    o.c, admin = t.srv.client(o.made["key"]), t.srv.admin()
    o.report(task, "COMPLETED").want(200)
    verify(r.wait_for(3, "/cb")[2], GIVEN)
    o.report(o.submit(callbackUrl=r.url("/new")), "COMPLETED").want(200)
    verify(r.wait_for(1, "/new")[0], GIVEN)
    shown = b"".join(admin.get(p).want(200).body for p in (
        "/v1/keys?limit=1000", "/v1/keys/" + o.made["id"], "/v1/audit?limit=1000"))
    check(GIVEN.encode() not in shown and fresh.encode() not in shown, "shown once")
    check(b"SECRET_ROTATED" in shown, "audited")


def test_who_may_replace_it(t):
    o, admin = Owner(t.srv), t.srv.admin()
    path = f"/v1/keys/{o.made['id']}/rotate-webhook-secret"
    o.c.post(path).want(403)
    a = t.srv.client(t.srv.new_key("manage", "read")["key"]).post(path).want(403)
    check("scopes" in str(a.json), "not one with scopes that he has not got", a)
    admin.post("/v1/keys/11111111-1111-4111-8111-111111111111/rotate-webhook-secret").want(404)
    for bad in ({"webhookSecret": "a\nb"}, {"webhookSecret": 7}, {"secret": "x"}):
        admin.post(path, bad).want(422)


def test_command_line(t):
    """key create tells the secret, once, beside the key; and takes one."""
    srv = t.server(TASK_CALLBACK_KEEP="1s")
    for stopped in (False, True):
        if stopped:
            srv.stop()
        a = srv.cli("key", "create", "made", "--scopes", "submit,query").want(0)
        check("signed with whsec_" in a.err and "whsec_" not in a.out, "told beside the key", a)
        a = srv.cli("key", "create", "given", "--scopes", "submit", "--webhook-secret", GIVEN).want(0)
        check(f"signed with {GIVEN}," in a.err, "the one that was given", a)
        check(GIVEN not in srv.cli("key", "list", "--json").want(0).out, "not listed")
