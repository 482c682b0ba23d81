"""Alerts and dead letters are told as events, once, and never feed themselves."""
import os
import shutil
import subprocess
import time

import receiver
from hk import ROOT, Skip, check, envelope, same, until
from test_tasks import Owner

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}


def alerts(r, path="/ops", type="ops.alert"):
    return [g.json["payload"] for g in r.at(path) if g.json["eventType"] == type]


def test_fires_is_delivered_and_resolves(t):
    """Three failures in a row: 10.4 of seed 004."""
    srv, r = t.server(**SETTINGS), receiver.Receiver(t)
    c, o = srv.client(), Owner(srv)
    c.post("/v1/subscriptions", {"name": "ops", "url": r.url("/ops"), "types": ["ops.*"]}).want(201)
    c.post("/v1/subscriptions", {"name": "all", "url": r.url("/all")}).want(201)
    r.answer("/bad", 500)
    o.report(o.submit(callbackUrl=r.url("/bad")), "PROCESSING").want(200)
    a = until(lambda: [x for x in alerts(r) if x["rule"] == "webhook_failures_in_a_row"],
              "an alert", 20)[0]
    sub = next(s for s in c.get("/v1/subscriptions", limit=100).want(200).json["data"]
               if s["url"] == r.url("/bad"))
    same((a["state"], a["severity"], a["subscriptionId"]), ("firing", "warning", sub["id"]), "alert")
    check(a["message"] and a["value"] == 3, "value", a)
    line = until(lambda: [l for l in srv.log() if l.get("msg") == "alert"], "a line in the log")[0]
    same((line["rule"], line["state"], line["subscriptionId"]),
         ("webhook_failures_in_a_row", "firing", sub["id"]), "line")
    d = until(lambda: alerts(r, type="ops.delivery.dead"), "the dead letter", 20)[0]
    same((d["count"], d["subscriptionId"]), (1, sub["id"]), "dead")
    r.answer_as_usual("/bad")
    o.report(o.submit(callbackUrl=r.url("/bad")), "PROCESSING").want(200)
    until(lambda: [x for x in alerts(r) if x["rule"] == "webhook_failures_in_a_row"
                   and x["state"] == "resolved"], "resolved", 20)
    same(len([x for x in alerts(r) if x["rule"] == "webhook_failures_in_a_row"]), 2, "each once")
    time.sleep(1.5)
    same(len(alerts(r, type="ops.delivery.dead")), 1, "the dead letter once")
    srv.restart()
    time.sleep(1.5)
    same(len(r.at("/ops")), 3, "not again after a restart")
    same({g.json["eventType"] for g in r.at("/all")}, {"invoice.queued", "invoice.processing"},
         "who wants all events has to name ours")


def test_counts_and_rates(t):
    srv, r = t.server(**SETTINGS), receiver.Receiver(t)
    c, o = srv.client(), Owner(srv)
    c.post("/v1/subscriptions", {"name": "ops", "url": r.url("/ops"), "types": ["ops.alert"]}).want(201)
    r.answer("/bad", 500)
    for _ in range(12):
        o.report(o.submit(callbackUrl=r.url("/bad")), "PROCESSING").want(200)
    until(lambda: o.stats()["failed"] == 12, "all failed", 30)
    rules = {"webhook_delivery_success_rate", "webhook_retry_count_avg", "webhook_failure_count"}
    for whole in (False, True):  # of a subscription, and of all together
        fired = lambda: [x for x in alerts(r) if (x.get("subscriptionId") is None) == whole]
        until(lambda: rules <= {x["rule"] for x in fired()}, "all that fire", 30)
        until(lambda: sorted(x["severity"] for x in fired() if x["rule"] == "webhook_delivery_success_rate")
              == ["critical", "warning"], "below 99 and below 95 %", 30)
    text = until(lambda: (lambda s: s if "\nwebhook_failure_count 12\n" in s else None)(
        c.get("/metrics").want(200).body.decode()), "metrics", 10)
    for want in ("webhook_delivery_success_rate 0", "webhook_retry_count_avg 3",
                 'webhook_failures{reason="HTTP_STATUS"} 48', "webhook_waiting 0"):
        check(f"\n{want}\n" in text, want, [l for l in text.split("\n") if l.startswith("webhook")])
    if shutil.which("promtool"):
        p = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True)
        check(b"error" not in p.stderr.lower(), "promtool check metrics", p.stderr)


def test_no_loop(t):
    """Failing deliveries of ops.* raise no ops.*."""
    srv, r = t.server(**SETTINGS), receiver.Receiver(t)
    c, o = srv.client(), Owner(srv)
    c.post("/v1/subscriptions", {"name": "ops", "url": r.url("/ops"), "types": ["ops.*"],
                                 "retry": {"delaysMs": [1000, 1000]}}).want(201)
    r.answer("/ops", 500)
    r.answer("/bad", 500)
    o.report(o.submit(callbackUrl=r.url("/bad")), "PROCESSING").want(200)
    until(lambda: len(alerts(r)) >= 3 and alerts(r, type="ops.delivery.dead"), "tried three times", 20)
    time.sleep(3)
    evs = [e for e in c.events() if e["eventType"].startswith("ops.")]
    same(sorted(e["eventType"] for e in evs), ["ops.alert", "ops.delivery.dead"], "two events")


def test_prometheus_rules(t):
    """docs/prometheus-rules.yml is valid and names metrics that are there."""
    path = os.path.join(ROOT, "docs", "prometheus-rules.yml")
    if not shutil.which("promtool"):
        raise Skip("no promtool here")
    p = subprocess.run(["promtool", "check", "rules", path], capture_output=True, text=True)
    same(p.returncode, 0, p.stdout + p.stderr)
    c = t.srv.client()
    text = until(lambda: (lambda s: s if "\nwebhook_waiting " in s else None)(
        c.get("/metrics").want(200).body.decode()), "metrics", 10)
    names = {l.split("{")[0].split(" ")[0] for l in text.split("\n") if l and l[0] != "#"}
    with open(path) as f:
        for line in f:
            if "expr:" in line:
                word = line.split("expr:")[1].replace("sum(", "").split()[0].rstrip(")")
                check(word in names, "a metric that is there", word)
    c.publish(envelope()).want(202)
