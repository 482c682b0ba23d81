#!/usr/bin/env python3
"""deliveries.py [ATTEMPTS] - a page of an endpoint's deliveries out of very many attempts.

Fills a store with attempts of 100 subscriptions behind a stopped server's back, one of which
has only one in a thousand, starts the server and measures pages of both: the first, one in the
middle, and by status. HK_STORE=postgres with HK_PG_URL does the same there.
"""
import os
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "sys"))
import hk  # noqa: E402
import receiver  # noqa: E402

SUBS, RARE = 100, 1000


def fill_sqlite(srv, subs, n):
    db = sqlite3.connect(os.path.join(srv.data, "hikyaku.db"))
    db.execute("PRAGMA synchronous = off")
    db.executemany(
        "INSERT INTO attempt VALUES (?, ?, 0, 1, ?, 900, 200, 0, 0, NULL)",
        ((1000 + i, subs[0] if i % RARE == 0 else subs[1 + i % (SUBS - 1)], i) for i in range(n)))
    db.commit()
    db.close()


def fill_postgres(srv, subs, n, step=250_000):
    for at in range(0, n, step):
        hk.psql(srv.url, f"""INSERT INTO attempt
            SELECT 1000 + i, CASE WHEN i % {RARE} = 0 THEN {subs[0]}
                   ELSE {subs[1]} + i % {SUBS - 1} END, 0, 1, i, 900, 200, 0, 0, NULL
              FROM generate_series({at}, {min(at + step, n) - 1}) i""")
    hk.psql(srv.url, "ANALYZE attempt")


def measure(c, what, **query):
    took, shown = [], 0
    for _ in range(7):
        begin = time.perf_counter()
        page = c.get("/v1/deliveries", **query).want(200).json
        took.append(1000 * (time.perf_counter() - begin))
        shown = len(page["data"])
    print(f"{what:40} {statistics.median(took):8.2f} ms  {shown} shown", flush=True)
    return page["next"]


def main():
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    folder = tempfile.mkdtemp(prefix="hk-bench-")
    srv = hk.Server(folder, {**receiver.SETTINGS, "KEY_RATE_LIMIT": "100000",
                             "WEBHOOK_DELIVERY_LOG_RETENTION_DAYS": "36500d"})
    try:
        c = srv.client()
        uids = [c.post("/v1/subscriptions", {"name": f"s{i}", "url": "http://127.0.0.1:9/"})
                .want(201).json["id"] for i in range(SUBS)]
        srv.stop()
        (fill_postgres if srv.url else fill_sqlite)(srv, list(range(1, SUBS + 1)), n)
        srv.start()
        c = srv.client()
        print(f"{n} attempts of {SUBS} subscriptions, {hk.STORE}")
        for name, uid in (("one in a thousand", uids[0]), ("one in a hundred", uids[1])):
            after = measure(c, f"{name}: first page", subscription=uid, limit=50)
            measure(c, f"{name}: next page", subscription=uid, limit=50, after=after)
            measure(c, f"{name}: successes", subscription=uid, limit=50, status="SUCCESS")
            measure(c, f"{name}: dead letters", subscription=uid, status="DEAD_LETTER")
        after = measure(c, "all: first page", limit=50)
        measure(c, "all: next page", limit=50, after=after)
    finally:
        srv.kill9()  # it may be busy with attempts that the log knows nothing of
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
