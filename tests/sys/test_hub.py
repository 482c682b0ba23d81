"""Calling a protected internal webhook: W1 to W17 of the preset `hub` (seed 001)."""
import hashlib
import hmac
import json
import struct
import threading
import time

import receiver
from hk import check, envelope, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}
SECRETS = {"sharedInternalKey": "hush-shared-1", "eventApiKey": "hush-event-2"}
OTP = {"secret": "hush-otp-12345678901", "algorithm": "sha256", "digits": 8, "step": 30}
GOOD = (200, {"Content-Type": "application/json"}, b'{"Status":2,"Name":"hub"}')
STANDARD = {"status": 7, "code": "E7", "message": "no", "domain": "user", "trace": "tr-7"}
# enum core_row_state and reasons.tbl
RETRY, SENDING, HELD = "1", "2", "3"
HTTP_STATUS, TIMEOUT, PREFLIGHT, EXHAUSTED = "1", "2", "8", "9"


def totp(at, shift=0, secret=OTP["secret"]):
    """RFC 6238 over RFC 4226, written here anew."""
    counter = int(at) // OTP["step"] + shift
    mac = hmac.new(secret.encode(), struct.pack(">Q", counter), hashlib.sha256).digest()
    at = mac[-1] & 15
    number = struct.unpack(">I", mac[at:at + 4])[0] & 0x7fffffff
    return f"{number % 10 ** OTP['digits']:0{OTP['digits']}}"


def health(r, answer=GOOD, path="/health"):
    """What the health check gets from now on."""
    r.answer_as_usual(path)
    r.answer(path, lambda request: answer)


def subscribe(c, r, root="/hub", types=("user.*",), more=None, **hub):
    """A subscription, with a receiver whose hub is in good health."""
    hub = {"tenant": "tenant1", "domain": "hub.example", "healthUrl": r.url("/health"),
           "organizationId": {"pointer": "/payload/org"}, "servicePartition": "part-1",
           "sender": "pca-id", "otp": None, **SECRETS, **hub}
    return c.post("/v1/subscriptions", {
        "name": "hub", "preset": "hub", "url": r.url(root), "types": list(types),
        "hub": hub, **(more or {})}).want(201).json


def user(account="acc-1", type="user.created", **more):
    return envelope(type, key="user:" + account,
                    payload={"user": {"accountId": account}, "org": "org-9", **more})


def dead(srv, sub, what="reason, tries, state, requeues"):
    return srv.rows(f"SELECT {what} FROM dead d JOIN subscription s ON s.id = d.sub WHERE "
                    f"{uid(srv, sub)} ORDER BY seq")


def waiting(srv, sub, what="state, tries, n, next_at, token"):
    return srv.rows(f"SELECT {what} FROM delivery d JOIN subscription s ON s.id = d.sub WHERE "
                    f"{uid(srv, sub)} ORDER BY seq")


def attempts(srv, sub, what="n, status, verdict, reason, us"):
    return srv.rows(f"SELECT {what} FROM attempt a JOIN subscription s ON s.id = a.sub WHERE "
                    f"{uid(srv, sub)} ORDER BY seq, n")


def uid(srv, sub):
    text = sub["id"].replace("-", "")
    return f"s.uid = '\\x{text}'" if srv.url else f"s.uid = x'{text}'"


def lines(srv):
    return [l for l in srv.log() if "mt" in l]


def ours(request):
    """Its headers, without those that any HTTP request has."""
    usual = {"host", "accept", "content-type", "content-length", "user-agent"}
    return {k: v for k, v in request.headers.items() if k.lower() not in usual}


W2 = {"X-PCA-TENANT": "tenant1", "X-PCA-Event-APIKey": "hush-event-2",
      "X-PCA-organization-id": "org-9", "X-PCA-service-partition": "part-1",
      "X-PCA-Event-Type": "user.email-verified", "X-PCA-Event-Sender": "pca-id"}


# ---------------------------------------------------------------- the call

def test_W1_W2_headers(t):
    c, r = t.server().client(), Receiver(t)
    health(r)
    subscribe(c, r, otp=OTP)
    c.publish(user(type="user.email-verified")).want(202)
    got, = r.wait_for(1, "/hub/user-events")
    head = ours(got)
    code = head.pop("Authorization")
    check(code in [totp(time.time(), s) for s in (-1, 0)], "the code of now", code, totp(time.time()))
    same(head, {**W2, "X-PCA-SHARED-INTERNAL-KEY": "hush-shared-1",
                "X-PCA-ISSUER": "https://tenant1.hub.example/auth"}, "the headers, no more")
    same(got.method, "POST", "its method")
    same(got.headers["Content-Type"], "application/json", "its type")


def test_W1_code_is_made_for_each_try(t):
    """Steps of one second: a retry has the code of its own time."""
    c, r, seen = t.server().client(), Receiver(t), []
    health(r)

    def fail_first(request):
        seen.append((request.headers["Authorization"], time.time()))
        return 500 if len(seen) <= 2 else 200
    r.answer("/hub/user-events", fail_first)
    subscribe(c, r, otp={**OTP, "step": 1, "digits": 6, "algorithm": "sha1",
                         "template": "OTP {otp}"})
    c.publish(user("acc-code")).want(202)
    r.wait_for(3, "/hub/user-events", 15)
    for text, at in seen:
        good = set()
        for step in range(int(at) - 3, int(at) + 2):
            mac = hmac.new(OTP["secret"].encode(), struct.pack(">Q", step), "sha1").digest()
            o = mac[-1] & 15
            good.add("OTP %06d" % ((struct.unpack(">I", mac[o:o + 4])[0] & 0x7fffffff) % 10**6))
        check(text in good, "RFC 6238 at that time", text, good)
    check(seen[0][0] != seen[2][0], "3 s later it is another", seen)


def test_W3_paths(t):
    c, r = t.server().client(), Receiver(t)
    health(r)
    all_types = ("user.*", "organization.*", "other.*")
    subscribe(c, r, "/off", all_types)
    subscribe(c, r, "/on", all_types, organizationEvents=True, userPath="/u", organizationPath="/o")
    for type in ("user.created", "organization.created", "other.created"):
        c.publish(user("acc-" + type, type)).want(202)
    got = r.wait_for(3, when=lambda x: x.method == "POST")
    same(sorted(g.path for g in got), ["/off/user-events", "/on/o", "/on/u"], "by its family")
    r.quiet(0.4, "/off/organization-events")
    same(sorted({x.path for x in r.at() if x.method == "POST"}),
         ["/off/user-events", "/on/o", "/on/u"], "and nothing elsewhere")


def test_W4_interim(t):
    c, r = t.server().client(), Receiver(t)
    health(r)
    subscribe(c, r, otp=None)
    c.publish(user(type="user.email-verified")).want(202)
    got, = r.wait_for(1, "/hub/user-events")
    same(ours(got), W2, "no code, no shared key, no issuer")


def test_body_unchanged(t):
    c, r = t.server().client(), Receiver(t)
    health(r)
    subscribe(c, r)
    payload = '{ "org":"o",  "user":{"accountId":"ä\\u00e9 1"}, "n":1.50e1 }'
    ev = json.dumps(user()).encode()
    ev = ev[:ev.index(b'"payload":') + 10] + payload.encode() + b"}"
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/hub/user-events")
    same(got.body, payload.encode(), "the payload's bytes")


# ---------------------------------------------------------------- the health check

def test_W5_before_each_call(t):
    c, r = t.server().client(), Receiver(t)
    health(r)
    r.answer("/hub/user-events", 500, times=1)
    subscribe(c, r)
    c.publish(user("acc-5")).want(202)
    r.wait_for(2, "/hub/user-events")
    c.publish(user("acc-5")).want(202)
    r.wait_for(3, "/hub/user-events")
    same([x.path for x in r.at()], ["/health", "/hub/user-events"] * 3, "one before each, retries too")
    same([x.method for x in r.at("/health")], ["GET"] * 3, "a GET")
    check(all("Authorization" not in x.headers and "X-PCA-Event-APIKey" not in x.headers
              and not x.body for x in r.at("/health")), "it carries no secret", r.at("/health"))


def test_W6_straight_to_the_dead_letters(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    bad = {"one": (200, {}, b'{"Status":1}'), "text": (200, {}, b'{"Status":"2"}'),
           "case": (200, {}, b'{"status":2}'), "empty": (200, {}, b""),
           "201": (201, {}, b'{"Status":2}'), "503": (503, {}, b'{"Status":2}'),
           "302": (302, {"Location": r.url("/health")}, b'{"Status":2}'), "cut": (0, {}, b"")}
    health(r)
    subs = {}
    for n, answer in bad.items():
        health(r, answer, "/bad" + n)
        subs[n] = subscribe(c, r, "/r" + n, healthUrl=r.url("/bad" + n))
    subs["away"] = subscribe(c, r, "/raway", healthUrl="http://127.0.0.1:9/health")
    good = subscribe(c, r, "/rgood")
    c.publish(user("acc-6")).want(202)
    r.wait_for(1, "/rgood/user-events")
    for n, sub in subs.items():
        got = until(lambda: dead(srv, sub), f"{n}: a dead letter")
        same(got[0][0], PREFLIGHT, f"{n}: its reason")
        same(got[0][1], "1", f"{n}: no retry")
        same([w[0] for w in waiting(srv, sub)], [HELD], f"{n}: it holds its account, and nothing is tried")
    same(dead(srv, good), [], "the good one")
    same({x.path for x in r.at() if x.method == "POST"}, {"/rgood/user-events"}, "the calls")
    check(not [l for l in lines(srv) if "acc-6" in l["mt"]][1:], "no line of calls not made")


def test_W6_retry_and_hold(t):
    """preflightFail: by the schedule, or without end and without costing a try."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r)
    for path, times in (("/hr", 2), ("/hh", 9)):
        health(r, path=path)
        r.answer(path, 503, times=times)
    retry = subscribe(c, r, "/retry", healthUrl=r.url("/hr"), preflightFail="retry")
    hold = subscribe(c, r, "/hold", healthUrl=r.url("/hh"), preflightFail="hold")
    c.publish(user("acc-6r")).want(202)
    r.wait_for(10, "/hh", 15)
    r.wait_for(1, "/hold/user-events")
    r.wait_for(1, "/retry/user-events", 15)
    same((r.count("/hr"), r.count("/hh")), (3, 10), "checks")
    until(lambda: len(attempts(srv, retry)) == 3 and len(attempts(srv, hold)) == 1, "written")
    same([(a[1], a[3]) for a in attempts(srv, retry)],
         [("503", PREFLIGHT)] * 2 + [("200", "0")], "retry: tries that are used up")
    same(dead(srv, retry) + dead(srv, hold), [], "none was given up")
    gap = r.at("/hr")[2].at - r.at("/hr")[1].at
    check(gap >= 3.0, "the second retry comes after 300 s, scaled", gap)


def test_W6_put_back_when_good(t):
    """Dead letters of the health check come back by rule, and the audit tells."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r, (503, {}, b""))
    sub = subscribe(c, r, otp=OTP)
    for i in range(5):
        c.publish(user(f"acc-{i}", n=i)).want(202)
    until(lambda: len(dead(srv, sub)) == 5, "dead letters")
    seen = r.count("/health")
    time.sleep(2)
    more = r.count("/health") - seen
    check(1 <= more <= 4, "asked again once a minute, scaled", more)
    same(r.count("/hub/user-events"), 0, "no call meanwhile")
    health(r)
    r.wait_for(5, "/hub/user-events", 15)
    until(lambda: [x[2:] for x in dead(srv, sub)] == [("1", "1")] * 5, "decided")
    same(dead(srv, sub, "decided_by"), [("rule",)] * 5, "by whom")
    told = c.get("/v1/audit", category="DEAD_REQUEUED").want(200).json["data"]
    same(len(told), 5, "in the audit")
    check(all("rule" in json.dumps(x) and sub["id"] in json.dumps(x) for x in told), "by rule", told)
    until(lambda: not waiting(srv, sub), "nothing waits")
    seen = r.count("/health")
    r.quiet(1.5, "/health")
    same(r.count("/hub/user-events"), 5, "once each")


def test_W6_put_back_after_a_restart(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r, (503, {}, b""))
    sub = subscribe(c, r)
    c.publish(user("acc-restart")).want(202)
    until(lambda: len(dead(srv, sub)) == 1, "a dead letter")
    srv.restart()
    health(r)
    r.wait_for(1, "/hub/user-events", 15)
    until(lambda: dead(srv, sub, "state, requeues") == [("1", "1")], "put back")


def test_W6_put_back_three_times(t):
    """A hub whose check is good only when nobody calls: no loop without end."""
    srv, r = t.server(), Receiver(t)
    c, asked = srv.client(), []

    def moody(request):
        asked.append(request)
        return GOOD if len(asked) % 2 == 0 else 503
    r.answer("/health", moody)
    sub = subscribe(c, r)
    c.publish(user("acc-moody")).want(202)
    until(lambda: dead(srv, sub, "state, requeues") == [("0", "3")], "three times", 20)
    r.quiet(2, "/health")
    same((len(asked), r.count("/hub/user-events")), (7, 0), "four tries, three checks by rule")
    same(dead(srv, sub, "state, requeues"), [("0", "3")], "it stays")


def test_W6_put_back_by_tenant(t):
    """The tenant comes from the event: one that is ill holds up no other."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    for tenant in ("ill", "well"):
        health(r, (503, {}, b""), "/h/" + tenant)
    sub = subscribe(c, r, tenant={"pointer": "/payload/t"}, healthUrl=r.url("/h/{tenant}"))
    for i in range(4):
        c.publish(user(f"acc-{i}", t="ill" if i < 3 else "well")).want(202)
    until(lambda: len(dead(srv, sub)) == 4, "dead letters")
    health(r, path="/h/well")
    got, = r.wait_for(1, "/hub/user-events", 15)
    same(got.json["t"], "well", "the one whose tenant is well")
    until(lambda: [x[2] for x in dead(srv, sub)] == ["0", "0", "0", "1"], "the others wait")


def test_W6_put_back_in_pages(t):
    """More than a page (REVIVE_PAGE, 256), none twice."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r, (503, {}, b""))
    sub = subscribe(c, r)
    c.publish_ndjson([user(f"acc-{i}", n=i) for i in range(300)]).want(200)
    until(lambda: len(dead(srv, sub)) == 300, "dead letters", 30)
    health(r)
    got = r.wait_for(300, "/hub/user-events", 40)
    same(sorted(g.json["n"] for g in got), list(range(300)), "each once")
    until(lambda: set(dead(srv, sub, "state, requeues")) == {("1", "1")}, "all are decided")
    r.quiet(1.5, "/hub/user-events")


def test_W6_left_in_the_middle(t):
    """A subscription that ends, and a server that stops, while the check is asked."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r, (503, {}, b""))
    gone, kept = subscribe(c, r), subscribe(c, r)
    c.publish(user("acc-middle")).want(202)
    until(lambda: dead(srv, gone) and dead(srv, kept), "dead letters")
    asked = r.count("/health")
    r.answer("/health", 503, delay=0.7)
    r.wait_for(asked + 2, "/health")
    c.delete("/v1/subscriptions/" + gone["id"]).want(204)
    began = time.monotonic()
    srv.restart()
    check(time.monotonic() - began < 3, "it does not wait for it", time.monotonic() - began)
    health(r)
    r.wait_for(1, "/hub/user-events", 15)
    r.quiet(1, "/hub/user-events")


# ---------------------------------------------------------------- retries

def test_W7_W8_five_retries(t):
    """10, 300, 600, 1800, 6000 s, each + 1..10 s; six calls, then a dead letter."""
    scale = 300
    srv, r = t.server(TIME_SCALE=str(scale)), Receiver(t)
    c = srv.client()
    health(r)
    r.answer("/hub/user-events", 500)
    # "hold": a check that a busy machine answers too late must not end it
    sub = subscribe(c, r, preflightFail="hold")
    c.publish(user("acc-7")).want(202)
    got = r.wait_for(6, "/hub/user-events", 60)
    for i, delay in enumerate((10, 300, 600, 1800, 6000)):
        gap = got[i + 1].at - got[i].at
        check((delay + 1) / scale <= gap <= (delay + 10) / scale + 3,
              f"retry {i + 1} after {delay} s, scaled", gap)
    until(lambda: dead(srv, sub, "reason, tries, n, status") == [(EXHAUSTED, "6", "6", "500")],
          "a dead letter after the sixth")
    r.quiet(1, "/hub/user-events")
    same([a[0] for a in attempts(srv, sub)], [str(n) for n in range(1, 7)], "six attempts")


def test_W9_W10_W11_verdicts(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r)
    big = {**STANDARD, "message": "x" * 66000}
    no_trace = {k: v for k, v in STANDARD.items() if k != "trace"}
    rows = (  # status, body, is it tried again
        (500, STANDARD, True), (500, b"", True), (409, STANDARD, True), (409, b"x", True),
        (503, b"<html>", True), (404, b"<html>", True), (400, no_trace, True),
        (400, {**STANDARD, "status": "7"}, True), (400, {**STANDARD, "code": 7}, True),
        (403, big, True), (204, b"", True), (201, b"{}", True), (302, b"", True),
        (0, b"", True),
        (400, STANDARD, False), (404, STANDARD, False), (503, STANDARD, False),
        (429, {**STANDARD, "more": [1]}, False), (201, STANDARD, False))
    subs = []
    for i, (status, body, again) in enumerate(rows):
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        r.answer(f"/v{i}/user-events", status, {"Location": r.url("/no")}, text, times=1)
        subs.append(subscribe(c, r, f"/v{i}", [f"user.v{i}"]))
        c.publish(user(f"acc-v{i}", f"user.v{i}")).want(202)
    for i, (status, body, again) in enumerate(rows):
        what = f"{status} {body!r:.60}"
        r.wait_for(2 if again else 1, f"/v{i}/user-events", 15)
        want = [] if again else [(HTTP_STATUS, "1", "0", "0")]
        until(lambda: dead(srv, subs[i]) == want and not waiting(srv, subs[i]), what, 10)
    time.sleep(0.3)
    for i, (status, body, again) in enumerate(rows):
        same(r.count(f"/v{i}/user-events"), 2 if again else 1, f"{status}: calls")
    same(r.count("/no"), 0, "no redirect is followed")


def test_network_error_and_time_out_are_retried(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r)
    r.answer("/slow/user-events", 200, delay=2, times=1)
    slow = subscribe(c, r, "/slow", ["user.slow"])
    c.publish(user("acc-slow", "user.slow")).want(202)
    first, second = r.wait_for(2, "/slow/user-events", 15)
    until(lambda: len(attempts(srv, slow)) == 2, "written")
    a = attempts(srv, slow)
    same([(x[1], x[3]) for x in a], [("0", TIMEOUT), ("200", "0")], "a time-out, then success")
    check(int(a[0][4]) < 0.95e6, "W14: half of the lock's 1.8 s at most", a)

    other = Receiver(t)
    away = subscribe(c, r, "/x", ["user.away"], more={"url": other.url("/away")})
    other.stop()
    c.publish(user("acc-away", "user.away")).want(202)
    until(lambda: attempts(srv, away), "a try")
    other.start()
    other.wait_for(1, "/away/user-events", 15)


# ---------------------------------------------------------------- the lock

def test_W12_W13_lock(t):
    """A row with an end before the call; gone or a retry after it."""
    srv, r = t.server(TIME_SCALE="10"), Receiver(t)
    c, seen = srv.client(), []
    health(r)

    def look(request):
        seen.append((waiting(srv, sub), time.time()))
        return 500 if len(seen) == 1 else 200
    r.answer("/hub/user-events", look)
    sub = subscribe(c, r)
    c.publish(user("acc-12")).want(202)
    until(lambda: len(seen) == 2, "two calls", 60)
    for (row,), at in seen:
        same(row[0], SENDING, "the row is there before the call")
        left = int(row[3]) / 1e6 - at
        check(8.0 < left <= 18.0, "for 180 s, scaled", left)
        check(row[4], "with its holder's token", row)
    same([s[0][0][1] for s in seen], ["0", "1"], "tries so far")
    until(lambda: waiting(srv, sub) == [], "released after the call")
    # and after a failure: what waits is no lock
    r.answer("/hub/user-events", 409)
    c.publish(user("acc-12")).want(202)
    r.wait_for(3, "/hub/user-events", 60)
    row, = until(lambda: [w for w in waiting(srv, sub) if w[0] == RETRY], "it waits for its retry")
    same(row[1], "1", "one try")


def test_W13_released_by_a_stop(t):
    """No lock outlives a server that ends in good order."""
    for _ in range(3):
        srv, r = t.server(), Receiver(t)
        c = srv.client()
        health(r)
        sub = subscribe(c, r)
        c.publish_ndjson([user(f"acc-{i}") for i in range(200)]).want(200)
        r.wait_for(5, "/hub/user-events")
        srv.stop()
        same([w for w in waiting(srv, sub) if w[0] == SENDING], [], "locks that are left")


def test_W8_W12_W14_killed_in_a_call(t):
    """The lock outlives its holder; the lost call is no try."""
    srv, r = t.server(TIME_SCALE="60"), Receiver(t)
    c = srv.client()
    health(r)
    gate = threading.Event()
    t.later(gate.set)
    r.answer("/hub/user-events", lambda request: (gate.wait(10), 0)[1], times=1)
    sub = subscribe(c, r)
    c.publish(user("acc-kill")).want(202)
    c.publish(user("acc-kill", n=2)).want(202)
    r.wait_for(1, "/hub/user-events")
    srv.kill9()
    row = waiting(srv, sub)[0]
    same(row[:3], (SENDING, "0", "0"), "locked, nothing tried")
    lock_end = int(row[3]) / 1e6
    check(lock_end > time.time(), "its end is to come", row)
    srv.start()
    while time.time() < lock_end - 0.05:
        same(r.count("/hub/user-events"), 1, "nobody calls while it is locked")
        time.sleep(0.02)
    got = r.wait_for(3, "/hub/user-events")
    same(got[1].body, got[0].body, "the one that was lost, first")
    until(lambda: len(attempts(srv, sub)) == 2, "written")
    same([a[0] for a in attempts(srv, sub)], ["1", "1"], "one try each: a crash is none")
    same((waiting(srv, sub), dead(srv, sub)), ([], []), "nothing is left")


def test_W8_killed_before_a_failure(t):
    """Its five retries are all there after a crash."""
    srv, r = t.server(TIME_SCALE="100"), Receiver(t)
    c = srv.client()
    health(r)
    gate = threading.Event()
    t.later(gate.set)
    r.answer("/hub/user-events", 500)
    r.answer("/hub/user-events", lambda request: (gate.wait(10), 0)[1], times=1)
    sub = subscribe(c, r)
    c.publish(user("acc-8")).want(202)
    r.wait_for(1, "/hub/user-events")
    srv.kill9()
    srv.start()
    r.wait_for(3, "/hub/user-events", 15)
    row, = until(lambda: [w for w in waiting(srv, sub) if w[1] == "2"], "two counted")
    same(row[0], RETRY, "of three calls")


# ---------------------------------------------------------------- the log

def test_W15_W16_log(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    health(r)
    body = json.dumps({**STANDARD, "trace": "trace-15", "message": "a\nb"}).encode()
    r.answer("/hub/user-events", 400, {}, body, times=1)
    subscribe(c, r, otp=OTP)
    c.publish(user("acc 15")).want(202)
    r.wait_for(1, "/hub/user-events")
    call, error = until(lambda: lines(srv) if len(lines(srv)) == 2 else None, "two lines")
    same(call["mt"], "Call PCA Hub Webhook (tenantname:tenant1, accountid:acc 15)", "W15")
    same(error["mt"], "Error PCA Hub Webhook (tenantname:tenant1, accountid:acc 15, "
         f"res:{body.decode()})", "W16")
    same(error["traceId"], "trace-15", "its trace")
    check("traceId" not in call, "nobody knows one before", call)
    # 200 has no error line; a call that failed without an answer has one
    c.publish(user("acc 16")).want(202)
    r.wait_for(2, "/hub/user-events")
    r.answer("/hub/user-events", 0, times=1)
    c.publish(user("acc 17")).want(202)
    cut, again = r.wait_for(4, "/hub/user-events")[2:]
    check(again.at - cut.at >= 0.11, "not sent anew by libcurl", again.at - cut.at)
    until(lambda: len(lines(srv)) == 6, "three calls more, one error more")
    same([l["mt"].split(" ")[0] for l in lines(srv)],
         ["Call", "Error", "Call", "Call", "Error", "Call"], "all lines")
    big = b"y" * 40000
    r.answer("/hub/user-events", 404, {}, big, times=1)
    c.publish(user("acc 18")).want(202)
    long = until(lambda: [l for l in lines(srv) if "acc 18" in l["mt"] and "yyy" in l["mt"]], "long")
    check(16000 < len(long[0]["mt"]) < 16600, "16 KiB of it", len(long[0]["mt"]))
    r.wait_for(6, "/hub/user-events")
    no_secret(srv, [x.headers["Authorization"] for x in r.at("/hub/user-events")])


def no_secret(srv, codes=()):
    srv.stop()
    text = srv.all_logs().decode(errors="replace")
    for secret in (*SECRETS.values(), OTP["secret"], *codes):
        check(secret not in text, f"{secret} is in no log")
    for table, column in (("attempt", "detail"), ("subscription", "conf")):
        stored = repr(srv.rows(f"SELECT {column} FROM {table}"))
        for secret in (*SECRETS.values(), OTP["secret"]):
            check(secret not in stored, f"{secret} is not in {table}.{column}")


# ---------------------------------------------------------------- spacing

def test_W17_spacing(t):
    """2 s (scaled: 0.2) from an end to the next start, whoever calls, whatever it is."""
    srv, r = t.server(TIME_SCALE="10"), Receiver(t)
    c, busy, calls, lock = srv.client(), {}, [], threading.Lock()
    health(r)

    def call(request):
        account = request.json["user"]["accountId"]
        with lock:
            check(not busy.get(account), "one at a time")
            busy[account] = True
            calls.append([account, request.json["n"], request.path, time.monotonic(), None])
            mine, first = calls[-1], len(calls) == 1
        time.sleep(0.05)
        mine[4] = time.monotonic()
        busy[account] = False
        return 500 if first else 200
    for root in ("/a", "/b"):
        r.answer(root + "/user-events", call)
        subscribe(c, r, root)
    r.answer("/a/other", call)
    subscribe(c, r, "/a", userPath="/other")
    began = time.monotonic()
    for n in range(3):
        c.publish(user("acc-17", n=n)).want(202)
    for i in range(10):
        c.publish(user(f"acc-other-{i}", n=i)).want(202)
    until(lambda: len([x for x in calls if x[4]]) == 9 + 1 + 30, "all calls", 20)
    mine = [x for x in calls if x[0] == "acc-17"]
    for before, after in zip(mine, mine[1:]):
        check(after[3] - before[4] >= 0.2, "2 s, scaled", after[3] - before[4], before, after)
    for path in {x[2] for x in mine}:
        order = [x[1] for x in mine if x[2] == path]
        same(sorted(order), order, f"{path}: in order")
    others = max(x[4] for x in calls if x[0] != "acc-17") - began
    check(others < mine[-1][4] - began, "the others were not held up", others)
