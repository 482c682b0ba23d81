#!/usr/bin/env python3
"""bench/outbox.py - what the relay carries, against a bare loop.

N rows are put into a PostgreSQL outbox at once and the clock runs until all of
them are events in a SQLite log and all are marked. Both sides of a figure are
run in turn, and the median counts; a ratio is met by rate or by CPU time per
event (with all processes of PostgreSQL).

  polling   against a loop on the same libraries that reads FOR UPDATE, inserts
            into the same tables and updates (tests/bench/outbox.c)
  xid       xid mode against polling

Exit status 1 when a figure is missed.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import arrivals  # noqa: E402
import deliver   # noqa: E402
import hk        # noqa: E402
import run       # noqa: E402

FIGURES = ("polling", "xid")
FILL = """INSERT INTO outbox_events (tenant_id, event_type, partition_key, record_version,
  correlation_id, producer, payload)
SELECT '11111111-1111-4111-8111-111111111111', 'RecordUpdated',
  'Account:11111111-1111-4111-8111-111111111111:' || g %% 1000, now(), gen_random_uuid(),
  '{"service":"bench","instanceId":"b-1"}',
  ('{"objectName":"Account","recordId":"6c1b0c5e-5a5f-4a53-8f3c-0d2b6f7a1e11","ownerId":'
   || '"0f8fad5b-d9cb-469f-a165-70867728950e","changedFields":["Name","Phone"],"fieldChanges":'
   || '{"Name":{"old":"before","new":"after ' || g || '"}},"recordVersion":'
   || '"2026-01-10T12:35:10.123Z"}')::json
FROM generate_series(1, %d) g"""


class Bench(run.Bench):
    def __init__(self, o):
        super().__init__(o)
        subprocess.run(["make", "-s", "-C", hk.ROOT, "build/release/bench/outbox"], check=True)
        self.bare_exe = os.path.join(run.BUILD, "release", "bench", "outbox")
        with open(os.path.join(hk.ROOT, "outbox", "postgres.sql")) as f:
            self.sql = f.read()

    def outbox(self):
        """As shipped, without the trigger: nobody is to be woken early."""
        url = hk.pg_database(self.cluster().url)
        subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", url], input=self.sql
                       + "DROP TRIGGER outbox_events_notify ON outbox_events;",
                       text=True, check=True, stdout=subprocess.DEVNULL)
        return url

    def fill(self, url):
        hk.psql(url, "DELETE FROM outbox_events WHERE published_at IS NOT NULL")
        hk.psql(url, "VACUUM ANALYZE outbox_events")
        hk.psql(url, FILL % self.o.events)

    def pg_cpu(self):
        return deliver.tree_cpu(self.postmaster())

    def bare(self, url, side):
        self.fill(url)
        folder = os.path.join(self.work, "bare")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        # the connection's own process ends with it, and its time is then its parent's
        before = self.pg_time()
        r = subprocess.run([self.bare_exe, url, folder, str(self.o.events)], check=True,
                           capture_output=True, text=True, timeout=600)
        got = json.loads(r.stdout)
        pg = (self.pg_time() - before) * 1e6 / self.o.events
        self.add(side, got["rate"], got["cpu_us"], pg)

    def pg_time(self):
        """CPU seconds of all of PostgreSQL, with children that have ended."""
        total = self.pg_cpu()
        with open(f"/proc/{self.postmaster()}/stat") as f:
            v = f.read().rsplit(")", 1)[1].split()
        return total + (int(v[13]) + int(v[14])) / os.sysconf("SC_CLK_TCK")

    def add(self, side, rate, cpu, pg):
        side.add({"rate": rate, "cpu_us": cpu + pg, "p50_us": 0, "p99_us": 0})
        if self.o.verbose:
            print(f"    {side.name}: {rate:,.0f}/s, {cpu:.1f} us here, {pg:.1f} us PostgreSQL",
                  flush=True)

    def relayer(self, url, mode):
        srv = self.server("sqlite", OUTBOX_URL=url, OUTBOX_MODE=mode, OUTBOX_POLL="100ms")
        hk.until(lambda: arrivals.metrics(srv)["hikyaku_relay_up"] == 1, "it relays", 30)
        return srv

    def relay(self, srv, url, side):
        done = lambda: arrivals.metrics(srv)["hikyaku_relay_events_total"]  # noqa: E731
        before = done()
        self.fill(url)
        cpu, pg = deliver.process_cpu(srv.proc.pid), self.pg_time()
        begin, first = time.monotonic(), done() - before
        while done() - before < self.o.events:
            hk.check(time.monotonic() - begin < 300, "the relay stands still")
            if done() == before:  # it has not looked yet
                begin = time.monotonic()
            time.sleep(0.02)
        while hk.psql(url, "SELECT count(*) FROM (SELECT 1 FROM outbox_events"
                           " WHERE published_at IS NULL LIMIT 1) x") != "0":
            time.sleep(0.02)
        took, n = time.monotonic() - begin, self.o.events
        self.add(side, (n - first) / took, (deliver.process_cpu(srv.proc.pid) - cpu) * 1e6 / n,
                 (self.pg_time() - pg) * 1e6 / n)

    def polling(self):
        a, b = self.outbox(), self.outbox()
        srv = self.relayer(b, "polling")
        bare, ours = run.Side("bare loop"), run.Side("relay, polling")
        for _ in range(self.o.runs):
            self.bare(a, bare)
            self.relay(srv, b, ours)
        self.end(srv)
        self.ratio("polling", ours, bare, 0.5)

    def xid(self):
        a, b = self.outbox(), self.outbox()
        one, two = self.relayer(a, "polling"), self.relayer(b, "xid")
        poll, xid = run.Side("relay, polling"), run.Side("relay, xid")
        for _ in range(self.o.runs):
            self.relay(one, a, poll)
            self.relay(two, b, xid)
        self.end(one)
        self.end(two)
        self.ratio("xid", xid, poll, 1.0)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("figures", nargs="*", metavar="FIGURE", help="of " + ", ".join(FIGURES))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--events", type=int, default=100_000, help="in one run")
    p.add_argument("--quick", action="store_true", help="3 runs of 30,000 events")
    p.add_argument("--binary", default=None)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    o.seconds = 3
    if set(o.figures) - set(FIGURES):
        p.error("figures are " + ", ".join(FIGURES))
    if o.quick:
        o.runs, o.events = 3, 30_000
    if o.binary:
        hk.BINARY = os.path.abspath(o.binary)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    b = Bench(o)
    try:
        for f in [f for f in FIGURES if not o.figures or f in o.figures]:
            print(f"{f}:", flush=True)
            getattr(b, f)()
    except hk.Failed as e:
        print(f"FAILED  {e}")
        return 1
    finally:
        b.close()
    print()
    for figure, text, met in b.rows:
        print(f"{'met' if met else 'MISSED':8}{figure:10}{text}")
    return 0 if all(met for _, _, met in b.rows) else 1


if __name__ == "__main__":
    sys.exit(main())
