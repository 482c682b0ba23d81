"""Clients and libraries of others from PyPI: readers that sync, and what verifies or makes events.

(npm's are in tests/sys: test_third_party, test_reader_oidc; the real newsboat in test_reader_newsboat.)
"""
import base64
import hashlib
import json
import time

import receiver
from apps import SETTINGS as FEEDS, World
from feedsite import rss
from hk import TENANT, Skip, check, envelope, new_id, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, **FEEDS, "TIME_SCALE": "100"}


def library(name):
    """One of build/soak/venv, where tests/soak/install puts them."""
    import importlib
    try:
        return importlib.import_module(name)
    except ImportError as e:
        raise Skip(f"{e}; tests/soak/install, and its Python") from e


def fails(fn, what):
    try:
        fn()
    except Exception:
        return
    check(False, what)


def test_miniflux_python(t):
    """The client of PyPI; it sends bools as Python writes them."""
    miniflux = library("miniflux")
    w = World(t.srv, t)
    c = miniflux.Client(f"http://127.0.0.1:{t.srv.port}/miniflux", w.name, w.token, timeout=40)
    same(c.me()["username"], w.name, "me")
    check(c.get_version()["version"], "version")
    same({f["title"] for f in c.get_feeds()}, {"alpha", "beta"}, "feeds")
    page = c.get_entries(order="published_at", direction="desc", limit=2)
    same([e["title"] for e in page["entries"]], ["Article 11", "Article 10"], "entries")
    one = page["entries"][0]["id"]
    c.toggle_bookmark(one)
    same([e["id"] for e in c.get_entries(starred=True)["entries"]], [one], "starred=True")
    same(c.get_entries(starred=False)["total"], 4, "starred=False")
    c.update_entries([one], "read")
    same(c.get_entry(one)["status"], "read", "read")
    same(c.get_feed_entry(w.beta, one)["id"], one, "of its feed")
    made = c.create_category("Tech")
    c.update_feed(w.beta, title="B", category_id=made["id"], hide_globally=True)
    same([f["title"] for f in c.get_category_feeds(made["id"])], ["B"], "moved")
    same(c.get_entries(globally_visible=True)["total"], 3, "hidden")
    w.site.put("/gamma", rss(1, title="Gamma", start=20))
    same([x["url"] for x in c.discover(w.site.url("/gamma"))], [w.site.url("/gamma")], "discovered")
    feed = c.create_feed(w.site.url("/gamma"), made["id"])
    same(c.get_feed_counters()["unreads"][str(feed)], 1, "counted")
    c.mark_feed_entries_as_read(feed)
    same(c.get_feed_counters()["unreads"][str(feed)], 0, "marked")
    c.refresh_feed(feed)
    check(w.site.url("/gamma") in c.export(), "exported")
    same(c.get_integrations_status() if hasattr(c, "get_integrations_status") else False, False, "none")
    fails(lambda: c.save_entry(one), "nowhere to save")
    fails(lambda: c.fetch_entry_content(one), "no pages")
    fails(lambda: c.get_users(), "no admin")
    c.flush_history()
    same(c.get_entries(status=["read"])["total"], 1, "but for the star")
    c.delete_feed(feed)
    c.delete_category(made["id"])
    fails(lambda: c.get_feed(feed), "gone")


def test_freshrss_python(t):
    """Fever, where FreshRSS has it."""
    api = library("freshrss_api")
    w = World(t.srv, t)
    c = api.FreshRSSAPI(host=f"http://127.0.0.1:{t.srv.port}", username=w.name, password=w.token)
    same(len(c.get_feeds()["feeds"]), 2, "feeds")
    same([g["title"] for g in c.get_groups()["groups"]], ["News"], "groups")
    unread = c.get_unreads()
    same(len(unread), 5, "unread")
    c.set_mark("read", unread[0].id)
    same(len(c.get_unreads()), 4, "one is read")
    c.set_mark("saved", unread[1].id)
    same([i.id for i in c.get_saved()], [unread[1].id], "saved")
    fails(lambda: api.FreshRSSAPI(host=f"http://127.0.0.1:{t.srv.port}", username=w.name, password="x"), "nobody")


def delivered(t, **sub):
    c, r = t.srv.client(), Receiver(t)
    s = c.post("/v1/subscriptions", {"name": "s", "url": r.url("/h"), **sub}).want(201).json
    ev = envelope(payload={"text": "Grüße, 飛脚", "n": 1.50})
    c.publish(ev).want(202)
    return c, s, ev, r.wait_for(1, "/h")[0]


def test_standard_webhooks(t):
    libs = [library("standardwebhooks").Webhook, library("svix.webhooks").Webhook]
    _, s, ev, got = delivered(t)
    head = {k.lower(): v for k, v in got.headers.items()}
    for lib in libs:
        hook = lib(s["secret"])
        seen = hook.verify(got.body.decode(), head)
        same(seen["payload"]["text"] if isinstance(seen, dict) else "Grüße, 飛脚", ev["payload"]["text"], "read")
        fails(lambda: hook.verify(got.body.decode() + " ", head), "a changed body")
        other = lib("whsec_" + base64.b64encode(b"k" * 32).decode())
        fails(lambda: other.verify(got.body.decode(), head), "another secret")


def test_stripe(t):
    """What its library signs and takes, /in takes."""
    stripe = library("stripe")
    c, name, secret = t.srv.client(), "s-" + new_id()[:8], "whsec_" + new_id()
    c("PUT", "/v1/sources/" + name, {"scheme": "stripe", "secret": secret, "defaults": {"tenantId": TENANT}}).want(201)
    body = json.dumps({"id": "evt_1" + new_id()[:8], "object": "event", "type": "payment_intent.succeeded",
                       "data": {"object": {"id": "pi_1"}}})
    at = int(time.time())
    sign = f"t={at},v1=" + stripe.WebhookSignature._compute_signature(f"{at}.{body}", secret)
    check(stripe.WebhookSignature.verify_header(body, sign, secret, 300), "it takes its own")
    a = c.post("/in/" + name, body.encode(), {"Stripe-Signature": sign, "Content-Type": "application/json"}).want(202).json
    same(c.get("/v1/events/" + a["eventId"]).want(200).json["eventType"], "stripe.payment_intent.succeeded", "an event")


def test_cloudevents(t):
    """Both ways: what the library makes is published; what we deliver it reads."""
    http = library("cloudevents.v1.http")
    c = t.srv.client()
    for make in (http.to_structured, http.to_binary):
        ev = http.CloudEvent({"type": "order.placed", "source": "/shop", "tenantid": TENANT, "subject": "o-1"}, {"n": 1})
        head, body = make(ev)
        a = c.post("/v1/events", body, dict(head)).want(202).json
        same(c.get("/v1/events/" + a["eventId"]).want(200).json["payload"], {"n": 1}, "taken")
    for preset in ("cloudevents", "cloudevents-binary"):
        _, _, ev, got = delivered(t, preset=preset)
        seen = http.from_http(dict(got.headers), got.body)
        same((seen["type"], seen["id"], seen["tenantid"]), (ev["eventType"], ev["eventId"], TENANT), preset)
        same(seen.data["text"], ev["payload"]["text"], "its data")


def test_pyotp(t):
    """The code of the preset hub is what a receiver with pyotp expects."""
    pyotp = library("pyotp")
    c, r = t.srv.client(), Receiver(t)
    secret = "hush-otp-12345678901"
    r.answer("/health", lambda request: (200, {"Content-Type": "application/json"}, b'{"Status":2,"Name":"hub"}'))
    c.post("/v1/subscriptions", {
        "name": "hub", "preset": "hub", "url": r.url("/hub"), "types": ["user.*"],
        "hub": {"tenant": "tenant1", "domain": "hub.example", "healthUrl": r.url("/health"), "organizationId": "org",
                "servicePartition": "p", "sender": "s", "sharedInternalKey": "one-1234567", "eventApiKey": "two-1234567",
                "otp": {"secret": secret, "algorithm": "sha256", "digits": 8, "step": 30}}}).want(201)
    c.publish(envelope("user.created", key="user:a", payload={"user": {"accountId": "a"}})).want(202)
    got = until(lambda: next((q for q in r.at() if q.path.startswith("/hub")), None), "called", 40)
    code = got.headers["Authorization"]
    totp = pyotp.TOTP(base64.b32encode(secret.encode()).decode(), digits=8, digest=hashlib.sha256, interval=30)
    check(totp.verify(code, valid_window=2), "it is right", code, totp.now())
    check(not totp.verify(code, for_time=time.time() - 3600), "and not always")
