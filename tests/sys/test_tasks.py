"""Tasks and their callbacks: seed 004, AC1 to AC4.

Retries wait 1, 5 and 30 minutes; TIME_SCALE makes that 60, 300 and 1800 ms. The
true numbers are in the unit tests (contract/preset_test.c, task/task_test.c).
"""
import hashlib
import hmac
import re
import time

import receiver
from hk import check, envelope, new_id, same, until

SCALE = 1000
SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": str(SCALE)}
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class Owner:
    """An API key with its secret."""

    def __init__(self, srv, *scopes):
        self.made = srv.new_key(*(scopes or ("submit", "query")))
        self.secret = self.made["webhookSecret"]
        self.c = srv.client(self.made["key"])

    def submit(self, **body):
        j = self.c.post("/api/v1/invoices", body).want(202).json
        check(j["traceId"] and j["data"]["status"] == "QUEUED", "202", j)
        return j["data"]["taskId"]

    def report(self, task, status, **more):
        return self.c("PATCH", f"/api/v1/invoices/{task}/status", {"status": status, **more})

    def history(self, task):
        j = self.c.get("/api/v1/webhooks", taskId=task).want(200).json
        check(j["traceId"], "traceId", j)
        same(j["data"]["total"], len(j["data"]["deliveries"]), "total")
        return j["data"]["deliveries"]

    def stats(self):
        return self.c.get("/api/v1/webhooks/stats").want(200).json["data"]


def verify(request, secret):
    """The receiver of seed 7.1: five minutes of tolerance, the body as bytes."""
    at = request.headers["X-Timestamp"]
    check(abs(time.time() * 1000 - int(at)) < 5 * 60 * 1000, "a fresh timestamp", at)
    want = hmac.new(secret.encode(), at.encode() + b"." + request.body, hashlib.sha256).hexdigest()
    same(request.headers["X-Signature"], want, "X-Signature")


def test_ac1_completed_is_told(t):
    """AC1: a change of status sends a webhook with the whole payload."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    task = o.submit(callbackUrl=r.url("/cb"), document={"name": "a.pdf"})
    j = o.c.get(f"/api/v1/invoices/{task}").want(200).json["data"]
    same((j["status"], j["progress"], j["currentStep"], j["resultAvailable"]),
         ("QUEUED", 0, "QUEUED", False), "queued")
    same(j["document"], {"name": "a.pdf"}, "document")
    o.c.get(f"/api/v1/invoices/{task}/result").want(404)
    j = o.report(task, "COMPLETED", confidenceScore=0.92, forwarderId="f-1",
                 forwarderName="貨運 A", result={"total": 12.50}).want(200).json["data"]
    same((j["status"], j["progress"], j["resultAvailable"]), ("COMPLETED", 100, True), "done")
    check(ISO.fullmatch(j["completedAt"]) and j["resultExpiresAt"] > j["completedAt"], "times", j)
    got = r.wait_for(1, "/cb")[0]
    body = got.json
    check(ISO.fullmatch(body.pop("timestamp")), "timestamp", got)
    same(body, {"event": "invoice.completed", "taskId": task, "status": "completed", "data": {
        "taskId": task, "status": "completed", "progress": 100, "result": {
            "confidenceScore": 0.92, "forwarderId": "f-1", "forwarderName": "貨運 A",
            "resultUrl": f"/api/v1/invoices/{task}/result"}}}, "body")
    same(list(got.json), ["event", "taskId", "status", "timestamp", "data"], "order of members")
    check("貨運 A".encode() in got.body and b'": ' not in got.body, "as JSON.stringify", got)
    same(got.method, "POST", "method")
    same({k: got.headers[k] for k in ("Content-Type", "X-Webhook-Event", "User-Agent")},
         {"Content-Type": "application/json", "X-Webhook-Event": "invoice.completed",
          "User-Agent": "InvoiceExtraction-Webhook/1.0"}, "headers")
    j = o.c.get(body["data"]["result"]["resultUrl"]).want(200).json["data"]
    same((j["result"], j["confidenceScore"]), ({"total": 12.5}, 0.92), "result")
    d = until(lambda: [x for x in o.history(task) if x["status"] == "delivered"], "delivered")[0]
    same({k: d[k] for k in ("id", "event", "httpStatus", "attempts")},
         {"id": got.headers["X-Webhook-Id"], "event": "invoice.completed",
          "httpStatus": 200, "attempts": 1}, "history")
    check(ISO.fullmatch(d["createdAt"]) and ISO.fullmatch(d["completedAt"]), "times", d)
    check("errorMessage" not in d, "no error", d)
    line = until(lambda: [l for l in t.srv.log() if l.get("msg") == "attempt"
                          and l.get("taskId") == task], "a line in the log")[0]
    check({"deliveryId", "event", "targetUrl", "status", "httpStatus", "responseTime"} <= set(line),
          "what the line has", line)


def test_ac2_signature(t):
    """AC2: HMAC-SHA256 with X-Signature and X-Timestamp, by the key's secret."""
    r, a, b = receiver.Receiver(t), Owner(t.srv), Owner(t.srv)
    for o in (a, b):
        o.report(o.submit(callbackUrl=r.url("/ac2")), "PROCESSING").want(200)
    got = r.wait_for(2, "/ac2")
    check(a.secret != b.secret, "each key has its own")
    for o in (a, b):
        ours = [g for g in got if _signed(g, o.secret)]
        same(len(ours), 1, "signed with this key's secret")
        verify(ours[0], o.secret)
    check(re.fullmatch(r"[0-9a-f]{64}", got[0].headers["X-Signature"]), "hex", got[0])


def _signed(request, secret):
    at = request.headers["X-Timestamp"]
    return request.headers["X-Signature"] == hmac.new(
        secret.encode(), at.encode() + b"." + request.body, hashlib.sha256).hexdigest()


def test_ac3_retries(t):
    """AC3: at most 3 retries, after 1, 5 and 30 minutes; also of a 4xx; signed afresh."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    r.answer("/ac3", 404, body=("不" * 600).encode())
    task = o.submit(callbackUrl=r.url("/ac3"))
    o.report(task, "FAILED").want(200)
    d = until(lambda: [x for x in o.history(task) if x["status"] == "retrying"], "retrying")[0]
    check(1 <= d["attempts"] <= 3 and d["httpStatus"] == 404, "retrying", d)
    got = r.wait_for(4, "/ac3", 20)
    waits = [1000 * (b.at - a.at) for a, b in zip(got, got[1:])]
    for waited, minutes in zip(waits, (1, 5, 30)):
        least = minutes * 60000 / SCALE
        check(least - 5 <= waited < least + 1500, f"about {least} ms", waits)
    for g in got:
        verify(g, o.secret)
    same({g.headers["X-Webhook-Id"] for g in got}, {got[0].headers["X-Webhook-Id"]}, "one id")
    same({g.body for g in got}, {got[0].body}, "one body")
    check(len({g.headers["X-Timestamp"] for g in got}) == 4, "each signed at its time", got)
    d = until(lambda: [x for x in o.history(task) if x["status"] == "failed"], "failed")[0]
    same((d["attempts"], d["httpStatus"]), (4, 404), "failed")
    same(d["errorMessage"], "HTTP 404: " + "不" * 500, "errorMessage")
    check(ISO.fullmatch(d["completedAt"]), "completedAt", d)
    time.sleep(0.3)
    same(len(r.at("/ac3")), 4, "four attempts in all")


def test_ac3_network_error(t):
    """AC3: nobody listens there, then somebody does."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    r.stop()
    task = o.submit(callbackUrl=r.url("/late"))
    o.report(task, "PROCESSING").want(200)
    d = until(lambda: [x for x in o.history(task) if x["status"] == "retrying"], "retrying")[0]
    check("httpStatus" not in d and d["errorMessage"], "no status", d)
    r.start()
    verify(r.wait_for(1, "/late", 15)[0], o.secret)
    until(lambda: o.history(task)[0]["status"] == "delivered", "delivered")


def test_ac4_events(t):
    """AC4: four events for four statuses."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    task = o.submit(callbackUrl=r.url("/ac4"))
    o.report(task, "PROCESSING").want(200)
    o.report(task, "REVIEW_REQUIRED").want(200)
    o.report(task, "REVIEW_REQUIRED").want(200)  # the same again: no event
    o.report(task, "QUEUED").want(409, pointer="/status", says="only goes on")
    o.report(task, "PROCESSING").want(409, pointer="/status", says="only goes on")
    o.report(task, "FAILED", errorCode="OCR_FAILED", errorMessage="Unable to extract text",
             errorRetryable=True).want(200)
    o.report(task, "FAILED").want(200)
    o.report(task, "PROCESSING").want(409, pointer="/status")
    other = o.submit(callbackUrl=r.url("/ac4"))
    o.report(other, "FAILED").want(200)
    third = o.submit(callbackUrl=r.url("/ac4"))
    o.report(third, "REVIEW_REQUIRED", escalationReason="odd totals").want(200)
    o.report(third, "COMPLETED").want(200)
    o.report(third, "FAILED").want(409)
    got = [g.json for g in r.wait_for(6, "/ac4")]
    of = {}
    for j in got:
        of.setdefault(j["taskId"], {}).setdefault(j["event"], []).append(j)
    same({k: len(v) for k, v in of[task].items()},
         {"invoice.processing": 1, "invoice.review_required": 1, "invoice.failed": 1}, "events")
    p = of[task]["invoice.processing"][0]
    same((p["status"], p["data"]), ("processing", {"taskId": task, "status": "processing",
                                                   "progress": 50}), "processing")
    v = of[task]["invoice.review_required"][0]
    check(ISO.fullmatch(v["data"]["reviewInfo"].pop("escalatedAt")), "escalatedAt", v)
    same(v["data"], {"taskId": task, "status": "review_required", "progress": 80, "reviewInfo": {
        "reason": "Low confidence score requires manual review"}}, "review")
    same(of[task]["invoice.failed"][0]["data"], {
        "taskId": task, "status": "failed", "progress": 100, "error": {
            "code": "OCR_FAILED", "message": "Unable to extract text", "retryable": True}}, "failed")
    same(of[other]["invoice.failed"][0]["data"]["error"], {
        "code": "PROCESSING_FAILED", "message": "An error occurred during processing",
        "retryable": False}, "defaults")
    same(of[third]["invoice.review_required"][0]["data"]["reviewInfo"]["reason"], "odd totals", "reason")
    same(of[third]["invoice.completed"][0]["data"]["result"], {
        "confidenceScore": 0, "resultUrl": f"/api/v1/invoices/{third}/result"}, "bare result")
    same([d["event"] for d in o.history(third)], ["invoice.completed", "invoice.review_required"],
         "newest first")


def test_another_keys_task(t):
    """It is not there for anybody but its key, and whoever does the work."""
    r, a, b = receiver.Receiver(t), Owner(t.srv), Owner(t.srv)
    task = a.submit(callbackUrl=r.url("/own"))
    b.c.get(f"/api/v1/invoices/{task}").want(404)
    b.c.get(f"/api/v1/invoices/{task}/result").want(404)
    b.report(task, "PROCESSING").want(404)
    same(len(r.at("/own")), 0, "nothing was sent")
    worker = Owner(t.srv, "manage")
    worker.report(task, "PROCESSING").want(200)
    same(worker.c.get(f"/api/v1/invoices/{task}").want(200).json["data"]["status"], "PROCESSING", "read")
    r.wait_for(1, "/own")
    same(len(a.history(task)), 1, "its own")
    same(b.history(task), [], "of another key")
    same(a.history(new_id()), [], "that is not there")
    same(a.history("nonsense"), [], "that can't be")
    delivery = a.history(task)[0]["id"]
    b.c.post(f"/api/v1/webhooks/{delivery}/retry").want(404, "DELIVERY_NOT_FOUND")
    a.c.post(f"/api/v1/webhooks/{new_id()}/retry").want(404, "DELIVERY_NOT_FOUND")
    a.c.post("/api/v1/webhooks/x/retry").want(404, "DELIVERY_NOT_FOUND")
    t.srv.admin().post("/api/v1/invoices", {}).want(403)


def test_bad_input(t):
    o = Owner(t.srv)
    a = o.c.get("/api/v1/webhooks").want(400, "MISSING_TASK_ID")
    same(a.json["error"]["message"], "taskId parameter is required", "message")
    o.c.get("/api/v1/webhooks?taskId=").want(400, "MISSING_TASK_ID")
    for body, at in (({"callbackUrl": "ftp://x/"}, "/callbackUrl"), ({"callbackUrl": 7}, "/callbackUrl"),
                     ({"callbackUrl": "https://10.0.0.1/"}, "/callbackUrl"),
                     ({"callbackUrl": "http://example.com/{x}"}, "/callbackUrl"),
                     ({"callbackUrl": "https://u:p@example.com/"}, "/callbackUrl"),
                     ({"callbackURL": "https://example.com/"}, "/callbackURL"),
                     ({"document": "text"}, "/document")):
        o.c.post("/api/v1/invoices", body).want(422, pointer=at)
    task = o.submit()
    for body, at in (({}, "/status"), ({"status": "completed"}, "/status"),
                     ({"status": "COMPLETED", "confidenceScore": "1"}, "/confidenceScore"),
                     ({"status": "COMPLETED", "errorCode": "X"}, "/errorCode"),
                     ({"status": "PROCESSING", "result": {}}, "/result"),
                     ({"status": "FAILED", "errorMessage": "x" * 1001}, "/errorMessage"),
                     ({"status": "FAILED", "errorRetryable": 1}, "/errorRetryable")):
        o.c("PATCH", f"/api/v1/invoices/{task}/status", body).want(422, pointer=at)
    o.c.post("/api/v1/invoices", b"{").want(400)
    same(o.c.get(f"/api/v1/invoices/{task}").want(200).json["data"]["status"], "QUEUED", "unchanged")
    reader = Owner(t.srv, "query")
    reader.c.post("/api/v1/invoices", {}).want(403)
    Owner(t.srv, "submit").c.get("/api/v1/webhooks/stats").want(403)


def test_retry_by_hand(t):
    """Attempts are counted from 0 again, and so are the retries."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    r.answer("/hand", 500, body=b"no")
    task = o.submit(callbackUrl=r.url("/hand"))
    o.report(task, "PROCESSING").want(200)
    d = until(lambda: [x for x in o.history(task) if x["status"] == "failed"], "failed", 20)[0]
    same(o.stats(), {"total": 1, "delivered": 0, "failed": 1, "pending": 0, "successRate": 0}, "stats")
    j = o.c.post(f"/api/v1/webhooks/{d['id']}/retry").want(200).json
    same(j["data"], {"deliveryId": d["id"], "message": "Retry initiated successfully"}, "answer")
    check(j["traceId"], "traceId", j)
    r.wait_for(5, "/hand")
    x = o.history(task)[0]
    check(x["status"] in ("pending", "sending", "retrying") and x["attempts"] <= 2, "begins anew", x)
    same(o.stats()["pending"], 1, "it is pending again")
    r.wait_for(6, "/hand", 15)
    r.answer_as_usual("/hand")
    d = until(lambda: [x for x in o.history(task) if x["status"] == "delivered"], "delivered", 15)[0]
    check(2 <= d["attempts"] <= 4 and d["httpStatus"] == 200 and "errorMessage" not in d, "anew", d)
    same(o.stats(), {"total": 1, "delivered": 1, "failed": 0, "pending": 0, "successRate": 100}, "stats")
    n = len(r.at("/hand"))
    o.c.post(f"/api/v1/webhooks/{d['id']}/retry").want(200)  # also one that was delivered
    r.wait_for(n + 1, "/hand")
    d = until(lambda: [x for x in o.history(task) if x["status"] == "delivered"
                       and x["attempts"] == 1], "delivered once more")[0]
    same(o.stats()["delivered"], 1, "counted once")


def test_stats(t):
    r, o, other = receiver.Receiver(t), Owner(t.srv), Owner(t.srv)
    same(o.stats(), {"total": 0, "delivered": 0, "failed": 0, "pending": 0, "successRate": 0}, "none")
    r.answer("/bad", 500)
    for path in ("/good", "/good", "/bad"):
        o.report(o.submit(callbackUrl=r.url(path)), "PROCESSING").want(200)
    s = o.stats()
    same((s["total"], s["delivered"] + s["failed"] + s["pending"]), (3, 3), "at once")
    s = until(lambda: (lambda s: s if s["pending"] == 0 else None)(o.stats()), "all done", 20)
    same(s, {"total": 3, "delivered": 2, "failed": 1, "pending": 0, "successRate": 66.67}, "stats")
    same(other.stats()["total"], 0, "of another key")
    t.srv.restart()
    o.c = t.srv.client(o.made["key"])
    same(o.stats(), s, "after a restart")


def test_one_subscription_per_key_and_url(t):
    """Made on first use, shown with managedBy, changed nowhere else; it gets nothing else."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    tasks = [o.submit(callbackUrl=r.url("/one")) for _ in range(3)]
    for task in tasks:
        o.report(task, "PROCESSING").want(200)
    r.wait_for(3, "/one")
    c = t.srv.client()
    subs = [s for s in c.get("/v1/subscriptions", limit=1000).want(200).json["data"]
            if s["url"] == r.url("/one")]
    same([(s["managedBy"], s["preset"]) for s in subs], [("task", "task")], "one of them")
    check(o.secret not in c.get("/v1/subscriptions", limit=1000).body.decode(), "no secret shown")
    c("PATCH", f"/v1/subscriptions/{subs[0]['id']}", {"name": "x"}).want(409)
    c.delete(f"/v1/subscriptions/{subs[0]['id']}").want(409)
    from hk import envelope
    c.publish(envelope()).want(202)
    c.publish(envelope(type="invoice.completed", payload={"x": 1})).want(202)
    time.sleep(0.5)
    same(len(r.at("/one")), 3, "what is published by others is not for it")


def test_ordinary_subscribers(t):
    """A change of status is one event of the log, for whoever wants it."""
    r, o, c = receiver.Receiver(t), Owner(t.srv), t.srv.client()
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/all"), "types": ["invoice.*"]}).want(201)
    task = o.submit(callbackUrl=r.url("/cb2"))
    o.report(task, "PROCESSING").want(200)
    until(lambda: [g for g in r.at("/all") if g.json["payload"]["taskId"] == task], "delivered")
    r.wait_for(1, "/cb2")
    evs = [e for e in c.events(type="invoice.processing") if e["payload"]["taskId"] == task]
    same(len(evs), 1, "one event")
    bare = o.submit()
    o.report(bare, "COMPLETED").want(200)
    until(lambda: [g for g in r.at("/all") if g.json["payload"]["taskId"] == bare], "without URL too")
    same(o.history(bare), [], "no delivery of its own")


def test_after_a_crash(t):
    """What was reported is told, and counted once."""
    srv, r = t.server(**SETTINGS), receiver.Receiver(t)
    o = Owner(srv)
    r.answer("/crash", 503, times=1)
    task = o.submit(callbackUrl=r.url("/crash"))
    o.report(task, "COMPLETED").want(200)
    srv.kill9()
    srv.start()
    o.c = srv.client(o.made["key"])
    until(lambda: o.history(task) and o.history(task)[0]["status"] == "delivered", "delivered", 30)
    same(o.stats()["delivered"], 1, "counted once")
    verify(r.at("/crash")[-1], o.secret)


def test_reports_at_once(t):
    """Many report on one task at the same time: one event for each change that was."""
    import threading
    r, o = receiver.Receiver(t), Owner(t.srv)
    task, seen = o.submit(callbackUrl=r.url("/race")), []
    clients = [t.srv.client(o.made["key"]) for _ in range(6)]

    def report(c, status):
        seen.append(c("PATCH", f"/api/v1/invoices/{task}/status", {"status": status}).status)
    for status in ("PROCESSING", "COMPLETED"):
        threads = [threading.Thread(target=report, args=(c, status)) for c in clients]
        [x.start() for x in threads]
        [x.join() for x in threads]
    same(seen, [200] * 12, "each is answered")
    r.wait_for(2, "/race")
    time.sleep(0.3)
    same(sorted(g.json["event"] for g in r.at("/race")),
         ["invoice.completed", "invoice.processing"], "each event once")


def test_first_use_at_once(t):
    """Many submit with the same new URL at the same time: one subscription."""
    import threading
    r, o = receiver.Receiver(t), Owner(t.srv)
    clients, tasks = [t.srv.client(o.made["key"]) for _ in range(6)], []

    def submit(c):
        tasks.append(c.post("/api/v1/invoices", {"callbackUrl": r.url("/first")}).want(202)
                     .json["data"]["taskId"])
    threads = [threading.Thread(target=submit, args=(c,)) for c in clients]
    [x.start() for x in threads]
    [x.join() for x in threads]
    same(len(tasks), 6, "all are there")
    subs = [s for s in t.srv.client().get("/v1/subscriptions", limit=1000).json["data"]
            if s["url"] == r.url("/first")]
    same(len(subs), 1, "one subscription")
    for task in tasks:
        o.report(task, "PROCESSING").want(200)
    r.wait_for(6, "/first")


def test_sealed_log(t):
    """With sealed bodies a task's events are sealed too, and told as ever."""
    srv, r = t.server(**SETTINGS, EVENT_SEAL_PAYLOAD="true"), receiver.Receiver(t)
    o = Owner(srv)
    r.answer("/sealed", 500, times=1)
    task = o.submit(callbackUrl=r.url("/sealed"))
    o.report(task, "FAILED", errorMessage="planted-words").want(200)
    verify(r.wait_for(2, "/sealed")[1], o.secret)
    evs = [e for e in srv.client().events(type="invoice.failed") if e["payload"]["taskId"] == task]
    same(evs[0]["payload"]["data"]["error"]["message"], "planted-words", "it can be read")


def test_shortest_numbers(t):
    """A receiver that parses the body and writes it again, as seed 7.1's, comes to what was signed."""
    r, o = receiver.Receiver(t), Owner(t.srv)
    for given, want in ((b"1.0", b"1"), (b"0.950", b"0.95"), (b"1e-1", b"0.1"), (b"0.0000001", b"1e-7")):
        task = o.submit(callbackUrl=r.url("/short"))
        o.c("PATCH", f"/api/v1/invoices/{task}/status",
            b'{"status":"COMPLETED","confidenceScore":' + given + b"}").want(200)
        g = r.wait_for(1, "/short")[0]
        check(b'"confidenceScore":' + want + b"," in g.body, "its shortest form", g.body)
        verify(g, o.secret)
        r.clear()
    task = o.submit()
    for bad in (1.01, -0.1, 95, "1"):
        o.report(task, "COMPLETED", confidenceScore=bad).want(422, pointer="/confidenceScore")


def test_for_who_works_on_them(t):
    """Tasks are listed and read by the system that works on them, which hears of new ones."""
    srv, r = t.server(**SETTINGS), receiver.Receiver(t)
    a, b, worker = Owner(srv), Owner(srv), Owner(srv, "manage")
    worker.c.post("/v1/subscriptions", {"name": "work", "url": r.url("/work"), "types": ["invoice.queued"]}).want(201)
    tasks = [a.submit(document={"n": i}, callbackUrl=r.url("/cb")) for i in range(3)] + [b.submit()]
    got = r.wait_for(4, "/work")
    same({g.json["payload"]["taskId"] for g in got}, set(tasks), "each is told once")
    same(got[0].json["payload"]["data"]["progress"], 0, "its progress")
    same(r.count("/cb"), 0, "the callback hears of the four events alone")

    def listed(o, **q):
        j = o.c.get("/api/v1/invoices", **q).want(200).json
        check(j["traceId"], "traceId", j)
        return j["data"]
    ids = lambda d: [x["taskId"] for x in d["tasks"]]
    same(ids(listed(worker)), tasks, "all")
    same((ids(listed(a)), ids(listed(b))), (tasks[:3], tasks[3:]), "their own")
    same(listed(worker)["tasks"][1]["document"], {"n": 1}, "what to work on")
    worker.report(tasks[0], "PROCESSING").want(200)
    same(ids(listed(worker, status="QUEUED")), tasks[1:], "by status")
    page = listed(worker, limit=3)
    same((ids(page), page["next"]), (tasks[:3], tasks[2]), "a page")
    page = listed(worker, limit=3, after=page["next"])
    same((ids(page), page["next"]), (tasks[3:], None), "the last")
    worker.c.get("/api/v1/invoices", status="DONE").want(422, pointer="status")
    worker.c.get("/api/v1/invoices", after=new_id()).want(422)
    same(worker.c.get(f"/api/v1/invoices/{tasks[3]}").want(200).json["data"]["taskId"], tasks[3], "one")


def test_a_callback_is_switched_off(t):
    """An admin stops a callback and lets it go on; nothing of it is lost."""
    r, o, c = receiver.Receiver(t), Owner(t.srv), t.srv.client()
    task = o.submit(callbackUrl=r.url("/off"))
    s = next(s for s in c.get("/v1/subscriptions", limit=1000, managedBy="task").want(200).json["data"]
             if s["url"] == r.url("/off"))
    c.post(f"/v1/subscriptions/{s['id']}/disable", {"reason": "it floods them"}).want(200)
    o.report(task, "PROCESSING").want(200)
    r.quiet(0.5, "/off")
    c.post(f"/v1/subscriptions/{s['id']}/enable").want(200)
    verify(r.wait_for(1, "/off")[0], o.secret)


def test_answers_are_kept(t):
    """The first 1,000 characters of an answer, of successes too."""
    r, o, c = receiver.Receiver(t), Owner(t.srv), t.srv.client()
    r.answer("/kept", lambda g: (200, {"Content-Type": "text/plain"}, b"x" * 1500))
    task = o.submit(callbackUrl=r.url("/kept"))
    o.report(task, "COMPLETED").want(200)
    d = until(lambda: next((d for d in o.history(task) if d["status"] == "delivered"), None), "delivered")
    for preset in ("repository", "standard"):
        c.post("/v1/subscriptions", {"name": preset, "url": r.url("/kept"), "preset": preset,
                                     "types": [preset + ".*"]}).want(201)
    kept = lambda i: c.get("/v1/deliveries/" + i).want(200).json["attempts"][0].get("responseBody")
    same(kept(d["id"]), "x" * 1000, "of a task")
    ids = {}
    for preset in ("repository", "standard"):
        c.publish([envelope(type=preset + ".x", payload={}) for _ in range(3)]).want(200)
        ids[preset] = until(lambda: (lambda v: v if len(v) == 3 else None)(
            [x["id"] for x in c.get("/v1/deliveries", status="SUCCESS", limit=1000).want(200).json["data"]
             if x["eventType"] == preset + ".x"]), "delivered")
    check(all(kept(i) == "x" * 1000 for i in ids["repository"]), "of the preset repository")
    check(sum(kept(i) is None or kept(i) == "" for i in ids["standard"]) >= 2, "of others one in 128")
    srv = t.server(**SETTINGS, DELIVERY_KEEP_BODIES="all")
    c = srv.client()
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/kept")}).want(201)
    c.publish(envelope()).want(202)
    x = until(lambda: c.get("/v1/deliveries", status="SUCCESS").want(200).json["data"], "delivered")[0]
    same(kept(x["id"]), "x" * 1000, "of all, with the setting")
