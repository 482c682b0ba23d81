#!/usr/bin/env python3
"""crash/consumer.py - kill -9 a consumer built on libhikyaku; each event counts once.

The example program (lib/example/consume.c) takes events from a pull consumer and
counts them in its own database: one run with SQLite, one with PostgreSQL, both
at the same server. A round starts them and kills one or both at a random moment;
every fourth round the server is killed as well, now and then while they go on
running. Meanwhile events are published, out of order and some of them twice. At
the end everything heals, and then, in the consumer's own tables: every event was
processed, each was applied once or was stale, no record ever moved backwards, and
each is as its newest version says; a deleted one is deleted.
"""
import argparse
import datetime
import os
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import hk  # noqa: E402

EXAMPLES = os.path.join(hk.ROOT, "build", "release", "example")
RECORDS = 40
# A kill costs an attempt of whatever was leased: the most that can be had.
CONSUMER = ('{"from":"start","order":"%s","types":["count.me","RecordUpdated","RecordDeleted"],'
            '"ackWaitSeconds":1,"maxAttempts":64}')


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class FixedServer(hk.Server):
    """One that comes back at the same port, so that clients may wait for it."""

    def spawn(self, *args):
        if not hasattr(self, "fixed"):
            self.fixed = free_port()
        super().spawn("--listen", f"127.0.0.1:{self.fixed}", *args)


class Publisher:
    """Events in batches, each sent until it is answered, by its own id."""

    def __init__(self, srv, rng):
        self.srv, self.random = srv, rng
        self.sent, self.versions, self.halt, self.thread = {}, {}, None, None
        self.clock = datetime.datetime(2026, 1, 10, tzinfo=datetime.timezone.utc)
        self.error = None

    def event(self):
        if self.random.random() < 0.4:
            ev = hk.envelope("count.me", key=f"k{self.random.randrange(50)}", payload={"n": 1})
            del ev["sequence"]["recordVersion"]
            return ev, None
        record = f"r{self.random.randrange(RECORDS)}"
        dead = self.random.random() < 0.1
        # Around now, so that what comes later is older as often as not.
        self.clock += datetime.timedelta(milliseconds=self.random.randrange(1, 50))
        at = self.clock - datetime.timedelta(milliseconds=self.random.randrange(3000))
        version = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        ev = hk.envelope("RecordDeleted" if dead else "RecordUpdated",
                         key=f"Account:{hk.TENANT}:{record}",
                         payload={"objectName": "Account", "recordId": record, "v": version})
        ev["sequence"]["recordVersion"] = version
        return ev, (record, int(round(at.timestamp() * 1e6)), dead)

    def run(self):
        try:
            while not self.halt.is_set():
                batch = [self.event() for _ in range(self.random.randrange(1, 12))]
                events = [ev for ev, _ in batch]
                if len(events) > 1 and self.random.random() < 0.2:
                    events.append(events[0])
                self.publish(events)
                for ev, known in batch:
                    self.sent[ev["eventId"]] = known
                time.sleep(self.random.uniform(0.002, 0.03))
        except Exception as e:  # shown by stop(), which the test calls
            self.error = e

    def publish(self, events):
        while True:
            try:
                c = self.srv.client()
                r = c.post("/v1/events", events)
                if r.status == 200:
                    hk.check(all(x["status"] == 202 for x in r.json["results"]), "taken", r)
                    return
                hk.check(r.status in (429, 503), "an odd answer", r)
            except (OSError, hk.http.client.HTTPException):
                pass
            time.sleep(0.05)

    def start(self):
        self.halt = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def stop(self):
        self.halt.set()
        self.thread.join(120)
        hk.check(not self.thread.is_alive(), "the publisher ended")
        if self.error:
            raise hk.Failed(f"the publisher failed: {self.error}")


class Consumer:
    """One run of the example at a time, and its database."""

    def __init__(self, kind, folder, srv, order, url=None):
        self.kind, self.srv, self.order, self.url = kind, srv, order, url
        self.where = url or os.path.join(folder, "consumer.db")
        self.log = os.path.join(folder, f"consumer-{kind}.log")
        self.proc, self.kills, self.began = None, 0, 0

    def start(self, ms=None):
        env = hk.environment({"HIKYAKU_KEY": self.srv.admin_key,
                              "CONSUMER": CONSUMER % self.order}, None)
        args = [os.path.join(EXAMPLES, f"consume-{self.kind}"), self.where, self.srv.base,
                f"crash-{self.kind}"]
        with open(self.log, "ab") as log:
            self.proc = subprocess.Popen(args + ([str(ms)] if ms else []), env=env, stdout=log,
                                         stderr=log, stdin=subprocess.DEVNULL)
        self.began = time.monotonic()

    def alive(self):
        return self.proc and self.proc.poll() is None

    def kill9(self):
        if not self.proc:
            return
        if self.alive():
            self.proc.kill()
            self.kills += 1
        else:
            hk.check(False, f"the {self.kind} consumer ended by itself "
                     f"({self.proc.returncode})\n{self.tail()}")
        self.proc.wait()
        self.proc = None

    def end(self):
        if self.alive():
            time.sleep(max(0, self.began + 0.5 - time.monotonic()))  # until it listens for the signal
            self.proc.send_signal(signal.SIGTERM)
            hk.same(self.proc.wait(60 * hk.SLOW), 0, f"the {self.kind} consumer's status")
        self.proc = None

    def tail(self):
        with open(self.log, errors="replace") as f:
            return "".join(f.readlines()[-10:])

    def rows(self, sql):
        if self.url:
            text = hk.psql(self.url, sql)
            return [tuple(line.split("|")) for line in text.split("\n") if line]
        c = sqlite3.connect(self.where, timeout=30)
        try:
            return [tuple(str(x) for x in row) for row in c.execute(sql)]
        finally:
            c.close()

    def processed(self):
        try:
            return int(self.rows("SELECT count(*) FROM processed_events")[0][0])
        except (sqlite3.OperationalError, RuntimeError):
            return 0

    def check(self, sent):
        ids = {r[0] for r in self.rows("SELECT event_id FROM processed_events")}
        lost = set(sent) - ids
        hk.check(not lost, f"{self.kind}: {len(lost)} events LOST", sorted(lost)[:3])
        hk.same(ids - set(sent), set(), f"{self.kind}: events that nobody sent")
        counted = {r[0]: int(r[1]) for r in self.rows("SELECT event_id, times FROM counted")}
        twice = [i for i, n in counted.items() if n != 1]
        hk.check(not twice, f"{self.kind}: applied more than once", twice[:3])
        plain = {i for i, known in sent.items() if not known}
        hk.check(plain <= set(counted), f"{self.kind}: not applied", sorted(plain - set(counted))[:3])
        self.check_records(sent, counted)
        return len(counted), len(ids) - len(counted)

    def check_records(self, sent, counted):
        """No step back in the history, and the newest version at its end."""
        last, back = {}, 0
        for name, us in self.rows("SELECT name, version_us FROM history ORDER BY id"):
            back += int(us) < last.get(name, 0)
            last[name] = int(us)
        hk.same(back, 0, f"{self.kind}: steps backwards")
        newest = {}
        for known in filter(None, sent.values()):
            record, us, dead = known
            # At the same instant a delete has the last word.
            newest[record] = max(newest.get(record, (0, False)), (us, dead))
        state = {r[0]: r[1] for r in self.rows("SELECT name, deleted FROM record WHERE name LIKE 'Account:%'")}
        for record, (us, dead) in newest.items():
            name = f"Account:{record}"
            hk.same(last.get(name), us, f"{self.kind}: the last version of {record}")
            hk.same(state[name] in ("1", "t"), dead, f"{self.kind}: is {record} deleted")


class Crash:
    def __init__(self, folder, store, seed, pg):
        hk.STORE = store
        self.store, self.random = store, random.Random(f"{seed}.{store}")
        folder = os.path.join(folder, store)
        os.makedirs(folder)
        self.srv = FixedServer(os.path.join(folder, "srv"), {"TIME_SCALE": "1000"}, start=False)
        self.srv.start()
        self.srv.client()  # makes the key
        self.publisher = Publisher(self.srv, random.Random(f"{seed}.{store}.events"))
        self.consumers = [Consumer("sqlite", folder, self.srv, "none"),
                          Consumer("pq", folder, self.srv, "key", hk.pg_database(pg))]

    def nap(self, most):
        time.sleep(self.random.uniform(0.02, most))

    def round(self, n):
        for c in self.consumers:
            if not c.alive():
                c.start()
        self.nap(0.7)
        if n % 4 == 0:
            self.srv.kill9()
            self.nap(0.3)
            if n % 8 == 0:  # they wait for it
                self.srv.start()
                self.nap(0.7)
        # In most rounds one goes on, so that leases cross.
        for c in self.random.sample(self.consumers, self.random.choice((1, 1, 2))):
            c.kill9()
        if not self.srv.alive():
            self.srv.start()

    def run(self, rounds):
        begin = time.monotonic()
        self.publisher.start()
        n = 0
        while min(c.kills for c in self.consumers) < rounds:
            n += 1
            self.round(n)
        self.publisher.stop()
        for c in self.consumers:
            if not c.alive():
                c.start()
        sent = self.publisher.sent
        for c in self.consumers:
            hk.until(lambda c=c: c.processed() >= len(sent), f"the {c.kind} consumer is done", 180, 0.5)
            c.end()
        told = [f"{c.kind} {c.kills} kills, " + "%d applied once, %d stale" % c.check(sent)
                for c in self.consumers]
        dead = self.srv.client().get("/v1/dead-letters", limit=1).want(200)
        hk.same(dead.json["data"], [], "dead letters")
        self.srv.stop()
        print(f"ok      {self.store:9}{len(sent)} events; {'; '.join(told)}; server killed "
              f"{n // 4} times; {time.monotonic() - begin:.0f} s", flush=True)

    def close(self):
        if self.publisher.halt:
            self.publisher.halt.set()
        for c in self.consumers:
            if c.alive():
                c.proc.kill()
                c.proc.wait()
        self.srv.kill9()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=8, help="kills of each consumer")
    p.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    p.add_argument("--seed", default=None)
    p.add_argument("--keep", action="store_true", help="leave the folder of a failed run")
    o = p.parse_args()
    seed = o.seed or str(random.SystemRandom().randrange(10**6))
    stores = ("sqlite", "postgres") if o.store == "both" else (o.store,)
    folder = tempfile.mkdtemp(prefix="hk-consumer-")
    os.chmod(folder, 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    cluster, passed, failed = hk.Cluster(os.path.join(folder, "pg")), 0, 0
    hk.PG_URL = cluster.url
    try:
        for store in stores:
            c = None
            try:
                c = Crash(folder, store, seed, cluster.url)
                c.run(o.rounds)
                passed += 1
            except hk.Failed as e:
                failed += 1
                print(f"FAILED  {store:9}--seed {seed}: {e}", flush=True)
                if c:
                    print(c.srv.tail(), *(x.tail() for x in c.consumers), sep="\n", flush=True)
            finally:
                if c:
                    c.close()
    finally:
        cluster.stop()
        if failed and o.keep:
            print(f"left: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
