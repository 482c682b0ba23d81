"""The outbox relay (E7 to E11): rows become events once, in order; what is wrong is a dead letter."""
import atexit
import json
import os
import re
import sqlite3
import subprocess

import hk
from hk import ROOT, TENANT, Cluster, check, new_id, now, same, until

SETTINGS = {"OUTBOX_POLL": "50ms"}


def shipped(name):
    with open(os.path.join(ROOT, "outbox", name)) as f:
        return f.read()


class Lite:
    """An outbox in a SQLite file."""
    mode = "polling"

    def __init__(self, t, table=True):
        self.path = t.path(f"outbox-{new_id()[:8]}.db")
        self.url = "sqlite://" + self.path
        if table:
            self.make()

    def make(self):
        self.sql(shipped("sqlite.sql"), script=True)

    def sql(self, text, *args, script=False):
        db = sqlite3.connect(self.path, timeout=20)
        try:
            with db:
                return db.executescript(text) if script else db.execute(text, args).fetchall()
        finally:
            db.close()

    def put(self, rows):
        db = sqlite3.connect(self.path, timeout=20)
        with db:
            for r in rows:
                names = list(r)
                db.execute(f"INSERT INTO outbox_events ({', '.join(names)}) VALUES "
                           f"({', '.join('?' * len(names))})", [r[n] for n in names])
        db.close()

    def waiting(self):
        return self.sql("SELECT count(*) FROM outbox_events WHERE published_at IS NULL")[0][0]


_cluster = []


def cluster(t):
    """One PostgreSQL for the outboxes of this file, whatever our own store is."""
    if not _cluster:
        os.chmod(t.folder, 0o755)
        _cluster.append(Cluster(t.path("pg")))
        atexit.register(lambda: _cluster and _cluster[0].tool("drop"))
    return _cluster[0]


class Pg:
    def __init__(self, t, mode, table=True):
        self.mode, self.url = mode, hk.pg_database(cluster(t).url)
        if table:
            self.make()

    def make(self):
        self.feed(shipped("postgres.sql"))

    def feed(self, text):
        """What is too long for an argument."""
        r = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url],
                           input=text, text=True, capture_output=True)
        check(r.returncode == 0, "psql takes it", r.stderr)

    def sql(self, text):
        return hk.psql(self.url, text)

    @staticmethod
    def lit(v):
        if v is None:
            return "NULL"
        return str(v) if isinstance(v, int) else "'" + str(v).replace("'", "''") + "'"

    def put(self, rows):
        text = ""
        for r in rows:
            text += (f"INSERT INTO outbox_events ({', '.join(r)}) VALUES "
                     f"({', '.join(self.lit(v) for v in r.values())});\n")
        self.feed("BEGIN;" + text + "COMMIT;")

    def waiting(self):
        return int(self.sql("SELECT count(*) FROM outbox_events WHERE published_at IS NULL"))


def outboxes(t):
    return [Lite(t), Pg(t, "polling"), Pg(t, "xid")]


def row(key="k", n=0, **over):
    r = {"event_id": new_id(), "tenant_id": TENANT, "event_type": "order.paid",
         "schema_version": 1, "partition_key": key, "record_version": now(),
         "correlation_id": new_id(), "producer": '{"service":"core","instanceId":"i-1"}',
         "payload": json.dumps({"n": n}), "occurred_at": now()}
    r.update(over)
    return r


def serve(t, box, **more):
    return t.server(OUTBOX_URL=box.url, OUTBOX_MODE=box.mode, **more)


def relayed(c, n, **query):
    return until(lambda: (lambda l: l if len(l) >= n else None)(
        [e for e in c.events(**query) if not e["eventType"].startswith("ops.")]),
        f"{n} events", 30)


def metric(srv, name):
    text = srv.client().get("/metrics").body.decode()
    return float(re.search(rf"^{name} (\S+)", text, re.M)[1])


def test_rows_become_events(t):
    for box in outboxes(t):
        rows = [row("a" if i % 2 else "b", i) for i in range(2500)]
        odd = '{"n": 1e400, "text": "\\u00e9 é", "blank" :  [ 1,2 ] }'
        rows[7]["payload"] = odd
        box.put(rows[:1500])
        srv = serve(t, box)
        c = srv.client()
        box.put(rows[1500:])
        got = relayed(c, 2500)
        same([e["eventId"] for e in got], [r["event_id"] for r in rows], f"{box.mode}: all, in order")
        e, r = got[7], rows[7]
        same((e["tenantId"], e["eventType"], e["schemaVersion"], e["correlationId"],
              e["sequence"]["partitionKey"], e["sequence"]["recordVersion"], e["occurredAt"],
              e["producer"]),
             (TENANT, "order.paid", 1, r["correlation_id"], "a", r["record_version"],
              r["occurred_at"], {"service": "core", "instanceId": "i-1"}), "the envelope")
        raw = c.get("/v1/events/" + r["event_id"]).want(200).body.decode()
        check(odd in raw, "payload bytes are as written", raw)
        until(lambda: box.waiting() == 0, "published_at is set", 20)
        lines = [l for l in srv.log() if l.get("msg") == "event relayed"
                 and l.get("correlationId") == r["correlation_id"]]
        same(len(lines), 1, "its correlationId in the relay's line")
        same(metric(srv, "hikyaku_relay_events_total"), 2500.0, "counted")
        same(metric(srv, "hikyaku_relay_up"), 1.0, "up")
        srv.stop()


def test_a_row_read_twice_is_one_event(t):
    for box in outboxes(t):
        rows = [row("a", i) for i in range(100)]
        box.put(rows)
        srv = serve(t, box)
        c = srv.client()
        relayed(c, 100)
        until(lambda: box.waiting() == 0, "marked", 20)
        srv.kill9()
        # as if it had died between the append and the mark
        box.sql("UPDATE outbox_events SET published_at = NULL")
        box.put([row("a", 100)])
        srv.start()
        c = srv.client()
        got = relayed(c, 101)
        until(lambda: box.waiting() == 0, "marked again", 20)
        same(len(c.events()), 101, "each once")
        same([e["payload"]["n"] for e in got], list(range(101)), "in order")
        check(metric(srv, "hikyaku_relay_known_total") >= 100, "known ones are counted")
        srv.stop()


def test_what_is_no_event(t):
    for box in outboxes(t):
        good = [row("k", i) for i in range(3)]
        bad = [row("k", 10, event_type="no type!"), row("k", 11, producer='{"service":"x"}'),
               row("k", 12, payload="[1]")]
        if isinstance(box, Lite):
            bad += [row("k", 13, payload='{"a":1}, "x":{"b":2}'), row("k", 14, payload="{"),
                    row("k", 15, tenant_id="nobody")]
        box.put([good[0], *bad[:2], good[1], *bad[2:], good[2]])
        srv = serve(t, box)
        c = srv.client()
        got = relayed(c, 3)
        same([e["payload"]["n"] for e in got], [0, 1, 2], "the key goes on")
        until(lambda: box.waiting() == 0, "all are marked", 20)
        dead = c.get("/v1/dead-letters", reason="SCHEMA", limit=100).want(200).json["data"]
        same(len(dead), len(bad), "a dead letter each")
        d = dead[-1]
        same((d["subscriptionId"], d["source"], d["status"], d["deadLetter"]["state"],
              d["eventType"]), (None, "outbox", "DEAD_LETTER", "open", "ops.source.refused"),
             "what it is")
        full = c.get("/v1/dead-letters/" + d["id"]).want(200).json
        p = full["event"]["payload"]
        same(p["pointer"], "/eventType", "where")
        copy = json.loads(p["copy"])
        same((copy["eventId"], copy["eventType"]), (bad[0]["event_id"], "no type!"), "its copy")
        same(full["event"]["correlationId"], bad[0]["correlation_id"], "its correlationId")
        same(metric(srv, "hikyaku_source_refused_total"), float(len(bad)), "counted")
        audit = c.get("/v1/audit", category="SOURCE_REFUSED", limit=100).want(200).json["data"]
        same(len(audit), len(bad), "audited")
        # deciding
        at = f"/v1/dead-letters/{d['id']}"
        c.post(at + "/requeue", {}).want(422, pointer="/eventType", says="still is no event")
        c.post(at + "/requeue", {"event": {**copy, "tenantId": 1}}).want(
            422, pointer="/event/eventType")
        c.post(at + "/requeue", {"event": {**copy, "eventType": "a.b", "tenantId": 1}}).want(
            422, pointer="/event/tenantId")
        c.post(at + "/requeue", {"event": copy, "payload": {}}).want(422, pointer="/payload")
        c.post(at + "/requeue", {"payload": {"n": 9}}).want(422, pointer="/eventType")
        a = c.post(at + "/requeue", {"event": {**copy, "eventType": "order.mended"},
                                     "reason": "typo"}).want(202).json
        same(a["eventId"], bad[0]["event_id"], "it keeps its id")
        e = c.get("/v1/events/" + a["eventId"]).want(200).json
        same((e["eventType"], e["causationId"], e["causedByDelivery"], e["payload"]),
             ("order.mended", full["eventId"], d["id"], {"n": 10}), "it names its cause")
        c.post(at + "/requeue", {}).want(409)
        # the payload alone; and skipping
        d = next(x for x in dead if json.loads(
            c.get("/v1/dead-letters/" + x["id"]).json["event"]["payload"]["copy"])["eventId"]
            == bad[2]["event_id"])
        c.post(f"/v1/dead-letters/{d['id']}/requeue", {"payload": {"n": 77}}).want(202)
        same(c.get("/v1/events/" + bad[2]["event_id"]).want(200).json["payload"], {"n": 77}, "mended")
        c.post(f"/v1/dead-letters/{dead[-2]['id']}/skip", {"reason": "old"}).want(200)
        same(len(c.get("/v1/dead-letters", limit=100).json["data"]), len(bad) - 3, "three decided")
        srv.cli("dead", "list").want(0)
        # of a key that is limited to a tenant they are hidden
        mine = srv.client(srv.new_key("read", "manage", tenants=[TENANT])["key"])
        same(mine.get("/v1/dead-letters").want(200).json["data"], [], "not a tenant's")
        mine.get("/v1/dead-letters/" + dead[0]["id"]).want(404)
        # read again, they are the same letters
        srv.kill9()
        box.sql("UPDATE outbox_events SET published_at = NULL")
        srv.start()
        until(lambda: box.waiting() == 0, "marked again", 20)
        c = srv.client()
        same(len(c.get("/v1/dead-letters", limit=100).json["data"]), len(bad) - 3, "none came back")
        srv.stop()


def test_an_id_with_other_content(t):
    for box in outboxes(t):
        srv = serve(t, box)
        c = srv.client()
        ev = hk.envelope()
        c.publish(ev).want(202)
        box.put([row("k", 1, event_id=ev["eventId"], tenant_id=ev["tenantId"]), row("k", 2)])
        until(lambda: box.waiting() == 0, "marked", 20)
        d, = c.get("/v1/dead-letters").want(200).json["data"]
        p = c.get("/v1/dead-letters/" + d["id"]).json["event"]["payload"]
        same(p["pointer"], "/eventId", "why")
        same(len(relayed(c, 2)), 2, "the other went on")
        srv.stop()


def test_too_large_and_strict(t):
    for box in outboxes(t):
        box.put([row("k", 1, payload=json.dumps({"x": "y" * 70000})), row("k", 2),
                 row("k", 3, event_type="RecordCreated")])
        srv = serve(t, box, WEBHOOK_MAX_PAYLOAD_SIZE="64KiB", EVENT_SCHEMA_MODE="strict")
        c = srv.client()
        until(lambda: box.waiting() == 0, "all are marked", 20)
        dead = c.get("/v1/dead-letters").want(200).json["data"]
        same(len(dead), 3, "an unknown type too, in strict mode")
        p = c.get("/v1/dead-letters/" + dead[-1]["id"]).json["event"]["payload"]
        check("bytes" in p["reason"] and p["pointer"] == "/payload", "too large", p)
        srv.stop()


def test_many_bytes(t):
    """Rows of 700 KB: chunks are cut by their bytes."""
    for box in (Lite(t), Pg(t, "polling"), Pg(t, "xid")):
        big = json.dumps({"x": "y" * 700000})
        for i in range(4):
            box.put([row("k", 0, payload=big) for _ in range(10)])
        ids = [r[0] if isinstance(r, tuple) else r for r in (
            box.sql("SELECT event_id FROM outbox_events ORDER BY id") if isinstance(box, Lite)
            else box.sql("SELECT event_id FROM outbox_events ORDER BY id").split())]
        srv = serve(t, box)
        until(lambda: box.waiting() == 0, "all are marked", 60)
        rows = srv.client().events(limit=10)
        same([e["eventId"] for e in rows], ids, "in order")
        srv.stop()


def test_sqlite_not_there_yet(t):
    box = Lite(t, table=False)
    srv = serve(t, box)
    until(lambda: any("is not there" in json.dumps(l) for l in srv.log()), "it says so")
    srv.client().get("/readyz").want(200)
    box.make()
    box.put([row()])
    relayed(srv.client(), 1)
    told = [l for l in srv.log() if "outbox" in l.get("msg", "")]
    check(len(told) <= 4, "it is told once", told)


def test_postgres_away_and_back(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        box.put([row("k", 0)])
        srv = serve(t, box)
        c = srv.client()
        relayed(c, 1)
        cluster(t).stop()
        until(lambda: metric(srv, "hikyaku_relay_up") == 0, "it is seen", 30)
        if not srv.url or hk.STORE == "sqlite":
            c.get("/readyz").want(200)
        cluster(t).start()
        box.put([row("k", 1)])
        same([e["payload"]["n"] for e in relayed(c, 2)], [0, 1], "it goes on")
        srv.stop()


def test_a_locked_row_is_waited_for(t):
    box = Pg(t, "polling")
    box.put([row("k", 0), row("k", 1)])
    p = subprocess.Popen(["psql", "-X", "-q", "-d", box.url], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, text=True)
    t.later(p.kill)
    p.stdin.write("BEGIN; SELECT 1 FROM outbox_events ORDER BY id LIMIT 1 FOR UPDATE;\n")
    p.stdin.flush()
    until(lambda: hk.psql(box.url, "SELECT count(*) FROM pg_locks WHERE locktype = 'relation'"
                          " AND mode = 'RowShareLock'") != "0", "it is locked")
    srv = serve(t, box)
    until(lambda: any("locked" in json.dumps(l) for l in srv.log()), "it says so", 30)
    same([e for e in srv.client().events() if e["eventType"] == "order.paid"], [], "none passes it")
    p.stdin.write("ROLLBACK;\n")
    p.stdin.close()
    same([e["payload"]["n"] for e in relayed(srv.client(), 2)], [0, 1], "then in order")


def test_one_relay_per_outbox(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        one = serve(t, box)
        until(lambda: metric(one, "hikyaku_relay_up") == 1, "the first relays")
        two = t.server(OUTBOX_URL=box.url, OUTBOX_MODE=mode)
        until(lambda: any(l.get("msg") == "relay stands by" for l in two.log()), "the second waits")
        box.put([row("k", 0)])
        relayed(one.client(), 1)
        one.kill9()
        box.put([row("k", 1)])
        relayed(two.client(), 1)
        two.stop()


def test_notify_wakes(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode)
        srv = serve(t, box, OUTBOX_POLL="1h")
        until(lambda: metric(srv, "hikyaku_relay_up") == 1, "it relays")
        c = srv.client()
        for i in range(3):
            box.put([row("k", i)])
            relayed(c, i + 1)
        srv.stop()


def test_xid_sees_what_began_early(t):
    """A transaction that was open while others came and went."""
    box = Pg(t, "xid")
    srv = serve(t, box)
    c = srv.client()
    until(lambda: metric(srv, "hikyaku_relay_up") == 1, "it relays")
    p = subprocess.Popen(["psql", "-X", "-q", "-d", box.url], stdin=subprocess.PIPE,
                         stdout=subprocess.DEVNULL, text=True)
    t.later(p.kill)
    r = row("old", 1)
    p.stdin.write("BEGIN; INSERT INTO outbox_events (" + ", ".join(r) + ") VALUES ("
                  + ", ".join(Pg.lit(v) for v in r.values()) + ");\n")
    p.stdin.flush()
    until(lambda: hk.psql(box.url, "SELECT count(*) FROM pg_locks WHERE locktype ="
                          " 'transactionid'") != "0", "it is open")
    for i in range(3):
        box.put([row("new", i)])
        relayed(c, i + 1)
    p.stdin.write("COMMIT;\n")
    p.stdin.close()
    got = relayed(c, 4)
    same(got[3]["eventId"], r["event_id"], "it is not lost")
    # rows that no window can see
    box.sql("ALTER TABLE outbox_events ALTER xid DROP NOT NULL")
    until(lambda: box.waiting() == 0, "all are marked", 20)


def test_roles(t):
    box = Lite(t)
    box.put([row()])
    srv = t.server(args=("--roles", "api,deliver"), OUTBOX_URL=box.url)
    same(metric(srv, "hikyaku_relay_up"), 0.0, "not its role")
    srv.stop()
    same(box.waiting(), 1, "nothing was read")
    srv = t.server(args=("--roles", "relay"), OUTBOX_URL=box.url)
    until(lambda: box.waiting() == 0, "it relays")
    bad = t.server(start=False, args=("--roles", "cook"))
    bad.spawn()
    same(bad.ended(), 1, "no such role")
    bad.proc = None


def test_settings(t):
    srv = t.server(start=False, OUTBOX_URL="postgres://me:geheim@127.0.0.1/x")
    out = srv.cli("serve", "--print-config").want(0).out
    check("geheim" not in out and "outbox.url" in out, "the password is masked", out)
    for more, says in (({"OUTBOX_TABLE": 'a"b'}, "outbox.table"), ({"OUTBOX_TABLE": "a.b.c"}, "outbox.table"),
                       ({"OUTBOX_MODE": "wal"}, "outbox.mode"), ({"OUTBOX_URL": "mysql://x"}, "outbox.url"),
                       ({"OUTBOX_URL": "sqlite:///x", "OUTBOX_MODE": "xid"}, "PostgreSQL")):
        bad = t.server(start=False, **{"OUTBOX_URL": "sqlite:///nowhere", **more})
        bad.spawn()
        same(bad.ended(), 1, f"{more} stops the start")
        check(says.encode() in bad.all_logs(), f"{more} is named", bad.all_logs()[-500:])
        bad.proc = None


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    for c in _cluster:
        c.tool("drop")
    _cluster.clear()
