#!/usr/bin/env python3
"""bench/run.py - the figures that the project promises, measured.

Each figure compares two sides. They are run in turn, five times, each time in
slices of a second that alternate, so that a machine that grows warm or busy
hurts both alike, and each time against a new server, so that the fifth does
not measure a longer log than the first. A slice of single events goes before,
which does not count: a new server is a quarter slower for half a second, until
its WAL has been filled once. What counts is the median of the five ratios.
Beside the rate stands the server's CPU time per event (for PostgreSQL with all
its processes): on a busy machine it is the steadier of the two, and a ratio is
met by either.

  single    durable publish at 64 connections against the lower of two ceilings
            of the same run: an empty POST route, and 64 / one fdatasync
  batch     events per second in batches of 100 against single ones
  postgres  PostgreSQL against SQLite, single events
  full      with five million events in the log against an empty one
  memory    the server's peak of resident memory over all of the above

Exit status 1 when a figure is missed.
"""
import argparse
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import hk  # noqa: E402

BUILD = os.path.join(hk.ROOT, "build")
FIGURES = ("single", "batch", "postgres", "full", "memory")
CONNECTIONS = 64
SLICES = 3  # of a run
RSS_MAX_KIB = 40 * 1024


def built_load():
    """The load generator, compiled when its source is newer."""
    src, exe = os.path.join(HERE, "load.c"), os.path.join(BUILD, "bench", "load")
    if not os.path.exists(exe) or os.path.getmtime(exe) < os.path.getmtime(src):
        os.makedirs(os.path.dirname(exe), exist_ok=True)
        subprocess.run([os.environ.get("CC", "gcc"), "-D_GNU_SOURCE", "-std=gnu17", "-O2",
                        "-Wall", "-Wextra", "-o", exe, src], check=True)
    return exe


def fdatasync_seconds(folder, seconds=0.5):
    """The median of one fdatasync after a write of a page, as SQLite's WAL does."""
    path, took = os.path.join(folder, "fdatasync"), []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        end = time.monotonic() + seconds
        while time.monotonic() < end or len(took) < 10:
            os.write(fd, b"x" * 4096)
            begin = time.monotonic()
            os.fdatasync(fd)
            took.append(time.monotonic() - begin)
    finally:
        os.close(fd)
        os.unlink(path)
    return statistics.median(took)


class Side:
    """One side of a figure: its runs and their medians."""

    def __init__(self, name):
        self.name, self.runs = name, []

    def add(self, run):
        self.runs.append(run)

    def add_slices(self, slices):
        """One run, of which these are the slices."""
        count = sum(s["rate"] * s["seconds"] for s in slices)
        self.add({
            "rate": count / sum(s["seconds"] for s in slices),
            "cpu_us": sum(s["cpu_us"] * s["rate"] * s["seconds"] for s in slices) / count,
            "p50_us": statistics.median(s["p50_us"] for s in slices),
            "p99_us": statistics.median(s["p99_us"] for s in slices),
        })

    def median(self, what):
        return statistics.median(r[what] for r in self.runs)

    def over(self, other, what):
        """The median of the ratios of run to run."""
        return statistics.median(a[what] / max(b[what], 0.01)
                                 for a, b in zip(self.runs, other.runs, strict=True))

    def text(self):
        return (f"{self.median('rate'):>9,.0f}/s  {self.median('cpu_us'):6.1f} us CPU  "
                f"p50 {self.median('p50_us') / 1000:.2f} ms  p99 {self.median('p99_us') / 1000:.2f} ms")


class Bench:
    def __init__(self, o):
        self.o, self.load, self.rss, self.rows = o, built_load(), {}, []
        self.work = os.path.join(BUILD, "bench-work")
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        self.pg, self.pg_folder, self.servers, self.n = None, None, [], 0

    def server(self, store="sqlite", data=None, **settings):
        self.n += 1
        url = hk.pg_database(self.cluster().url) if store == "postgres" else ""
        s = hk.Server(os.path.join(self.work, f"s{self.n}"), settings, url=url, start=False)
        s.data = data or s.data
        self.servers.append(s)
        s.start()
        s.postmaster = self.postmaster() if store == "postgres" else 0
        s.key()
        s.hang_up()
        return s

    def end(self, s):
        s.stop()
        self.servers.remove(s)
        shutil.rmtree(s.folder, ignore_errors=True)

    def cluster(self):
        if self.pg is None:
            self.pg_folder = tempfile.mkdtemp(prefix="hk-bench-", dir="/var/tmp")
            os.chmod(self.pg_folder, 0o755)
            self.pg = hk.Cluster(os.path.join(self.pg_folder, "pg"))
        return self.pg

    def postmaster(self):
        with open(os.path.join(self.pg_folder, "pg", "data", "postmaster.pid")) as f:
            return int(f.readline())

    def measure(self, srv, side=None, a_slice=False, **args):
        """One run of the load generator against a server, or a slice of one."""
        args.setdefault("seconds", self.o.seconds)
        args.setdefault("connections", CONNECTIONS)
        argv = [self.load, "--port", str(srv.port), "--auth", "Bearer " + srv.key(),
                "--pid", str(srv.proc.pid)]
        if srv.postmaster:
            argv += ["--postmaster", str(srv.postmaster)]
        for flag in ("empty", "get"):
            if args.pop(flag, False):
                argv += ["--" + flag]
        for k, v in args.items():
            argv += ["--" + k, str(v)]
        r = subprocess.run(argv, capture_output=True, text=True, timeout=3600)
        if r.returncode:
            raise hk.Failed(f"load: {r.stderr.strip()}{r.stdout}\n{srv.tail()}")
        run = json.loads(r.stdout)
        if side and not a_slice:
            side.add(run)
        if side:
            self.rss[side.name] = max(self.rss.get(side.name, 0), run["rss_kib"])
        if self.o.verbose:
            print(f"    {side.name if side else 'fill'}: {r.stdout.strip()}", flush=True)
        return run

    def turns(self, *sides):
        """One run of each of (server, side, arguments), slice by slice in turn."""
        slices = [[] for _ in sides]
        for srv in {srv for srv, _, _ in sides}:
            self.measure(srv, seconds=self.o.seconds / SLICES)
        for _ in range(SLICES):
            for got, (srv, side, args) in zip(slices, sides):
                got.append(self.measure(srv, side, True, seconds=self.o.seconds / SLICES, **args))
        for got, (_, side, _) in zip(slices, sides):
            side.add_slices(got)

    def row(self, figure, got, want, how):
        """Keeps and prints one line of the table; got and want are ratios."""
        met = got >= want
        self.rows.append((figure, f"{got:.2f} of {want:g} wanted, by {how}", met))
        return met

    def ratio(self, figure, above, below, want):
        """above's rate over below's, or below's CPU time over above's."""
        by_rate, by_cpu = above.over(below, "rate"), below.over(above, "cpu_us")
        print(f"  {below.name:22}{below.text()}\n  {above.name:22}{above.text()}\n"
              f"  ratio by rate {by_rate:.2f}, by CPU time {by_cpu:.2f}, wanted {want:g}",
              flush=True)
        got, how = max((by_rate, "rate"), (by_cpu, "CPU time"))
        if by_rate >= want:
            got, how = by_rate, "rate"
        return self.row(figure, got, want, how)

    # ---- the figures

    def single(self):
        ping, publish, syncs = Side("empty POST"), Side("publish"), []
        for _ in range(self.o.runs):
            srv = self.server()
            syncs.append(fdatasync_seconds(self.work))
            self.turns((srv, ping, {"path": "/v1/ping", "empty": True}), (srv, publish, {}))
            self.end(srv)
        disk = CONNECTIONS / statistics.median(syncs)
        print(f"  one fdatasync {statistics.median(syncs) * 1e6:.0f} us: "
              f"64 of them at once are {disk:,.0f}/s")
        if disk < ping.median("rate"):
            print(f"  {ping.name:22}{ping.text()}\n  {publish.name:22}{publish.text()}")
            self.row("single", publish.median("rate") / disk, 0.5, "rate, of 64 / fdatasync")
        else:
            self.ratio("single", publish, ping, 0.5)

    def batch(self):
        one, hundred = Side("single"), Side("batch of 100")
        for _ in range(self.o.runs):
            srv = self.server()
            self.turns((srv, one, {}), (srv, hundred, {"batch": 100}))
            self.end(srv)
        self.ratio("batch", hundred, one, 5)

    def postgres(self):
        sqlite, pg = Side("SQLite"), Side("PostgreSQL")
        for _ in range(self.o.runs):
            a, b = self.server(), self.server("postgres")
            self.turns((a, sqlite, {}), (b, pg, {}))
            self.end(a)
            self.end(b)
        self.ratio("postgres", pg, sqlite, 0.5)

    def filled(self):
        """A server whose log has the events; the folder is kept for next time."""
        kept = os.path.join(BUILD, "bench-5m" if self.o.events == 5_000_000
                            else f"bench-{self.o.events}")
        os.makedirs(kept, exist_ok=True)
        srv = self.server(data=os.path.join(kept, "data"), EVENT_RETENTION_DAYS="3650d")
        begin, had = time.monotonic(), events_in(srv)
        missing = self.o.events - had
        if missing > 0:
            print(f"  filling the log: {missing:,} events to go", flush=True)
            self.measure(srv, connections=4, batch=1000, count=-(-missing // 1000))
            print(f"  filled in {time.monotonic() - begin:.0f} s, "
                  f"{missing / (time.monotonic() - begin):,.0f}/s", flush=True)
        return srv

    def full(self):
        srv = self.filled()
        n = events_in(srv)
        empty, full = Side("empty log"), Side(f"{n / 1e6:.1f} M events")
        for _ in range(self.o.runs):
            fresh = self.server()
            self.turns((fresh, empty, {}), (srv, full, {}))
            self.end(fresh)
        self.measure(srv, Side("and a batch of 100"), batch=100)  # its memory
        self.end(srv)
        self.ratio("full", full, empty, 0.9)

    def memory(self):
        if not self.rss:
            srv = self.server()
            self.measure(srv, Side("publish"))
            self.measure(srv, Side("batch of 1000"), batch=1000, connections=8)
            self.end(srv)
        for name, kib in self.rss.items():
            print(f"  {name:22}{kib / 1024:.1f} MB")
        worst = max(self.rss.values())
        self.rows.append(("memory", f"{worst / 1024:.1f} of 40 MB", worst < RSS_MAX_KIB))

    def close(self):
        for s in self.servers:
            s.kill9()
        if self.pg:
            self.pg.stop()
            shutil.rmtree(self.pg_folder, ignore_errors=True)
        shutil.rmtree(self.work, ignore_errors=True)


def events_in(srv):
    text = srv.client().get("/metrics").want(200).body.decode()
    first, last = (int(float(re.search(rf"(?m)^hikyaku_log_{w}_seq (\S+)", text)[1]))
                   for w in ("first", "last"))
    return last - max(first, 1) + 1 if last else 0


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("figures", nargs="*", metavar="FIGURE", help="of " + ", ".join(FIGURES))
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=3)
    p.add_argument("--events", type=int, default=5_000_000, help="in the full log")
    p.add_argument("--quick", action="store_true", help="3 runs of 1 s, 200,000 events")
    p.add_argument("--binary", default=None)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    if set(o.figures) - set(FIGURES):
        p.error("figures are " + ", ".join(FIGURES))
    if o.quick:
        o.runs, o.seconds, o.events = 3, 1, 200_000
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
