#!/usr/bin/env python3
"""bench/deliver.py - what deliveries cost, against a bare client.

Publish, deliver, record: N events are published in batches while they are
delivered, and the clock stops when the last attempt is recorded. Both sides of
a figure are run in turn, and the median counts; a ratio is met by rate or by
CPU time per event.

  deliver   SQLite against the same libcurl client posting as many bodies of the
            same size to the same receiver, 64 in flight, with no store
  postgres  the same on PostgreSQL
  many      100,000 subscriptions of which one matches, against one
  backlog   one million events waiting for an endpoint that is down, against none
  sides     one key that fails for ever and a dead endpoint beside, against none

Exit status 1 when a figure is missed.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import arrivals  # noqa: E402
import hk        # noqa: E402
import run       # noqa: E402

FIGURES = ("deliver", "postgres", "many", "backlog", "sides")
IN_FLIGHT = 64


class Bench(run.Bench):
    def __init__(self, o):
        super().__init__(o)
        subprocess.run(["make", "-s", "-C", hk.ROOT, "build/release/bench/client"], check=True)
        self.client = os.path.join(BUILD, "release", "bench", "client")
        self.quick = arrivals.Quick(self.work, record=False)

    def deliverer(self, store="sqlite", **more):
        srv = self.server(store, WEBHOOK_URL_ALLOW_PRIVATE="127.0.0.0/8",
                          WEBHOOK_SLOTS="256", **more)
        return srv

    def subscribe(self, srv, path="/ok", types=("RecordUpdated",), **more):
        more.setdefault("concurrency", IN_FLIGHT)
        return arrivals.subscribe(srv, self.quick.url(path), types=list(types), **more)

    def bare(self, side):
        """The ceiling: the client alone."""
        r = subprocess.run([self.client, str(self.o.events), str(IN_FLIGHT), self.quick.url("/ok")],
                           capture_output=True, text=True, check=True, timeout=600)
        run_ = json.loads(r.stdout)
        side.add({**run_, "p50_us": 0, "p99_us": 0})

    def recorded(self, srv):
        m = arrivals.metrics(srv)
        return m["hikyaku_attempts_succeeded_total"], m

    def deliver_once(self, srv, side):
        """From the first publish to the last recorded success."""
        events, least = self.o.events, self.o.events * 0.97  # a bad key has some of them
        before, last, at = self.recorded(srv)[0], -1, 0
        cpu = cpu_seconds(srv)
        begin = time.monotonic()
        self.measure(srv, connections=4, batch=100, count=events // 100)
        while True:
            done, now = self.recorded(srv)[0] - before, time.monotonic()
            if done != last:
                last, at = done, now
            if done >= events or (done >= least and now - at > 0.5):
                break
            hk.check(now - at < 120, "deliveries stand still")
            time.sleep(0.02)
        took, events = at - begin, last
        side.add({"rate": events / took, "cpu_us": (cpu_seconds(srv) - cpu) * 1e6 / events,
                  "p50_us": 0, "p99_us": 0})
        rss = peak_kib(srv)
        self.rss[side.name] = max(self.rss.get(side.name, 0), rss)
        if self.o.verbose:
            print(f"    {side.name}: {side.runs[-1]} {rss / 1024:.1f} MB", flush=True)

    def against_bare(self, figure, store, want):
        srv = self.deliverer(store)
        self.subscribe(srv)
        bare, ours = run.Side("client alone"), run.Side("publish, deliver, record")
        for _ in range(self.o.runs):
            self.bare(bare)
            self.deliver_once(srv, ours)
        self.end(srv)
        self.ratio(figure, ours, bare, want)

    def deliver(self):
        self.against_bare("deliver", "sqlite", 0.5)

    def postgres(self):
        self.against_bare("postgres", "postgres", 1 / 3)

    def pair(self, figure, a, b, name_a, name_b, want):
        one, two = run.Side(name_a), run.Side(name_b)
        for _ in range(self.o.runs):
            self.deliver_once(a, one)
            self.deliver_once(b, two)
        self.end(a)
        self.end(b)
        self.ratio(figure, two, one, want)

    def many(self):
        a, b = self.deliverer(), self.deliverer()
        self.subscribe(a)
        begin, client = time.monotonic(), b.client()
        for i in range(self.o.subscriptions):
            client.post("/v1/subscriptions", {
                "name": f"idle-{i}", "url": self.quick.url(f"/idle/{i}"),
                "types": [f"idle.t{i // 500}.n{i % 500}"]}).want(201)
        print(f"  {self.o.subscriptions:,} subscriptions in {time.monotonic() - begin:.0f} s")
        self.subscribe(b)
        self.pair("many", a, b, "one subscription", "and 100,000 others", 0.9)

    def backlog(self):
        a, b = self.deliverer(), self.deliverer()
        for srv in (a, b):
            self.subscribe(srv)
        self.subscribe(b, "/status/503", types=("bench.down",), order="key")
        self.measure(b, connections=4, batch=1000, count=self.o.backlog // 1000, type="bench.down")
        hk.until(lambda: arrivals.metrics(b)["hikyaku_dispatch_seq"] >= self.o.backlog,
                 "the backlog is dispatched", 120)
        print(f"  {self.o.backlog:,} wait; {peak_kib(b) / 1024:.1f} MB")
        self.rows.append(("backlog", f"{peak_kib(b) / 1024:.1f} of 100 MB", peak_kib(b) < 100 * 1024))
        self.pair("backlog", a, b, "no backlog", f"{self.o.backlog:,} waiting", 0.9)

    def sides(self):
        a, b = self.deliverer(), self.deliverer()
        self.subscribe(a, order="key")
        self.subscribe(b, "/bad/Opportunity:5f0c1c3e-5a0e-4c62-9c2a-0d6b8a4f7e11:9b2d7c4e-2222-4333-8444-000000000001/ok", order="key")
        self.subscribe(b, "/status/503", order="key")
        self.pair("sides", a, b, "healthy alone", "a bad key and a dead endpoint", 0.9)

    def close(self):
        self.quick.stop()
        super().close()


BUILD = run.BUILD


def cpu_seconds(srv):
    """Of the server, and of PostgreSQL when it uses one."""
    return process_cpu(srv.proc.pid) + (tree_cpu(srv.postmaster) if srv.postmaster else 0)


def process_cpu(pid):
    with open(f"/proc/{pid}/stat") as f:
        v = f.read().rsplit(")", 1)[1].split()
    return (int(v[11]) + int(v[12])) / os.sysconf("SC_CLK_TCK")


def tree_cpu(pid):
    total = process_cpu(pid)
    for child in subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True,
                                text=True).stdout.split():
        try:
            total += process_cpu(int(child))
        except OSError:
            pass
    return total


def peak_kib(srv):
    with open(f"/proc/{srv.proc.pid}/status") as f:
        return next(int(l.split()[1]) for l in f if l.startswith("VmHWM"))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("figures", nargs="*", metavar="FIGURE", help="of " + ", ".join(FIGURES))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--events", type=int, default=60_000, help="in one run")
    p.add_argument("--backlog", type=int, default=1_000_000)
    p.add_argument("--subscriptions", type=int, default=100_000)
    p.add_argument("--quick", action="store_true", help="3 runs of 20,000 events")
    p.add_argument("--binary", default=None)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    o.seconds = 3
    if set(o.figures) - set(FIGURES):
        p.error("figures are " + ", ".join(FIGURES))
    if o.quick:
        o.runs, o.events, o.backlog, o.subscriptions = 3, 20_000, 100_000, 2_000
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
