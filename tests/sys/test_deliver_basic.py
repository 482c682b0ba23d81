"""From an event to its receiver: signed, retried, held, resumed, stopped."""
import time

import receiver
from hk import check, envelope, same, until
from receiver import Receiver, verify

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "100"}


def subscribe(c, url, **more):
    return c.post("/v1/subscriptions", {"name": "s", "url": url, **more}).want(201).json


def test_delivered_and_signed(t):
    c, r = t.srv.client(), Receiver(t)
    s = subscribe(c, r.url("/a"))
    check(s["secret"].startswith("whsec_"), "the secret, once", s)
    ev = envelope()
    c.publish(ev).want(202)
    got, = r.wait_for(1, "/a")
    same(got.json, ev, "the envelope as published")
    same(got.headers["Content-Type"], "application/json", "its type")
    check(verify(got, s["secret"]), "Standard Webhooks", got)
    check(not verify(got, "whsec_" + "A" * 32), "no other secret", got)
