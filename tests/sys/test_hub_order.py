"""The preset `hub` (seed 001) over time: order, codes, settings, a test send."""
import base64
import binascii
import hmac
import struct
import threading
import time

from hk import check, envelope, same, until
from receiver import Receiver
from test_hub import (GOOD, OTP, SECRETS, SETTINGS, attempts, dead, health, subscribe, totp, user,
                      waiting)


def test_W1_code_is_made_at_the_call(t):
    """The health check takes its time: the code is not of when it was asked."""
    srv, r = t.server(TIME_SCALE="5"), Receiver(t)
    c, seen = srv.client(), []
    r.answer("/health", 200, {}, GOOD[2], delay=8)
    r.answer("/hub/user-events", lambda q: (seen.append(time.time()), 200)[1])
    subscribe(c, r, otp={**OTP, "step": 1})
    c.publish(user("acc-late")).want(202)
    got, = r.wait_for(1, "/hub/user-events", 40)
    codes = []
    for at in range(int(seen[0]) - 6, int(seen[0]) + 2):
        mac = hmac.new(OTP["secret"].encode(), struct.pack(">Q", at), "sha256").digest()
        o = mac[-1] & 15
        codes.append(f"{(struct.unpack('>I', mac[o:o + 4])[0] & 0x7fffffff) % 10 ** 8:08}")
    check(got.headers["Authorization"] in codes, "not of 8 s before", got.headers, codes)


def test_secret_encodings(t):
    """The key is what the text stands for."""
    c, r = t.server().client(), Receiver(t)
    health(r)
    plain = OTP["secret"].encode()
    for form, text in (("text", plain), ("base32", base64.b32encode(plain)),
                       ("hex", binascii.hexlify(plain)), ("base64", base64.b64encode(plain))):
        sub = subscribe(c, r, "/" + form, ["user." + form],
                        otp={**OTP, "secret": text.decode(), "secretEncoding": form})
        same(sub["hub"]["otp"]["secretEncoding"], form, "shown")
        c.publish(user("acc-" + form, "user." + form)).want(202)
        got, = r.wait_for(1, f"/{form}/user-events")
        check(got.headers["Authorization"] in [totp(time.time(), s) for s in (-1, 0)], form)
    c("PATCH", "/v1/subscriptions/" + sub["id"],
      {"hub": {"otp": {"secretEncoding": "hex"}}}).want(422, pointer="/hub/otp/secret")


def test_no_code_by_null_alone(t):
    """Calls without Authorization are asked for, never a slip."""
    c, r = t.srv.client(), Receiver(t)
    hub = {"tenant": "tenant1", "domain": "hub.example", "organizationId": "o",
           "servicePartition": "part-1", "sender": "pca-id", **SECRETS}
    body = {"name": "hub", "preset": "hub", "url": r.url("/n"), "hub": hub}
    c.post("/v1/subscriptions", body).want(422, pointer="/hub/otp", says="null")
    hub["otp"] = None
    sub = c.post("/v1/subscriptions", body).want(201).json
    c("PATCH", "/v1/subscriptions/" + sub["id"], {"hub": {"sender": "other"}}).want(200)


def test_settings_that_change(t):
    """The environment's root and paths, for who has none of its own, also after a change."""
    r = Receiver(t)
    srv = t.server(WEBHOOKS_ENDPOINT_ROOT=r.url("/one"))
    c = srv.client()
    health(r)
    sub = subscribe(c, r, more={"url": None})
    own = subscribe(c, r, "/own", userPath="/mine")
    same((sub["url"], sub["hub"]["userPath"]), (r.url("/one"), "/user-events"), "what counts is shown")
    c.publish(user("acc-one")).want(202)
    r.wait_for(1, "/one/user-events")
    r.wait_for(1, "/own/mine")
    srv.stop()
    srv.settings.update(WEBHOOKS_ENDPOINT_ROOT=r.url("/two"), WEBHOOKS_USER_PATH="/u")
    srv.start()
    c = srv.client()
    c.publish(user("acc-two")).want(202)
    r.wait_for(1, "/two/u")
    r.wait_for(2, "/own/mine")
    path = "/v1/subscriptions/"
    same(c.get(path + sub["id"]).want(200).json["url"], r.url("/two"), "and shown")
    c("PATCH", path + sub["id"], {"name": "other"}).want(200)
    c("PATCH", path + own["id"], {"hub": {"userPath": None}}).want(200)
    c.publish(user("acc-three")).want(202)
    r.wait_for(2, "/two/u")
    r.wait_for(1, "/own/u")
    same(r.count("/one/user-events"), 1, "nothing goes where it was")


def test_test_send(t):
    """An event of a family that has a path; what pointers want is made up."""
    c, r = t.server().client(), Receiver(t)
    health(r)
    sub = subscribe(c, r, otp=OTP)
    path = f"/v1/subscriptions/{sub['id']}/test"
    got = until(lambda: (lambda a: a if a["success"] else None)(c.post(path).want(200).json), "sent")
    same(got["statusCode"], 200, "its status")
    call = r.at("/hub/user-events")[0]
    same((call.headers["X-PCA-Event-Type"], call.headers["X-PCA-organization-id"]),
         ("user.test", "test"), "what it is")
    check(call.headers["Authorization"] in [totp(time.time(), s) for s in (-1, 0)], "with a code")
    n = r.count("/hub/user-events")
    got = c.post(path, {"event": user("acc-t", "user.created")}).want(200).json
    same(got["success"], True, "an event of one's own")
    call = r.at("/hub/user-events")[n]
    same((call.headers["X-PCA-Event-Type"], call.json["user"]["accountId"]),
         ("user.created", "acc-t"), "as it is")
    got = c.post(path, {"event": envelope("user.created", payload={})}).want(200).json
    check(not got["success"] and "organizationId" in got["error"], "it says what is missing", got)
    health(r, (503, {}, b""))
    check(not c.post(path).want(200).json["success"], "the health check counts")


def test_order_survives_maintenance(t):
    """What is newer waits behind a dead letter of its account, and comes after it."""
    srv, r = t.server(TIME_SCALE="20"), Receiver(t)  # a check may take 4 s, rounds are 3 s apart
    c = srv.client()
    health(r, (503, {}, b""))
    sub = subscribe(c, r)
    c.publish_ndjson([user(f"acc-{a}", n=0) for a in "xy"]).want(200)
    until(lambda: len(dead(srv, sub)) == 2, "a dead letter for each account")
    for n in range(1, 4):
        c.publish_ndjson([user(f"acc-{a}", n=n) for a in "xy"]).want(200)
    srv.restart()
    c = srv.client()
    c.publish_ndjson([user(f"acc-{a}", n=4) for a in "xy"]).want(200)
    c.publish(user("acc-x", n=5)).want(202)
    seen = r.count("/health")
    r.wait_for(seen + 2, "/health")  # rounds, which find it bad
    same((len(dead(srv, sub)), r.count("/hub/user-events")), (2, 0), "the others wait")
    health(r)
    got = r.wait_for(11, "/hub/user-events", 90)
    for a in "xy":
        same([g.json["n"] for g in got if g.json["user"]["accountId"] == "acc-" + a],
             list(range(6 if a == "x" else 5)), "in order")
    until(lambda: not waiting(srv, sub), "nothing waits")


def test_order_goes_on_after_a_skip(t):
    """Somebody gives up the dead letter: what waited behind it goes."""
    srv, r = t.server(TIME_SCALE="20"), Receiver(t)
    c = srv.client()
    health(r, path="/other")
    health(r, (503, {}, b""))
    sub = subscribe(c, r)
    c.publish(user("acc-s", n=0)).want(202)
    until(lambda: dead(srv, sub), "a dead letter")
    c.publish(user("acc-s", n=1)).want(202)
    letter, = c.get("/v1/dead-letters", subscription=sub["id"]).want(200).json["data"]
    c("PATCH", "/v1/subscriptions/" + sub["id"], {"hub": {"healthUrl": r.url("/other")}}).want(200)
    c.post(f"/v1/dead-letters/{letter['id']}/skip", {"reason": "not needed"}).want(200)
    got, = r.wait_for(1, "/hub/user-events")
    same(got.json["n"], 1, "the one behind it")


def test_floor(t):
    """However often it failed, eight accounts are called at once."""
    srv, r = t.server(TIME_SCALE="1"), Receiver(t)
    c, gate = srv.client(), threading.Event()
    t.later(gate.set)
    health(r)
    sub = subscribe(c, r)
    r.answer("/hub/user-events", 500)
    c.publish_ndjson([user(f"acc-f{i}") for i in range(12)]).want(200)
    until(lambda: len(attempts(srv, sub)) == 12, "twelve failures")
    r.answer("/hub/user-events", lambda q: (gate.wait(40), 200)[1])
    c.publish_ndjson([user(f"acc-h{i}") for i in range(12)]).want(200)
    r.wait_for(8, "/hub/user-events", when=lambda q: "acc-h" in q.body.decode())
    gate.set()
