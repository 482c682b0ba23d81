"""A test of a subscription that is not saved (seed 000, 5.1.3): POST /v1/subscriptions/test."""
import base64
import hashlib
import hmac
import json
import ssl
import threading
import time

import hk
import receiver
from hk import check, new_id, same, until
from pki import Pki
from receiver import Receiver, verify
from test_two_nodes import Pair

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000"}
PATH = "/v1/subscriptions/test"
WHSEC = "whsec_" + base64.b64encode(b"k" * 32).decode()


def try_out(c, url, **more):
    return c.post(PATH, {"name": "s", "url": url, **more})


def good(c, url, **more):
    a = try_out(c, url, **more).want(200).json
    same(sorted(a), ["error", "responseTimeMs", "statusCode", "success"], "the answer's members")
    same((a["success"], a["statusCode"], a["error"]), (True, 200, None), "it went well")
    check(0 <= a["responseTimeMs"] < 20000, "its time", a)


def nothing_stays(srv, c):
    same(c.get("/v1/subscriptions").want(200).json["data"], [], "no subscription")
    same(c.get("/v1/deliveries").want(200).json["data"], [], "no delivery")
    same(c.get("/v1/dead-letters").want(200).json["data"], [], "no dead letter")
    for table in ("subscription", "attempt", "delivery", "dead", "errand"):
        same(int(srv.rows(f"SELECT count(*) FROM {table}")[0][0]), 0, "rows of " + table)


def hub(r):
    r.answer("/health", 200, body=b'{"Status":2}')
    return {"tenant": "t1", "domain": "hub.example", "healthUrl": r.url("/health"), "sharedInternalKey": "shared-1",
            "eventApiKey": "event-1", "organizationId": {"pointer": "/payload/org"}, "servicePartition": "p",
            "sender": "s", "userPath": "/u", "organizationPath": "/o", "accountPointer": "/user/accountId",
            "otp": {"secret": "otp-secret-1"}}


def test_presets(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    c("PUT", "/v1/presets/mine", {"body": "payload", "headers": [{"name": "X-Mine", "value": "{type} {subscriptionId}"}],
                                  "verdicts": [{"status": "200-299", "verdict": "success"}]}).want(201)
    good(c, r.url("/standard"), secret=WHSEC, headers={"X-Custom": "value"})
    good(c, r.url("/repo"), preset="repository", secret="test-secret", headers={"X-Custom": "value"})
    good(c, r.url("/task"), preset="task", secret="s" * 32)
    good(c, r.url("/ce"), preset="cloudevents", secret=WHSEC)
    good(c, r.url("/binary"), preset="cloudevents-binary", secret=WHSEC)
    good(c, r.url("/hub"), preset="hub", hub=hub(r))
    good(c, r.url("/mine"), preset="mine")
    one = {path: r.at(path)[0] for path in ("/standard", "/repo", "/task", "/ce", "/binary", "/hub/u", "/mine")}
    same({p: len(r.at(p)) for p in one}, {p: 1 for p in one}, "each once")
    x = one["/standard"]
    check(verify(x, WHSEC), "signed with the secret that was given", x)
    same((x.headers["X-Custom"], x.json["eventType"], x.json["payload"]["subscription"]), ("value", "TEST", "s"), "it")
    x = one["/repo"]
    want = hmac.new(b"test-secret", x.body, hashlib.sha256).hexdigest()
    check(want in x.headers["X-NemakiWare-Signature"] and x.headers["X-Custom"] == "value", "as the seed signs", x)
    x = one["/task"]
    same(x.headers["X-Signature"], hmac.new(b"s" * 32, x.headers["X-Timestamp"].encode() + b"." + x.body,
                                            hashlib.sha256).hexdigest(), "as seed 004 signs")
    same(one["/ce"].json["specversion"], "1.0", "a CloudEvent")
    check(one["/binary"].headers["ce-id"], "binary", one["/binary"])
    x = one["/hub/u"]
    check(x.headers["Authorization"] and x.headers["X-PCA-SHARED-INTERNAL-KEY"] == "shared-1", "a code", x)
    same(len(r.at("/health")), 1, "after its health check")
    check(one["/mine"].headers["X-Mine"].startswith("TEST "), "one's own", one["/mine"])
    ids = [x.headers[n] for x, n in ((one["/standard"], "webhook-id"), (one["/repo"], "X-NemakiWare-Delivery"))]
    check(len(set(ids)) == 2, "each has an id of its own", ids)
    nothing_stays(srv, c)
    # The preset's last change counts, at once.
    c("PUT", "/v1/presets/mine", {"verdicts": [{"status": "404", "verdict": "success"}]}).want(200)
    r.answer("/mine", 404, times=1)
    same(try_out(c, r.url("/mine"), preset="mine").want(200).json["success"], True, "by its verdicts")


class TlsReceiver(Receiver):
    def __init__(self, t, ctx):
        self.ctx = ctx
        super().__init__(t)

    def start(self):
        super().start()
        self.server.socket = self.ctx.wrap_socket(self.server.socket, server_side=True)
        return self


def test_auth(t):
    p = Pki(t.folder)
    ctx = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ctx.load_cert_chain(*p.make("server", "IP:127.0.0.1"))
    ctx.load_verify_locations(p.ca)
    ctx.verify_mode = ssl.CERT_REQUIRED
    srv, r, safe = t.server(WEBHOOK_TLS_CA=p.ca), Receiver(t), TlsReceiver(t, ctx)
    c = srv.client()
    r.answer("/token", 200, {"Content-Type": "application/json"},
             b'{"access_token":"tok-1","token_type":"Bearer","expires_in":60}')
    oauth = {"type": "oauth2", "tokenUrl": r.url("/token"), "clientId": "c", "clientSecret": "cs-1"}
    for auth, name, value in (
            ({"type": "none"}, "Authorization", None),
            ({"type": "basic", "username": "u", "password": "pw-1"}, "Authorization",
             "Basic " + base64.b64encode(b"u:pw-1").decode()),
            ({"type": "bearer", "token": "t-1"}, "Authorization", "Bearer t-1"),
            ({"type": "apikey", "header": "X-Key", "value": "v-1"}, "X-Key", "v-1"),
            (oauth, "Authorization", "Bearer tok-1")):
        good(c, r.url("/auth"), auth=auth)
        same(r.at("/auth")[-1].headers.get(name), value, auth["type"])
    cert, key = p.make("client", "DNS:client")
    mtls = {"type": "mtls", "certificate": open(cert).read(), "key": open(key).read()}
    at = safe.url("/tls").replace("http:", "https:")
    good(c, at, auth=mtls)
    a = try_out(c, at).want(200).json
    check(not a["success"] and a["error"], "without its certificate", a)
    r.answer("/no-token", 500)
    a = try_out(c, r.url("/never"), auth={**oauth, "tokenUrl": r.url("/no-token")}).want(200).json
    check(not a["success"] and a["error"], "no token", a)
    same(r.at("/never"), [], "and no call")
    nothing_stays(srv, c)


def test_failures(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    for status in (400, 410, 500, 503):
        r.answer("/f", status, body=b"not today", times=1)
        a = try_out(c, r.url("/f")).want(200).json
        same((a["success"], a["statusCode"]), (False, status), "what it said")
        check(str(status) in a["error"], "in words", a)
    for status in (301, 302, 307, 308):
        r.answer("/r", status, {"Location": r.url("/elsewhere")}, times=1)
        a = try_out(c, r.url("/r")).want(200).json
        same((a["success"], a["statusCode"]), (False, status), "a redirect is not followed")
    same(r.at("/elsewhere"), [], "nobody followed")
    a = try_out(c, "http://127.0.0.1:1/").want(200).json
    check(not a["success"] and a["statusCode"] is None and a["error"], "nobody listens", a)
    r.answer("/u", 200)
    a = try_out(c, r.url("/hub"), preset="hub", hub={**hub(r), "healthUrl": r.url("/ill")})
    check(not a.want(200).json["success"], "its health check fails", a)
    n = r.count()
    for body, pointer in (({"name": "s"}, "/url"), ({"name": "s", "url": "http://10.0.0.1/"}, "/url"),
                          ({"name": "s", "url": r.url(), "nope": 1}, "/nope"),
                          ({"name": "s", "url": r.url(), "preset": "nope"}, "/preset"),
                          ({"name": "s", "url": r.url(), "secret": "********"}, "/secret"),
                          ({"name": "s", "url": r.url(), "id": new_id()}, "/id"),
                          ({"name": "s", "url": r.url(), "template": "{"}, "/template"),
                          ({"name": "s", "url": r.url(), "filter": "nope("}, "/filter"),
                          ({"name": "s", "url": "consumer:x"}, "/url"), ({"name": "s", "url": "file:x"}, "/url"),
                          ({"url": r.url()}, "/name")):
        c.post(PATH, body).want(422, pointer=pointer)
    c.post(PATH, b"{").want(400)
    check(c.post(PATH, {"name": "s", "url": r.url(), "description": "x" * 300000}).status in (413, 422), "too large")
    same(r.count(), n, "nobody was called")
    same(try_out(c, r.url("/off"), enabled=False).want(200).json["success"], True, "that it is off is no matter")
    nothing_stays(srv, c)


def test_templates(t):
    c, r = t.srv.client(), Receiver(t)
    good(c, r.url("/t"), template='{a: .eventType, big: [range(10)]}')
    same(r.at("/t")[0].json, {"a": "TEST", "big": list(range(10))}, "what it makes")
    for template, says in (('error("boom")', "boom"), ("last(range(1e12))", ""), ("empty", "")):
        a = try_out(c, r.url("/never"), template=template).want(200).json
        check(not a["success"] and a["statusCode"] is None and says in a["error"] and a["error"], template, a)
    same(r.at("/never"), [], "nothing was sent")
    s = c.post("/v1/subscriptions", {"name": "s", "url": r.url("/saved"), "template": "{n: .payload.n}"}).want(201).json
    path = f"/v1/subscriptions/{s['id']}/test"
    same(c.post(path, {"event": {"payload": {"n": 7}}}).want(200).json["success"], True, "a saved one")
    same(r.at("/saved")[0].json, {"n": 7}, "of the event that was given")
    a = c.post(path, {"event": [1]})
    a.want(422, pointer="/event")
    c.post(path).want(200)
    check(r.at("/saved")[0].id != r.at("/saved")[1].id, "two tests are two deliveries", r.at("/saved"))
    c.delete("/v1/subscriptions/" + s["id"]).want(204)


def test_audited(t):
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    r.answer("/a", 503, times=1)
    try_out(c, r.url("/a?key=query-secret-1"), secret=WHSEC, headers={"X-Custom": "header-value-1"}).want(200)
    s = c.post("/v1/subscriptions", {"name": "kept", "url": r.url("/b")}).want(201).json
    c.post(f"/v1/subscriptions/{s['id']}/test").want(200)
    saved, tried = c.get("/v1/audit", category="SUBSCRIPTION_TESTED").want(200).json["data"]
    same((tried["result"]["success"], tried["result"]["statusCode"], tried["details"]["saved"]), (False, 503, False), "it")
    check(tried["actor"]["name"] and tried["webhook"]["url"].startswith(r.url("/a")), "who and where", tried)
    same(tried["details"]["requestHeaders"], ["X-Custom"], "names of headers")
    check(not any(x in json.dumps(tried) for x in (WHSEC, "query-secret-1", "header-value-1")), "no values", tried)
    same((saved["result"]["success"], saved["target"]["objectId"]), (True, s["id"]), "a saved one alike")


def test_secrets_stay_inside(t):
    """Whatever the receiver says back, and wherever one looks."""
    srv, r = t.server(LOG_LEVEL="debug"), Receiver(t)
    c = srv.client()
    words = {n: f"planted-{n}-4711" for n in ("token", "header", "client", "shared", "event", "otp", "basic")}
    r.answer("/echo", lambda q: (500, {}, json.dumps(dict(q.headers)).encode() + q.body))
    r.answer("/bad-token", lambda q: (401, {}, q.body))
    h = {**hub(r), "sharedInternalKey": words["shared"], "eventApiKey": words["event"], "otp": {"secret": words["otp"]}}
    shown = b""
    for more in ({"auth": {"type": "bearer", "token": words["token"]}, "secret": WHSEC,
                  "headers": {"X-Hidden": {"value": words["header"], "secret": True}}},
                 {"auth": {"type": "basic", "username": "u", "password": words["basic"]}},
                 {"auth": {"type": "oauth2", "tokenUrl": r.url("/bad-token"), "clientId": "c",
                           "clientSecret": words["client"]}},
                 {"preset": "hub", "hub": {**h, "userPath": ""}}):
        shown += try_out(c, r.url("/echo"), **more).want(200).body
    shown += c.get("/v1/audit", limit=1000).want(200).body
    check(any(words["token"] in str(dict(x.headers)) for x in r.at("/echo")), "they are sent", r.at("/echo"))
    srv.stop()
    text = srv.all_logs()
    for word in [*words.values(), WHSEC, WHSEC.removeprefix("whsec_")]:
        check(word.encode() not in shown, "a secret in an answer", word)
        check(word.encode() not in text, "a secret in the log", word)


def test_tenants_and_scopes(t):
    srv, r = t.server(), Receiver(t)
    mine, other = new_id(), new_id()
    c = srv.client(srv.new_key("manage", tenants=[mine])["key"])
    good(c, r.url("/t"))
    same(r.at("/t")[0].json["tenantId"], mine, "the key's own tenant")
    for tenants in ([other], [mine, other]):
        try_out(c, r.url("/t"), tenants=tenants).want(403, pointer="/tenants")
    same(r.count("/t"), 1, "no other was sent")
    for scope in ("read", "publish", "consume", "submit"):
        try_out(srv.client(srv.new_key(scope)["key"]), r.url("/t")).want(403)
    same(r.count("/t"), 1, "no other was sent")
    c = srv.client(srv.new_key("manage", ratePerSecond=1)["key"])
    same(sorted(set(try_out(c, r.url("/t")).status for _ in range(8))), [200, 429], "counted by the key's rate")


def test_at_once(t):
    """A caller has few under way, and those who hang keep nobody else from delivering."""
    srv, r = t.server(), Receiver(t)
    gate = threading.Event()
    t.later(gate.set)
    r.answer("/hang", lambda q: gate.wait(20) and 200)
    c = srv.client()
    got = []
    threads = [threading.Thread(target=lambda: got.append(try_out(srv.client(), r.url("/hang")).status))
               for _ in range(10)]
    for x in threads:
        x.start()
    until(lambda: got.count(429) == 6, "what is too much is refused", 20)
    r.wait_for(4, "/hang")
    other = srv.client(srv.new_key("manage")["key"])
    good(other, r.url("/other"))
    c.post("/v1/subscriptions", {"name": "s", "url": r.url("/d")}).want(201)
    c.publish(hk.envelope()).want(202)
    r.wait_for(1, "/d")
    gate.set()
    for x in threads:
        x.join()
    same(sorted(got), [200] * 4 + [429] * 6, "all are told")
    good(c, r.url("/again"))


def test_a_server_that_stops(t):
    srv, r = t.server(DRAIN_TIMEOUT="1s"), Receiver(t)
    gate = threading.Event()
    t.later(gate.set)
    r.answer("/hang", lambda q: gate.wait(20) and 200)
    got = []
    x = threading.Thread(target=lambda: got.append(attempt(srv, r)))
    x.start()
    r.wait_for(1, "/hang")
    began = time.monotonic()
    srv.stop()
    check(time.monotonic() - began < 8, "it ends", time.monotonic() - began)
    x.join()


def attempt(srv, r):
    try:
        return try_out(srv.client(), r.url("/hang")).status
    except OSError:
        return None


def test_another_node(t):
    """One that does not deliver hands it on, secrets sealed, and keeps nothing."""
    p = Pair(t)
    b = p.nodes[1]
    c = b.client()
    c("PUT", "/v1/presets/mine", {"headers": [{"name": "X-Mine", "value": "{type}"}],
                                  "verdicts": [{"status": "200-299", "verdict": "success"}]}).want(201)
    seen, stop = [], threading.Event()

    def watch():
        while not stop.is_set():
            seen.extend(x[0] for x in b.rows("SELECT question FROM errand"))

    watcher = threading.Thread(target=watch)
    watcher.start()
    good(c, p.r.url("/standard"), secret=WHSEC, template="{a: .eventType}",
         auth={"type": "bearer", "token": "bearer-token-1"})
    good(c, p.r.url("/mine"), preset="mine")
    good(c, p.r.url("/hub"), preset="hub", hub=hub(p.r))
    p.r.answer("/slow", 200, delay=1)
    good(c, p.r.url("/slow"), secret=WHSEC)
    stop.set()
    watcher.join()
    x = p.r.at("/standard")[0]
    check(verify(x, WHSEC) and x.headers["Authorization"] == "Bearer bearer-token-1", "with its secrets", x)
    same((x.json, p.r.at("/mine")[0].headers["X-Mine"]), ({"a": "TEST"}, "TEST"), "template and preset")
    check(seen, "the question was in the store", seen)
    check(not any(w in q for q in seen for w in (WHSEC, "bearer-token-1", "shared-1", "otp-secret-1")), "sealed", seen)
    check(p.proxies[0].asked and not p.proxies[1].asked, "the owner sent them", p.proxies[1].asked)
    until(lambda: int(b.rows("SELECT count(*) FROM errand")[0][0]) == 0, "no errand stays")
    nothing_stays(b, c)
    same(len(c.get("/v1/audit", category="SUBSCRIPTION_TESTED").want(200).json["data"]), 4, "audited once each")
    p.r.answer("/slow", 200, delay=0)
    p.nodes[0].stop()
    until(lambda: p.owns(b), "it delivers itself", 20)
    good(c, p.r.url("/self"), secret=WHSEC)
