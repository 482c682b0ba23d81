"""The outbox relay in trouble: databases that go away, locks, other relays; and its settings."""
import json
import subprocess

import hk
import outbox
from hk import check, same, until
from outbox import Lite, Pg, metric, relayed, row, serve, cluster

SETTINGS = outbox.SETTINGS


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
        box = Pg(t, mode, own=True)
        box.put([row("k", 0)])
        srv = serve(t, box)
        c = srv.client()
        relayed(c, 1)
        cluster(t).stop()
        until(lambda: metric(srv, "hikyaku_relay_up") == 0, "it is seen", 30)
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
    outbox.end()
