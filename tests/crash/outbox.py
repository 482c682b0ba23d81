#!/usr/bin/env python3
"""crash/outbox.py - kill -9 in the middle of relaying; each committed row is one event.

Sixteen writers (tests/tools/outbox_writers.c) run transactions of random length
against a PostgreSQL outbox: records are locked, get a new version and a row;
one in five transactions is rolled back; some take their transaction id early
and write late, some stay open for long. Meanwhile the relay's server is killed
again and again; every fifth round it kills itself just before or after a
commit of its own. At the end the writers stop, and then: every row of the
table is exactly one event, there is no other event, each key's versions are
1, 2, 3, … in the order of the log, and every row is marked.
"""
import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import hk        # noqa: E402

FAULTS = ("crash-before-commit", "crash-after-commit")
WRITERS, KEYS = 16, 40


def tool(folder):
    exe = os.path.join(folder, "outbox_writers")
    if not os.path.exists(exe):
        cc = os.environ.get("CC", "gcc")
        flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libpq"], check=True,
                               capture_output=True, text=True).stdout.split()
        subprocess.run([cc, "-std=gnu17", "-O2", "-Wall", "-Wextra", "-pthread", "-o", exe,
                        os.path.join(hk.ROOT, "tests", "tools", "outbox_writers.c"), *flags],
                       check=True)
    return exe


class Crash:
    def __init__(self, folder, cluster, store, mode, seed):
        hk.STORE = store
        self.name, self.random = f"{mode} {store}", random.Random(f"{seed}.{mode}.{store}")
        self.url = hk.pg_database(cluster.url)
        with open(os.path.join(hk.ROOT, "outbox", "postgres.sql")) as f:
            subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url],
                           input=f.read(), text=True, check=True, stdout=subprocess.DEVNULL)
        hk.psql(self.url, "CREATE TABLE record (key bigint PRIMARY KEY, version bigint NOT NULL);"
                          f"INSERT INTO record SELECT k, 0 FROM generate_series(1, {KEYS}) k")
        self.srv = hk.Server(os.path.join(folder, f"{mode}-{store}"), {
            "OUTBOX_URL": self.url, "OUTBOX_MODE": mode, "OUTBOX_POLL": "10ms",
            "OUTBOX_BATCH": "200"}, start=False)
        self.writers = subprocess.Popen(
            [tool(folder), self.url, str(WRITERS), str(KEYS), str(seed)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def round_kill(self):
        self.srv.start()
        time.sleep(self.random.uniform(0.1, 1.0))
        self.srv.kill9()

    def round_fault(self, name):
        fault = f"{name}:{self.random.randint(3, 40)}"
        try:
            self.srv.start("--fault", fault)
        except hk.Failed as e:
            if "ended at its start" not in str(e):
                raise
            return  # it came before the server listened
        try:
            self.srv.proc.wait(30)
        except subprocess.TimeoutExpired:
            raise hk.Failed(f"--fault {fault} never happened") from None
        finally:
            self.srv.kill9()

    def check(self):
        rows = [l.split("|") for l in hk.psql(
            self.url, "SELECT event_id, payload->>'k', payload->>'v', published_at IS NULL"
                      " FROM outbox_events ORDER BY id").split("\n") if l]
        want = {r[0]: (int(r[1]), int(r[2])) for r in rows}
        events = [e for e in self.srv.client().events() if e["eventType"] == "writer.tick"]
        faults, seen, last = [], set(), {}
        for e in events:
            k, v = e["payload"]["k"], e["payload"]["v"]
            if e["eventId"] in seen:
                faults.append(f"TWICE {e['eventId']}")
            seen.add(e["eventId"])
            if want.get(e["eventId"]) != (k, v):
                faults.append(f"NEVER COMMITTED {e['eventId']} {k} {v}")
            if v != last.get(k, 0) + 1:
                faults.append(f"ORDER key {k}: {v} came behind {last.get(k, 0)}, seq {e['seq']}")
            last[k] = v
        faults += [f"LOST {i} {want[i]}" for i in want if i not in seen]
        faults += [f"NOT MARKED {r[0]}" for r in rows if r[3] == "t"]
        hk.check(not faults, f"{len(faults)} faults of {len(rows)} rows\n    "
                 + "\n    ".join(faults[:20]))
        return len(rows)

    def run(self, rounds):
        begin = time.monotonic()
        for n in range(1, rounds + 1):
            hk.check(self.writers.poll() is None, "the writers ended")
            if n % 5 == 0:
                self.round_fault(FAULTS[n // 5 % 2])
            else:
                self.round_kill()
        self.srv.start()
        said, _ = self.writers.communicate(timeout=60)
        hk.check(self.writers.returncode == 0, "the writers ended badly", said)
        hk.until(lambda: hk.psql(self.url, "SELECT count(*) FROM outbox_events"
                                           " WHERE published_at IS NULL") == "0",
                 "all rows are marked", 60, 0.2)
        n = self.check()
        self.srv.stop()
        hk.check(n > 10 * rounds, f"{n} rows are few: the writers stood still")
        took = time.monotonic() - begin
        print(f"ok      {self.name:17}{rounds} rounds, {n} rows, {said.strip()}: "
              f"0 lost, 0 twice, 0 out of order; {took / rounds:.2f} s a round", flush=True)

    def close(self):
        self.srv.kill9()
        if self.writers.poll() is None:
            self.writers.kill()
            self.writers.wait()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--mode", choices=("polling", "xid", "both"), default="both")
    p.add_argument("--store", choices=("sqlite", "postgres", "both"), default="sqlite",
                   help="where our own log lives")
    p.add_argument("--seed", default=None)
    p.add_argument("--binary", default=None)
    p.add_argument("--keep", action="store_true", help="leave the folder of a failed run")
    o = p.parse_args()
    if o.binary:
        hk.BINARY = os.path.abspath(o.binary)
    seed = o.seed or str(random.SystemRandom().randrange(10**6))
    modes = ("polling", "xid") if o.mode == "both" else (o.mode,)
    stores = ("sqlite", "postgres") if o.store == "both" else (o.store,)
    folder = tempfile.mkdtemp(prefix="hk-outbox-")
    os.chmod(folder, 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    cluster, passed, failed = None, 0, 0
    try:
        cluster = hk.Cluster(os.path.join(folder, "pg"))
        hk.PG_URL = cluster.url
        for store, mode in ((s, m) for s in stores for m in modes):
            c = None
            try:
                c = Crash(folder, cluster, store, mode, seed)
                c.run(o.rounds)
                passed += 1
            except (hk.Failed, subprocess.SubprocessError) as e:
                failed += 1
                print(f"FAILED  {mode} {store} --seed {seed}: {e}", flush=True)
                if c:
                    print(c.srv.tail(), flush=True)
            finally:
                if c:
                    c.close()
    finally:
        if cluster:
            cluster.tool("drop")
        if failed and o.keep:
            print(f"left: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
