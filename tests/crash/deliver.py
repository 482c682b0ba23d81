#!/usr/bin/env python3
"""crash/deliver.py - kill -9 in the middle of deliveries; all must arrive.

A round: the server starts, eight connections publish, a receiver that fails one
in five and hangs now and then gets everything twice, once in order of keys and
once in any order, and the server is killed. Every fifth round it kills itself
just before or after a commit. At the end everything heals, and then: nothing is
lost, first arrivals of each key are in order, whatever came again had the same
webhook-id, and there were no more repeats than limits.h allows for each crash.
"""
import argparse
import glob
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "sys"))
sys.dont_write_bytecode = True
import arrivals  # noqa: E402
import checker   # noqa: E402
import hk        # noqa: E402
import load      # noqa: E402

FAULTS = ("crash-before-commit", "crash-after-commit")
SLOTS = 256
PATHS = {"/fail/20/hang/1/300/keys": {"order": "key", "concurrency": 64},
         "/fail/20/any": {"order": "none", "concurrency": 64}}


def limit(name):
    for path in glob.glob(os.path.join(hk.ROOT, "src", "**", "limits.h"), recursive=True):
        with open(path, encoding="utf-8") as f:
            found = re.search(rf"#define {name}\s+(\d+)", f.read())
        if found:
            return int(found.group(1))
    raise KeyError(name)


class Crash:
    def __init__(self, folder, store, seed):
        hk.STORE = store
        self.store, self.random = store, random.Random(f"{seed}.{store}")
        os.makedirs(os.path.join(folder, store))
        self.quick = arrivals.Quick(os.path.join(folder, store))
        self.srv = hk.Server(os.path.join(folder, store, "srv"), {
            "WEBHOOK_URL_ALLOW_PRIVATE": "127.0.0.0/8", "TIME_SCALE": "200",
            "WEBHOOK_SLOTS": str(SLOTS)}, start=False)
        self.srv.start()
        self.ledger = checker.Ledger()
        for path, more in PATHS.items():
            arrivals.subscribe(self.srv, self.quick.url(path), types=["load.tick"], **more)
        self.load = load.Load(self.srv, self.ledger, seed=seed, pause=0.01)
        self.srv.kill9()

    def round_kill(self):
        self.srv.start()
        self.load.start()
        time.sleep(self.random.uniform(0.05, 0.7))
        self.srv.kill9()
        self.load.stop()

    def round_fault(self, name):
        fault = f"{name}:{self.random.randint(3, 60)}"
        try:
            self.srv.start("--fault", fault)
        except hk.Failed as e:
            if "ended at its start" not in str(e):
                raise
            return  # it came before the server listened
        self.load.start()
        try:
            self.srv.proc.wait(30)
        except subprocess.TimeoutExpired:
            raise hk.Failed(f"--fault {fault} never happened") from None
        finally:
            self.srv.kill9()
            if self.load.halt:
                self.load.stop()

    def check(self, rounds):
        bound = rounds * (SLOTS + limit("UNFLUSHED_MAX"))
        faults, again = [], 0
        for path in PATHS:
            a = arrivals.Arrivals(path)
            a.take(self.quick.lines(), self.ledger.sent)
            lost = a.missing(self.ledger.answered)
            faults += [f"LOST {path} {eid}" for eid in lost]
            faults += a.faults if "keys" in path else [f for f in a.faults if "came first" not in f]
            again += a.again
        hk.check(not faults, f"{len(faults)} faults\n    {checker.show(faults)}")
        hk.check(again <= bound, f"{again} repeats, {bound} are the bound")
        return again

    def run(self, rounds):
        begin = time.monotonic()
        for n in range(1, rounds + 1):
            if n % 5 == 0:
                self.round_fault(FAULTS[n // 5 % 2])
            else:
                self.round_kill()
        for path in PATHS:
            self.quick.override(path, 200)
        self.srv.start()
        arrivals.drained(self.srv, 120)
        again = self.check(rounds)
        dead = self.srv.client().get("/v1/dead-letters", limit=1)
        if dead.status == 200:
            hk.same(dead.json["data"], [], "dead letters")
        self.srv.stop()
        took = time.monotonic() - begin
        posts, fine = self.quick.counts()
        print(f"ok      {self.store:9}{rounds} rounds, {len(self.ledger.answered)} events answered, "
              f"{posts} posts, {fine} taken, 0 lost, {again} repeats, 0 out of order; "
              f"{took / rounds:.2f} s a round", flush=True)

    def close(self):
        self.srv.kill9()
        self.quick.stop()


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=8)
    p.add_argument("--store", choices=("sqlite", "postgres", "both"), default="both")
    p.add_argument("--seed", default=None)
    p.add_argument("--binary", default=None)
    p.add_argument("--keep", action="store_true", help="leave the folder of a failed run")
    o = p.parse_args()
    if o.binary:
        hk.BINARY = os.path.abspath(o.binary)
    seed = o.seed or str(random.SystemRandom().randrange(10**6))
    stores = ("sqlite", "postgres") if o.store == "both" else (o.store,)
    folder = tempfile.mkdtemp(prefix="hk-crash-")
    os.chmod(folder, 0o755)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    cluster, passed, failed = None, 0, 0
    try:
        for store in stores:
            if store == "postgres":
                cluster = hk.Cluster(os.path.join(folder, "pg"))
                hk.PG_URL = cluster.url
            c = None
            try:
                c = Crash(folder, store, seed)
                c.run(o.rounds)
                passed += 1
            except hk.Failed as e:
                failed += 1
                print(f"FAILED  {store:9}--seed {seed}: {e}", flush=True)
                if c:
                    print(c.srv.tail(), flush=True)
            finally:
                if c:
                    c.close()
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
