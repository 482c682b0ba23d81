#!/usr/bin/env python3
"""bench/reader.py - what reading and keeping articles costs, against bare SQL.

Both sides of a figure are run in turn, and the median counts; a ratio is met by
rate or by CPU time (for PostgreSQL with all its processes). Each figure is taken
on SQLite and on PostgreSQL.

  list    GET /api/feeds/{id}/items, fifty articles of a feed of some thousand,
          keep-alive, as one who is logged in; against the same statement prepared
          on a bare connection, all its rows read, and one empty authenticated
          route of the same server after it: the times of the two are added
  upsert  the articles of one document into a fresh store, as the fetcher does
          (plan, cleaning and events too; parsing not); against prepared inserts
          of the same rows into the same tables: tests/bench/reader.c says which
  pages   lists, searches and counts as every app asks for them (tests/bench/pages.py), of
          50,000 and of 1,000,000 unread articles: the median of each is 10 ms at most. On
          PostgreSQL the store has no statistics, as one that grew fast

Exit status 1 when a figure is missed.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import deliver   # noqa: E402
import feedsite  # noqa: E402
import hk        # noqa: E402
import pages     # noqa: E402
import run       # noqa: E402

FIGURES = ("list", "upsert", "pages")
PAGE_MS = 10
EMPTY = "/miniflux/v1/integrations/status"  # a person is asked for, and nothing else


class Bench(run.Bench):
    def __init__(self, o):
        super().__init__(o)
        subprocess.run(["make", "-s", "-C", hk.ROOT, "build/release/bench/reader"], check=True)
        self.exe = os.path.join(run.BUILD, "release", "bench", "reader")
        self.ends = []

    def later(self, fn):  # for feedsite
        self.ends.append(fn)

    def close(self):
        for fn in self.ends:
            fn()
        super().close()

    def pg_time(self):
        """CPU seconds of all of PostgreSQL, with children that have ended."""
        total = deliver.tree_cpu(self.postmaster())
        with open(f"/proc/{self.postmaster()}/stat") as f:
            v = f.read().rsplit(")", 1)[1].split()
        return total + (int(v[13]) + int(v[14])) / os.sysconf("SC_CLK_TCK")

    def tool(self, what, url, folder, *args):
        """One run of tests/bench/reader.c: its figures, with PostgreSQL's CPU time."""
        p = subprocess.Popen([self.exe, what, url, folder, *map(str, args)], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE if what == "list" else subprocess.DEVNULL)
        try:
            hk.check(p.stdout.readline() == "ready\n", f"reader {what} is ready")
            before = self.pg_time() if url else 0
            p.stdin.write("\n")
            p.stdin.flush()
            got = json.loads(p.stdout.readline() or "{}")
            hk.check("rate" in got, f"reader {what} {folder} failed")
            got["pg_us"] = (self.pg_time() - before) * 1e6 / got["n"] if url else 0
            got["cpu_us"] += got["pg_us"]
            p.stdin.close()
            p.wait(60)
        finally:
            if p.poll() is None:
                p.kill()
                p.wait()
        if self.o.verbose:
            print(f"    {what}: {json.dumps(got)}", flush=True)
        return {**got, "p50_us": 1e6 / got["rate"], "p99_us": 0}

    # ---- the figures

    def reading(self, store):
        """A server with a feed, half of it read and some with a star."""
        srv = self.server(store, **feedsite.SETTINGS, FETCH_INTERVAL="1h")
        site = feedsite.Site(self)
        doc = subprocess.run([self.exe, "feed", "-", "-", str(self.o.articles), "60"], check=True,
                             stdout=subprocess.PIPE).stdout
        site.put("/feed", doc, "application/rss+xml")
        uid = feedsite.add(srv.admin(), site.url("/feed"))["id"]
        user, feed, n = srv.rows("SELECT s.user_id, f.id, f.items FROM feed f"
                                 " JOIN feed_subscription s ON s.feed_id = f.id")[0]
        hk.same(int(n), self.o.articles, "articles of the feed")
        feedsite.change(srv, "INSERT INTO item_state (user_id, item_id, feed_id, is_read,"
                        f" is_starred, updated_at) SELECT {user}, id, feed_id, id % 2,"
                        " CASE WHEN id % 10 = 0 THEN 1 ELSE 0 END, 1 FROM feed_item WHERE id % 3 > 0")
        if srv.url:
            hk.psql(srv.url, "VACUUM ANALYZE")
        return srv, uid, user, feed

    def list(self, store):
        srv, uid, user, feed = self.reading(store)
        bare, empty, ours = run.Side("bare statement"), run.Side("empty route"), run.Side("list")
        how = {"auth": hk.basic("admin", hk.PASSWORD), "get": True,
               "connections": self.o.connections}
        for _ in range(self.o.runs):
            bare.add(self.tool("list", srv.url, srv.data, user, feed, self.o.seconds))
            self.measure(srv, empty, path=EMPTY, **how)
            self.measure(srv, ours, path=f"/api/feeds/{uid}/items", **how)
        self.end(srv)
        print(f"  {bare.name:22}{bare.text()}\n  {empty.name:22}{empty.text()}")
        both = run.Side("both, added")
        for b, e in zip(bare.runs, empty.runs):
            both.add({"rate": 1 / (1 / b["rate"] + 1 / e["rate"]), "cpu_us": b["cpu_us"] + e["cpu_us"],
                      "p50_us": b["p50_us"] + e["p50_us"], "p99_us": b["p99_us"] + e["p99_us"]})
        self.ratio(f"list, {store}", ours, both, 0.5)

    def fresh(self, store, what, side):
        folder = os.path.join(self.work, "upsert")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        url = hk.pg_database(self.cluster().url) if store == "postgres" else ""
        side.add(self.tool(what, url, folder, self.o.items, self.o.words))
        if url:
            hk.psql(self.cluster().url, f"DROP DATABASE {url.split('?')[0].rsplit('/', 1)[1]}")

    def upsert(self, store):
        bare, ours = run.Side("bare inserts"), run.Side("upsert")
        for _ in range(self.o.runs):
            self.fresh(store, "bare", bare)
            self.fresh(store, "ours", ours)
        print(f"  of ours: plan {ours.median('plan_us'):.1f} us CPU an article, "
              f"of which cleaning {ours.median('clean_us'):.1f}; PostgreSQL "
              f"{ours.median('pg_us'):.1f}, of bare {bare.median('pg_us'):.1f}")
        self.ratio(f"upsert, {store}", ours, bare, 0.5)


    def pages(self, store):
        took = {}
        for n in (self.o.unread, self.o.unread_most):
            srv = self.server(store, **feedsite.SETTINGS, FETCH_INTERVAL="1h")
            if srv.url:
                hk.psql(srv.url, "ALTER TABLE feed_item SET (autovacuum_enabled = off)")
                hk.psql(srv.url, "ALTER TABLE item_state SET (autovacuum_enabled = off)")
            pages.fill(srv, n)
            asking = pages.Apps(srv)
            took[n] = [asking.median(of, path, self.o.times) for _, of, path in pages.CALLS]
            self.end(srv)
        few, many = took.values()
        for (name, of, _), a, b in zip(pages.CALLS, few, many):
            print(f"  {of:6}{name:26}{a:8.2f} ms {b:8.2f} ms{'' if max(a, b) <= PAGE_MS else '  over ' + str(PAGE_MS)}")
        for n, ms in took.items():
            met = sum(v <= PAGE_MS for v in ms)
            self.rows.append((f"pages, {store}", f"{met} of {len(ms)} within {PAGE_MS} ms, {n:,} unread", met == len(ms)))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("figures", nargs="*", metavar="FIGURE", help="of " + ", ".join(FIGURES))
    p.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    p.add_argument("--runs", type=int, default=5)
    p.add_argument("--seconds", type=float, default=3, help="of a run of lists")
    p.add_argument("--connections", type=int, default=16)
    p.add_argument("--articles", type=int, default=4000, help="of the feed that is read")
    p.add_argument("--items", type=int, default=10_000, help="that are upserted, 10,000 at most")
    p.add_argument("--words", type=int, default=24,
                   help="of such an article; with 24 the fetcher would just take the document")
    p.add_argument("--unread", type=int, default=50_000, help="articles of pages, first")
    p.add_argument("--unread-most", type=int, default=1_000_000, help="and then")
    p.add_argument("--times", type=int, default=15, help="that each page is asked for")
    p.add_argument("--quick", action="store_true", help="3 runs of 1 s, 3,000 items, 200,000 unread")
    p.add_argument("--binary", default=None)
    p.add_argument("--verbose", action="store_true")
    o = p.parse_args()
    if set(o.figures) - set(FIGURES):
        p.error("figures are " + ", ".join(FIGURES))
    if o.quick:
        o.runs, o.seconds, o.items, o.unread_most = 3, 1, 3000, 200_000
    if o.binary:
        hk.BINARY = os.path.abspath(o.binary)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    b = Bench(o)
    try:
        for f in [f for f in FIGURES if not o.figures or f in o.figures]:
            for store in ("sqlite", "postgres") if o.store == "both" else (o.store,):
                print(f"{f}, {store}:", flush=True)
                getattr(b, f)(store)
    except hk.Failed as e:
        print(f"FAILED  {e}")
        return 1
    finally:
        b.close()
    print()
    for figure, text, met in b.rows:
        print(f"{'met' if met else 'MISSED':8}{figure:18}{text}")
    missed = sum(not met for _, _, met in b.rows)
    print(f"{len(b.rows) - missed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
