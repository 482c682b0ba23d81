#!/usr/bin/env python3
"""crash/order.py - order, and endpoints that are down, at full size.

  order  100 keys with 1,000 events each, for a receiver that fails one in five
         at random and hangs now and then: each key arrives in order, nothing is
         lost, nothing comes twice
  down   a million events for an endpoint that is down: its breaker holds them
         and uses up no attempt, memory stays below 100 MB, another endpoint
         gets everything meanwhile; when it comes back all arrive, in order

`make test` runs both small (--scale 100), `make soak` in full.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import arrivals  # noqa: E402
import checker   # noqa: E402
import hk        # noqa: E402

BATCH = 500
MB_MAX = 100


class World:
    def __init__(self, folder, store, **settings):
        hk.STORE = store
        os.makedirs(folder)
        self.quick = arrivals.Quick(folder)
        self.srv = hk.Server(os.path.join(folder, "srv"), {
            "WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8", **settings})
        self.numbers = {}

    def publish(self, keys, each, type="load.tick"):
        """In turn over the keys; numbers: eventId -> (key, number)."""
        client, batch = self.srv.client(), []
        for n in range(1, each + 1):
            for k in range(keys):
                ev = hk.envelope(type, f"key:{k}", payload={"n": n})
                self.numbers[ev["eventId"]] = (f"key:{k}", n)
                batch.append(ev)
                if len(batch) == BATCH:
                    self.send(client, batch)
                    batch = []
        if batch:
            self.send(client, batch)

    def send(self, client, batch):
        a = client.post("/v1/events", json.dumps(batch).encode(),
                        {"Content-Type": "application/json"}).want(200)
        hk.check(all(r["status"] == 202 for r in a.json["results"]), "not all were taken")

    def arrived(self, path):
        a = arrivals.Arrivals(path)
        a.take(self.quick.lines(), self.numbers)
        return a

    def mb(self):
        with open(f"/proc/{self.srv.proc.pid}/status") as f:
            return next(int(l.split()[1]) for l in f if l.startswith("VmHWM")) / 1024

    def close(self):
        self.srv.kill9()
        self.quick.stop()


def check_all(a, numbers, what):
    lost = a.missing(numbers)
    hk.check(not lost, f"{what}: {len(lost)} lost", *lost[:3])
    hk.check(not a.faults, f"{what}: {len(a.faults)} faults\n    {checker.show(a.faults)}")
    hk.same(a.again, 0, f"{what}: repeats")


def order(folder, store, scale):
    keys, each = 100, max(1000 // scale, 5)
    path = "/fail/20/hang/1/500/keys"
    w = World(folder, store, TIME_SCALE="100")
    try:
        arrivals.subscribe(w.srv, w.quick.url(path), order="key", concurrency=64)
        begin = time.monotonic()
        w.publish(keys, each)
        arrivals.drained(w.srv, 600)
        a = w.arrived(path)
        check_all(a, w.numbers, "keys")
        w.srv.stop()
        print(f"ok      order {store:9}{keys} keys x {each}: {a.posts} posts, 0 lost, 0 repeats, "
              f"0 out of order; {time.monotonic() - begin:.0f} s", flush=True)
    finally:
        w.close()


def down(folder, store, scale):
    keys, each = 1000, max(1000 // scale, 5)
    w = World(folder, store, TIME_SCALE="30")
    try:
        arrivals.subscribe(w.srv, w.quick.url("/down"), order="key", concurrency=64)
        arrivals.subscribe(w.srv, w.quick.url("/up"), order="key", concurrency=64)
        w.quick.override("/down", 503)
        begin = time.monotonic()
        w.publish(keys, each)
        total = len(w.numbers)
        hk.until(lambda: w.quick.counts()[1] >= total, "the other endpoint has all", 900)
        up = time.monotonic() - begin
        mb = w.mb()
        w.quick.override("/down", 0)
        arrivals.drained(w.srv, 900)
        for path in ("/up", "/down"):
            check_all(w.arrived(path), w.numbers, path)
        dead = arrivals.metrics(w.srv)["hikyaku_dead_letters_total"]
        hk.same(dead, 0, "dead letters")
        mb = max(mb, w.mb())
        hk.check(mb < MB_MAX, f"{mb:.1f} MB of memory")
        tried = w.arrived("/down").posts - total
        w.srv.stop()
        print(f"ok      down  {store:9}{total} events held, {tried} tries while it was down, "
              f"{mb:.1f} MB, all arrived in order; the other had all after {up:.0f} s, "
              f"{time.monotonic() - begin:.0f} s in all", flush=True)
    finally:
        w.close()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", nargs="*", choices=("order", "down", []), default=[])
    p.add_argument("--scale", type=int, default=1, help="divides the number of events")
    p.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    p.add_argument("--keep", action="store_true", help="leave the folder of a failed run")
    o = p.parse_args()
    stores = ("sqlite", "postgres") if o.store == "both" else (o.store,)
    folder = tempfile.mkdtemp(prefix="hk-order-")
    os.chmod(folder, 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    cluster, passed, failed = None, 0, 0
    try:
        for store in stores:
            if store == "postgres":
                cluster = hk.Cluster(os.path.join(folder, "pg"))
                hk.PG_URL = cluster.url
            for fn in (order, down):
                if o.what and fn.__name__ not in o.what:
                    continue
                try:
                    fn(os.path.join(folder, f"{store}-{fn.__name__}"), store, o.scale)
                    passed += 1
                except hk.Failed as e:
                    failed += 1
                    print(f"FAILED  {fn.__name__} {store}: {e}", flush=True)
    finally:
        if cluster:
            cluster.stop()
        if failed and o.keep:
            print(f"left: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
