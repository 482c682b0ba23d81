"""A key that is limited to a tenant, with all scopes, route by route.

Every line of routes.tbl that such a key may call has a row here: what it names
is another tenant's, or everybody's, and must not be found; lists hold nothing of
it. A new route without a row fails.
"""
import receiver
import routes
from hk import check, envelope, new_id, now, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "1000", "RATE_LIMIT_GENERAL": "0"}
OWN, OTHER = new_id(), new_id()
ALL = ("publish", "read", "consume", "manage", "admin", "submit", "query")
HOOK = {"name": "h", "url": "https://example.com/h"}
# Belongs to nobody, or tells of the caller alone.
SHARED = {"GET /v1/event-types", "GET /v1/event-types/{type}", "GET /v1/presets",
          "GET /v1/presets/{name}", "GET /v1/whoami", "POST /v1/ping", "POST /api/v1/invoices",
          "GET /api/v1/webhooks/stats", "POST /api/v1/webhook-configurations"}


class World:
    """One of everything, of another tenant (`b`) or of none (`n`)."""

    def __init__(self, t):
        self.srv = t.server()
        self.r = Receiver(t)
        self.all = self.srv.client(self.srv.new_key(*ALL)["key"])
        self.r.answer("/dead", lambda q: 400)
        self.begin = now()
        self.subs = [self.made("/v1/subscriptions", name="s", url=self.r.url("/dead"),
                               types=["RecordUpdated"], **x)["id"]
                     for x in ({"tenants": [OTHER]}, {})]
        self.names = []
        for x in ({"tenants": [OTHER]}, {}):
            self.names.append("c-" + new_id())
            self.all("PUT", "/v1/consumers/" + self.names[-1], x).want(201)
        self.event = envelope(tenant=OTHER)
        self.all.publish(self.event).want(202)
        self.deads = until(lambda: (lambda l: l if len(l) == 2 else None)(
            self.all.get("/v1/dead-letters").want(200).json["data"]), "two dead letters", 30)
        self.deads = [d["id"] for d in self.deads]
        self.replays = [self.made("/v1/replays", 202, subscription=s, since=self.begin,
                                  types=["Nothing"])["id"]
                        for s in self.subs]
        self.keys = [self.srv.new_key("read", **x)["id"] for x in ({"tenants": [OTHER]}, {})]
        made = self.all.post("/api/v1/invoices", {"callbackUrl": self.r.url("/cb")}).want(202).json
        self.task = made["data"]["taskId"]
        self.config = self.made("/api/v1/webhook-configurations", url=self.r.url("/conf"),
                                events=["invoice.failed"])["data"]["id"]
        self.all("PATCH", f"/api/v1/invoices/{self.task}/status", {"status": "COMPLETED"}).want(200)
        self.told = until(lambda: self.all.get("/api/v1/webhooks", taskId=self.task).want(200)
                          .json["data"]["deliveries"], "its webhook", 20)[0]
        self.key = self.srv.client(self.srv.new_key(*ALL, tenants=[OWN])["key"])
        self.foreign = self.subs + self.names + self.deads + self.replays + self.keys + [
            self.task, self.config, self.event["eventId"], self.told["id"]]

    def made(self, path, status=201, **body):
        return self.all.post(path, body).want(status).json

    def rows(self):
        """{line of the table: [(path, body)]}, each of them not to be found."""
        out = {
            "POST /v1/events": [("/v1/events", envelope(tenant=OTHER))],
            "GET /v1/events/{eventId}": [("/v1/events/" + self.event["eventId"], None)],
            "GET /v1/events": [("/v1/events?tenant=" + OTHER, None)],
            "GET /v1/events/stream": [("/v1/events/stream?tenant=" + OTHER, None)],
            "POST /v1/subscriptions": [("/v1/subscriptions", {**HOOK, "tenants": [OTHER]}),
                                       ("/v1/subscriptions", {**HOOK, "tenants": [OWN, OTHER]})],
            "POST /v1/subscriptions/test": [("/v1/subscriptions/test", {**HOOK, "tenants": [OTHER]}),
                                            ("/v1/subscriptions/test", {**HOOK, "tenants": [OWN, OTHER]})],
            "PUT /v1/consumers/{name}": [("/v1/consumers/new", {"tenants": [OTHER]})],
            "POST /v1/replays": [("/v1/replays", {"subscription": s, "since": self.begin})
                                 for s in self.subs],
            "POST /v1/keys": [("/v1/keys", {"name": "k", "scopes": ["read"], **x})
                              for x in ({}, {"tenants": [OTHER]}, {"tenants": [OWN, OTHER]})],
            "POST /api/v1/webhooks/{deliveryId}/retry":
                [(f"/api/v1/webhooks/{self.told['id']}/retry", None)],
            "PATCH /api/v1/invoices/{taskId}/status":
                [(f"/api/v1/invoices/{self.task}/status", {"status": "FAILED"})],
        }
        bodies = {"POST": {}, "PATCH": {"name": "x"}}
        for prefix, ids in (("/v1/subscriptions/", self.subs), ("/v1/consumers/", self.names),
                            ("/v1/deliveries/", self.deads), ("/v1/dead-letters/", self.deads),
                            ("/v1/replays/", self.replays), ("/v1/keys/", self.keys),
                            ("/api/v1/invoices/", [self.task]),
                            ("/api/v1/webhook-configurations/", [self.config])):
            for r in routes.TABLE:
                if not r.path.startswith(prefix + "{") or repr(r) in out:
                    continue
                body = bodies.get(r.method)
                if r.path.endswith(("/ack", "/nack", "/extend")):
                    body = {"cursors": ["x"]}
                out[repr(r)] = [(r.filled(id), body if r.body else None) for id in ids]
        return out

    def lists(self):
        """Whatever they hold, it is the key's own."""
        return ("/v1/events", "/v1/subscriptions", "/v1/deliveries", "/v1/dead-letters",
                "/v1/replays", "/v1/consumers", "/v1/keys", "/api/v1/webhook-configurations",
                "/api/v1/invoices", "/api/v1/webhooks?taskId=" + self.task, "/api/v1/webhooks/stats",
                "/v1/event-types", "/v1/presets")


def test_nothing_of_others(t):
    w = World(t)
    rows, bad, n = w.rows(), [], 0
    for line, asks in rows.items():
        check(line in map(repr, routes.TABLE), "a row without a route", line)
        for path, body in asks:
            a = w.key(line.split()[0], path, body)
            n += 1
            if a.status not in (403, 404):
                bad.append((line, path, a))
    check(not bad, f"{len(bad)} of {n} reached what is another's", *bad[:10])
    for path in w.lists():
        text = w.key.get(path).want(200).body.decode()
        there = [x for x in w.foreign + [OTHER] if x in text]
        check(not there, f"{path} shows what is another's", there, text)
    for verb in ("requeue", "skip"):
        got = w.key.post("/v1/dead-letters/" + verb, {"filter": {}, "reason": "x", "dryRun": True} if verb == "skip"
                         else {"filter": {}, "dryRun": True}).want(200).json
        check(not any(got.get(k) for k in ("matched", "count", "total", "requeued", "skipped")), "none in bulk", got)
    # nothing was touched
    for s in w.subs:
        same(w.all.get("/v1/subscriptions/" + s).want(200).json["enabled"], True, "as it was")
    same(len(w.all.get("/v1/dead-letters").want(200).json["data"]), 2, "both wait still")
    same(w.all.get(f"/api/v1/invoices/{w.task}").want(200).json["data"]["status"], "COMPLETED", "task")


def test_each_route_has_a_row(t):
    w = World(t)
    known = set(w.rows()) | SHARED | {"POST /v1/dead-letters/requeue", "POST /v1/dead-letters/skip"}
    known |= {"GET " + p.split("?")[0] for p in w.lists()}
    for r in routes.TABLE:
        if r.scopes & {"open", "user", "local_read", "whole"}:
            continue  # test_matrix.py has these: no key, or none of a tenant
        check(repr(r) in known, f"{r} is judged here", r.scopes)
    for r in routes.TABLE:  # what is told there is of all tenants together
        if r.path.startswith(("/v1/users", "/v1/audit", "/v1/seal", "/v1/backup", "/v1/resume", "/v1/sources", "/metrics")):
            check("whole" in r.scopes, f"{r} is SCOPE_WHOLE", r.scopes)


def test_opml_of_others(t):
    """The subscriptions of people belong to no tenant."""
    srv = t.srv
    srv.admin().post("/v1/users", {"name": "bob", "password": "bob has a secret"}).want(201)
    key = srv.client(srv.new_key(*ALL, tenants=[OWN])["key"])
    key.get("/v1/users/bob/opml").want(403, says="limited to tenants")
    key("POST", "/v1/users/bob/opml", b"<opml/>", {"Content-Type": "text/x-opml"}).want(403)
    same(srv.client().get("/v1/users/bob/opml").status, 200, "an admin's key may")
