#!/usr/bin/env python3
"""crash/run.py - kill -9 at random moments; nothing answered may be lost.

A round: the server starts, the log is compared with what was answered, eight
connections publish singles and batches over keys that they own, and the server
is killed. Every fifth round it kills itself instead, just before or just after
a commit (`serve --fault`), so that those two points are hit for certain. What
was not answered is sent again after the restart, byte for byte. Now and then,
and at the end, the whole log is read anew.
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
import checker  # noqa: E402
import hk       # noqa: E402
import load     # noqa: E402

FULL_EVERY = 25  # rounds between two readings of the whole log
FAULTS = ("crash-before-commit", "crash-after-commit")


class Crash:
    def __init__(self, folder, store, seed):
        hk.STORE = store
        self.store, self.random = store, random.Random(f"{seed}.{store}")
        self.srv = hk.Server(os.path.join(folder, store), {}, start=False)
        self.ledger = checker.Ledger()
        self.reading, self.cursor = self.ledger.reading(), None
        self.srv.start()
        self.client = self.srv.connect("Bearer " + self.srv.key())
        self.load = load.Load(self.srv, self.ledger, seed=seed)
        self.srv.kill9()
        self.faults_hit = dict.fromkeys(FAULTS, 0)

    def compare(self):
        """Takes what is new in the log; then all that was answered is there."""
        self.client.close()
        while True:
            query = {"limit": 1000, "wait": 0}
            if self.cursor:
                query["after"] = self.cursor
            page = self.client.page(**query)
            self.reading.take(page["data"])
            self.cursor = page["next"]
            if len(page["data"]) < 1000:
                break
        faults = self.reading.report()
        hk.check(not faults, f"{len(faults)} faults\n    {checker.show(faults)}")

    def compare_all(self):
        self.client.close()
        faults = checker.check_log(self.ledger, self.client)
        hk.check(not faults, f"{len(faults)} faults in the whole log\n    {checker.show(faults)}")

    def round_kill(self):
        self.srv.start()
        self.compare()
        self.load.start()
        time.sleep(self.random.uniform(0.005, 0.25))
        self.srv.kill9()
        self.load.stop()

    def round_fault(self, name):
        fault = f"{name}:{self.random.randint(1, 40)}"
        self.srv.spawn("--fault", fault)
        proc = self.srv.proc
        try:
            self.srv.listens()
        except hk.Failed:  # a commit of the start itself was the one that crashed
            hk.check(proc.returncode != -signal.SIGKILL, f"--fault {fault}: no start, no end")
        else:
            self.load.start()
        try:
            code = proc.wait(20)
        except subprocess.TimeoutExpired:
            raise hk.Failed(f"--fault {fault} never happened") from None
        finally:
            self.srv.kill9()
            if self.load.halt:
                self.load.stop()
        hk.check(code != 0, f"--fault {fault} ended the server with status 0")
        self.faults_hit[name] += 1

    def run(self, rounds):
        begin = time.monotonic()
        for n in range(1, rounds + 1):
            if n % 5 == 0:
                self.round_fault(FAULTS[n // 5 % 2])
            else:
                self.round_kill()
            if n % FULL_EVERY == 0:
                self.srv.start()
                self.compare_all()
                self.srv.kill9()
        self.srv.start()
        self.compare()
        self.compare_all()
        self.srv.stop()
        took = time.monotonic() - begin
        seen, told = len(self.reading.seen), len(self.ledger.answered)
        hk.check(told >= rounds, f"only {told} events were answered in {rounds} rounds")
        print(f"ok      {self.store:9}{rounds} rounds ({sum(self.faults_hit.values())} at a commit), "
              f"{len(self.ledger.sent)} events sent, {told} answered, {seen} in the log, "
              f"0 lost, 0 twice, 0 out of order; {took / rounds:.2f} s a round", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--rounds", type=int, default=10)
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
    os.chmod(folder, 0o755)  # the cluster may run as another user
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
                    c.srv.kill9()
    finally:
        if cluster:
            cluster.stop()
        if not (failed and o.keep):
            shutil.rmtree(folder, ignore_errors=True)
        else:
            print(f"left: {folder}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
