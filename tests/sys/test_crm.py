"""examples/crm: the acceptance conditions 8.1 to 8.5 of seed 003, with its six consumers."""
import json
import os
import re
import signal
import sqlite3
import subprocess
import time
import urllib.error
import urllib.request

import hk
from hk import ROOT, SLOW, Skip, check, envelope, new_id, same, until

PROGRAM = os.path.join(ROOT, "build", "release", "example", "crm")
CONSUMERS = ["Core", "Sharing", "Search", "Reporting", "Automation", "Approval"]
OUTBOXES = ["core", "metadata", "sharing", "approval"]


class Company:
    """A server with the demo's databases beside it."""

    def __init__(self, t, relay=False, **settings):
        if not os.path.exists(PROGRAM):
            raise Skip("the example is not built")
        self.relayed = ["--relayed"] if relay else []
        self.srv = t.server(start=False, **settings)
        self.dir = os.path.join(self.srv.data, "crm")
        if relay:
            self.srv.settings.update(OUTBOX_URL=f"sqlite://{self.dir}/core.db", OUTBOX_POLL="50ms")
        self.srv.start()
        self.t = t

    def argv(self, *args):
        return [PROGRAM, "--socket", os.path.join(self.srv.data, "hikyaku.sock"), *self.relayed, *args, self.dir]

    def demo(self, *args, seconds=300):
        return hk.run(self.argv(*args), cwd=self.srv.folder, seconds=seconds)

    def begin(self, *args):
        """The demo as a process that goes on; .text() is what it says."""
        out = self.t.path("demo-" + new_id()[:8])
        with open(out, "wb") as f:
            p = subprocess.Popen(self.argv(*args), stdout=f, stderr=f, cwd=self.srv.folder)
        self.t.later(lambda: p.poll() is None and p.kill())
        def text():
            with open(out, errors="replace") as f:
                return f.read()

        p.text, p.said = text, lambda word: word in text()
        return p

    def sql(self, name, text, *args):
        db = sqlite3.connect(os.path.join(self.dir, name.lower() + ".db"), timeout=20)
        try:
            with db:
                return db.execute(text, args).fetchall()
        finally:
            db.close()

    def one(self, name, text, *args):
        return self.sql(name, text, *args)[0][0]

    def tenant(self):
        return self.one("core", "SELECT value FROM meta WHERE name = 'tenant'")

    def outbox(self):
        """Every event that was saved: (id, type, tenant)."""
        return [r for name in OUTBOXES
                for r in self.sql(name, "SELECT event_id, event_type, published_at FROM outbox_events")]

    def dump(self, name):
        """A projection whole, but for what counts how often it was told."""
        skip = {"processed_events", "counters", "hikyaku_verdict", "last_applied_version",
                "outbox_events", "generations"}
        tables = [r[0] for r in self.sql(name, "SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {t: sorted(self.sql(name, f"SELECT * FROM {t}"), key=repr)
                for t in tables if t not in skip and not t.startswith("sqlite_")}

    def dumps(self):
        return {n: self.dump(n) for n in CONSUMERS}

    def counters(self, what):
        return {n: (self.sql(n, "SELECT n FROM counters WHERE name = ?", what) or [(0,)])[0][0]
                for n in CONSUMERS}

    def consumer(self, name):
        return self.srv.client().get(f"/v1/consumers/crm-{name.lower()}").want(200).json

    def subscribers(self):
        """eventType -> who the catalog says gets it, of the specification's types."""
        types = self.srv.client().get("/v1/event-types").want(200).json["data"]
        return {x["type"]: x["subscribers"] for x in types if "partitionKey" in x}


def rows(out):
    """The table: consumer -> its cells."""
    return {l.split()[0]: l.split() for l in out.split("\n") if l.split()[:1] and l.split()[0] in CONSUMERS}


def consistent(r):
    r.want(0)
    same({n: c[-1] for n, c in rows(r.out).items()}, {n: "yes" for n in CONSUMERS}, "consistent")
    return r


def test_8_1_saved_is_recorded_and_delivered(t):
    """A save leaves its events whoever is killed, and all of them arrive."""
    co = Company(t, relay=True)
    saved = 0
    for i in range(5):
        p = co.begin("--records", "400")
        until(lambda: p.said("six consumers") and co.one("core", "SELECT count(*) FROM records") > saved + 20,
              "it saves", 60)
        p.kill()
        p.wait()
        saved = co.one("core", "SELECT count(*) FROM records")
        # A record without its event, or an event without its record, would show here.
        same(co.sql("core", "SELECT count(*) FROM records r WHERE NOT EXISTS (SELECT 1 FROM outbox_events o"
                    " WHERE o.event_type = 'RecordCreated' AND json_extract(o.payload, '$.recordId') = r.record_id)"),
             [(0,)], f"every record has its event, round {i}")
        same(co.sql("core", "SELECT count(*) FROM outbox_events o WHERE o.event_type = 'RecordCreated' AND NOT EXISTS"
                    " (SELECT 1 FROM records r WHERE json_extract(o.payload, '$.recordId') = r.record_id)"),
             [(0,)], f"every event has its record, round {i}")
    p = co.begin("--records", "150")
    until(lambda: co.one("core", "SELECT count(*) FROM records") > saved + 40, "it goes on", 60)
    co.srv.kill9()
    time.sleep(0.3)
    co.srv.start()
    same(p.wait(300 * SLOW), 0, "it outlives a server that was killed")
    consistent(co.demo("--check"))

    events = co.outbox()
    same([e for e in events if e[2] is None], [], "all are published")
    log = [e["eventId"] for e in co.srv.client().events(tenant=co.tenant())]
    same(sorted(log), sorted(e[0] for e in events), "each is in the log, once")


def test_8_2_repeats_are_known_by_event_id(t):
    co = Company(t)
    r = consistent(co.demo("--records", "40"))
    repeated = {n: int(c[2]) for n, c in rows(r.out).items()}
    check(sum(repeated.values()) > 20, "some came twice", repeated)
    before, applied = co.dumps(), co.counters("applied")
    c = co.srv.client()
    # The same rows published again: one event each.
    co.sql("core", "UPDATE outbox_events SET published_at = NULL")
    n = len(c.events())
    consistent(co.demo("--records", "0"))
    same(len(c.events()), n, "no event is in the log twice")
    # And all of the log delivered again, to all: nothing changes.
    begin = "2020-01-01T00:00:00Z"
    for name in CONSUMERS:
        c.post("/v1/replays", {"subscription": co.consumer(name)["id"], "since": begin}).want(202)
    p = co.begin("--records", "0", "--seconds", "300")
    want = {n: repeated[n] + sum(co.sql(n, "SELECT count(*) FROM processed_events")[0]) for n in CONSUMERS}
    until(lambda: all(co.counters("repeated")[n] >= want[n] for n in CONSUMERS), "all came again", 90)
    p.send_signal(signal.SIGINT)
    same(p.wait(30 * SLOW), 0, "it ends well")
    same(co.counters("applied"), applied, "nothing was applied again")
    same(co.dumps(), before, "projections are as they were")
    same(co.sql("automation", "SELECT event_id, action_key FROM notifications GROUP BY 1, 2 HAVING count(*) > 1"),
         [], "no message twice")


def test_8_3_older_versions_are_ignored(t):
    co = Company(t)
    consistent(co.demo("--records", "40"))
    before, stale = co.dumps(), co.counters("stale")
    tenant, c = co.tenant(), co.srv.client()
    sent = 0
    for object_name, record, at in co.sql("core", "SELECT object_name, record_id, version_us FROM records"):
        old = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000000 - 1))
        # As instants: the same time, written for Tokyo, sorts behind as text.
        tokyo = time.strftime("%Y-%m-%dT%H:%M:%S+09:00", time.gmtime(at // 1000000 - 1 + 9 * 3600))
        key = f"{object_name}:{tenant}:{record}"
        rec = {"objectName": object_name, "recordId": record}
        batch = [envelope(type, tenant=tenant, payload={**rec, **more, "recordVersion": version},
                          sequence={"partitionKey": key, "recordVersion": version})
                 for type, version, more in (
                     ("OwnerChanged", tokyo, {"oldOwnerId": new_id(), "newOwnerId": new_id()}),
                     ("RecordUpdated", old + "Z", {"ownerId": new_id(), "changedFields": ["Name"]}),
                     ("RecordCreated", old + "Z", {"ownerId": new_id(), "fields": {}, "changedFields": []}))]
        results = c.publish(batch).want(200).json["results"]
        same([x.get("status") for x in results], [202] * 3, "published")
        sent += 1
    deleted = co.one("core", "SELECT count(*) FROM records WHERE deleted = 1")
    check(deleted > 0 and sent > deleted, "deleted ones among them", deleted, sent)
    p = co.begin("--records", "0", "--seconds", "300")
    want = {"Core": 0, "Sharing": 3, "Search": 2, "Reporting": 3, "Automation": 3, "Approval": 2}
    until(lambda: co.counters("stale") == {n: stale[n] + want[n] * sent for n in CONSUMERS},
          "each was looked at and ignored", 60)
    p.send_signal(signal.SIGINT)
    same(p.wait(30 * SLOW), 0, "it ends well")
    same(co.dumps(), before, "projections are as they were")
    consistent(co.demo("--check"))


def test_8_4_all_consumers_follow_core(t):
    co = Company(t, relay=True)
    r = consistent(co.demo("--records", "100"))
    check("the server's relay" in r.out, "by the relay", r.out)
    # By another road than the demo's own comparison.
    records = {(o, i): (own, json.loads(f)) for o, i, own, f in co.sql(
        "core", "SELECT object_name, record_id, owner_id, fields FROM records WHERE deleted = 0")}
    stages = {}
    for (o, _), (_, f) in records.items():
        if o == "Opportunity":
            n, amount = stages.get(f["StageName"], (0, 0))
            stages[f["StageName"]] = (n + 1, amount + f["Amount"])
    same({s: (n, a) for s, n, a in co.sql("reporting", "SELECT * FROM pipeline")}, stages, "the pipeline")
    same({(o, i): text for o, i, text in co.sql("search", "SELECT object_name, record_id, text FROM documents")},
         {k: " ".join(filter(None, (f["Name"], f.get("Email")))) for k, (_, f) in records.items()},
         "documents, with addresses that no event had")
    same(set(co.sql("search", "SELECT record_id FROM documents WHERE hidden = 1")),
         {(i,) for (o, i), (_, f) in records.items() if f.get("IsConverted")}, "converted leads are hidden")
    same({(o, i): s for o, i, s in co.sql("sharing", "SELECT object_name, record_id, subject_id FROM shares"
                                          " WHERE active = 1 AND cause = 'owner'")},
         {k: own for k, (own, _) in records.items()}, "owners' shares")
    due = {i for (o, i), (_, f) in records.items() if o == "Quote" and f["DiscountPercent"] >= 20}
    check(len(due) > 2, "some quotes wait", due)
    same(due, {i for (o, i), (_, f) in records.items() if f.get("ApprovalStatus")}, "decisions are in Core")
    same(co.one("core", "SELECT count(*) FROM locks WHERE released = 0"), 0, "locks are released")
    secret = ["@example.com", "DiscountPercent\": ", "\"Amount\":", "+81-3"]
    for e in co.srv.client().events():
        text = json.dumps(e)
        check(not any(s in text for s in secret), "an event shows what it should not", text)

    # The comparison finds what is wrong.
    co.sql("reporting", "UPDATE opportunities SET stage = 'x' WHERE record_id IN"
           " (SELECT record_id FROM opportunities WHERE deleted = 0 LIMIT 1)")
    r = co.demo("--check").want(1, says="differs from Core")
    same(rows(r.out)["Reporting"][-1], "NO", "by name")
    same(rows(r.out)["Search"][-1], "yes", "and no other")


def test_8_5_dead_letters_stop_nothing(t):
    co = Company(t)
    consistent(co.demo("--records", "10"))
    tenant, c = co.tenant(), co.srv.client()
    live = "SELECT record_id FROM records WHERE deleted = 0 AND object_name = 'Account'"
    record = co.one("core", live)
    key = f"Account:{tenant}:{record}"
    poison = []
    for i in range(20):
        wrong = {"objectName": "Account", "recordId": record if i % 2 else 7, "changedFields": "Name"}
        # Some with the key of a record that lives on.
        poison.append(envelope("RecordUpdated", key if i < 5 else f"Account:{tenant}:{new_id()}", tenant, wrong))
    same([r["status"] for r in c.publish(poison).want(200).json["results"]], [202] * 20, "published")
    p = co.begin("--records", "40", "--seconds", "300")
    until(lambda: p.said("stay on"), "all that is right flows", 90)
    named = {n: co.consumer(n)["id"] for n in CONSUMERS}
    takers = ["Sharing", "Search", "Reporting", "Automation", "Approval"]

    def dead(name):
        return c.get("/v1/dead-letters", subscription=named[name], limit=100).want(200).json["data"]

    for name in takers:
        until(lambda: len(dead(name)) == 20, f"{name} gave all twenty up", 30)
        same({d["eventId"] for d in dead(name)}, {e["eventId"] for e in poison}, "these and no others")
    same(dead("Core"), [], "Core does not get them")

    # A schema that does not fit gets no second try.
    letters = dead("Search")
    full = c.get("/v1/dead-letters/" + letters[0]["id"]).want(200).json
    same(len(full["attempts"]), 1, "one attempt")
    check("/payload/" in json.dumps(full), "it says what is wrong", full)

    # Requeued it comes again, and is given up again; skipped it is done with.
    letter = letters[0]["id"]
    c.post(f"/v1/dead-letters/{letter}/requeue", {"reason": "try it once more"}).want(202)
    until(lambda: len(c.get("/v1/deliveries/" + letter).want(200).json["attempts"]) == 2, "it came again", 30)
    until(lambda: len(dead("Search")) == 20, "it is one again", 30)
    for d in dead("Search"):
        c.post(f"/v1/dead-letters/{d['id']}/skip", {"reason": "made up"}).want(200)
    same(dead("Search"), [], "none waits")
    text = json.dumps(c.get("/v1/audit", limit=1000).want(200).json)
    check("try it once more" in text and "made up" in text, "who decided what and why is kept")
    p.send_signal(signal.SIGINT)
    same(p.wait(30 * SLOW), 0, "it ends well")
    r = consistent(co.demo("--check"))
    same({n: int(rows(r.out)[n][4]) for n in CONSUMERS},
         {"Core": 0, **{n: 20 + (n == "Search") for n in takers}}, "and it tells of them")

    # One that a consumer gave up by mistake: requeued, it is applied.
    record = co.one("core", live)
    key = f"Account:{tenant}:{record}"
    version = co.one("core", "SELECT version_us FROM records WHERE record_id = ?", record) + 5000000
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(version // 1000000)) + f".{version // 1000 % 1000:03}Z"
    event, owner = new_id(), new_id()
    payload = {"objectName": "Account", "recordId": record, "ownerId": owner, "changedFields": [],
               "recordVersion": stamp}
    db = sqlite3.connect(co.dir + "/core.db", timeout=20)
    with db:
        db.execute("UPDATE records SET owner_id = ?, version_us = ? WHERE record_id = ?", (owner, version, record))
        db.execute("INSERT INTO outbox_events(event_id, tenant_id, event_type, partition_key, record_version,"
                   " producer, payload, occurred_at, published_at) VALUES (?, ?, 'RecordUpdated', ?, ?,"
                   " '{\"service\":\"core-platform\",\"instanceId\":\"t\"}', ?, ?, ?)",
                   (event, tenant, key, stamp, json.dumps(payload), stamp, stamp))
    db.close()
    c.publish(envelope("RecordUpdated", key, tenant, payload, eventId=event,
                       sequence={"partitionKey": key, "recordVersion": stamp})).want(202)

    def fetch():
        """As a worker. What the demo did not acknowledge as it ended may come before."""
        for e in c.get("/v1/consumers/crm-search/events", wait=2).want(200).json["data"]:
            if e["eventId"] == event:
                return e["cursor"]
            c.post("/v1/consumers/crm-search/ack", {"cursors": [e["cursor"]]}).want(200)
        return None

    cursor = until(fetch, "the worker gets it", 30)
    c.post("/v1/consumers/crm-search/nack", {"cursors": [cursor], "dead": True, "reason": "a mistake"}).want(200)
    letter = until(lambda: dead("Search"), "it is given up", 20)[0]
    c.post(f"/v1/dead-letters/{letter['id']}/requeue", {"reason": "it was right"}).want(202)
    consistent(co.demo("--records", "0"))
    same(co.one("search", "SELECT owner_id FROM documents WHERE record_id = ?", record), owner, "it was applied")


def test_all_twenty_types(t):
    """Published, held against their schemas, delivered to whom the seed names, and processed."""
    co = Company(t, relay=True, EVENT_SCHEMA_MODE="strict")
    consistent(co.demo("--records", "60"))
    want = co.subscribers()
    same(len(want), 20, "the catalog")
    c = co.srv.client()
    log = {}
    for e in c.events():
        log.setdefault(e["eventType"], set()).add(e["eventId"])
    same(set(log), set(want), "each type was published")
    for name in CONSUMERS:
        processed = {r[0] for r in co.sql(name, "SELECT event_id FROM processed_events")}
        mine = {x for x, who in want.items() if name in who}
        same(set(co.consumer(name)["types"]), mine, f"{name} is subscribed to these")
        for x in want:
            same(processed & log[x], log[x] if x in mine else set(), f"{name} and {x}")
    same(c.get("/v1/dead-letters").want(200).json["data"], [], "nothing was given up")


def test_core_is_asked_with_its_key(t):
    co = Company(t)
    p = co.begin("--records", "10", "--seconds", "300")
    until(lambda: p.said("stay on"), "it stays on", 60)
    base = re.search(r"http://127\.0\.0\.1:\d+", p.text())[0]
    record = co.one("core", "SELECT record_id FROM records WHERE deleted = 0 AND object_name = 'Contact'")

    def get(path, **head):
        try:
            with urllib.request.urlopen(urllib.request.Request(base + path, headers=head), timeout=10) as r:
                return r.status
        except urllib.error.HTTPError as e:
            return e.code

    path = f"/crm/records/Contact/{record}"
    same(get(path), 401, "without a key")
    same(get(path, Authorization="Bearer " + "0" * 64), 401, "with another")
    p.send_signal(signal.SIGTERM)
    same(p.wait(30 * SLOW), 0, "it ends well")


def test_once_cleans_up(t):
    co = Company(t)
    r = consistent(co.demo("--once", "--records", "20"))
    check("removed" in r.out, "it says so", r.out)
    check(not os.path.exists(co.dir), "no database stays")
    same(co.srv.client().get("/v1/consumers").want(200).json["data"], [], "nor a consumer")
    co.demo("--check").want(1, says="run it without --check first")
    check(not os.path.exists(co.dir), "a check makes nothing")
    consistent(co.demo("--once", "--records", "20"))
    r = hk.run([PROGRAM, "--records", "x", co.dir])
    r.want(2, says="usage:")
    co.srv.stop()
    co.demo("--records", "1").want(1, says="no server runs there")
