"""arrivals - the quick receiver (tests/tools/receiver.c) and what came to it.

One checker for order, crash and load tests of deliveries:

  1. every event that was answered 202 arrives: some POST of it was answered 2xx
  2. what arrives more than once has the same webhook-id
  3. first arrivals of a key are in order, and no key goes forward past one that
     was not taken yet
"""
import os
import subprocess
import urllib.request

import hk

SRC = os.path.join(hk.ROOT, "tests", "tools", "receiver.c")
EXE = os.path.join(hk.ROOT, "build", "tools", "receiver")


def built():
    if not os.path.exists(EXE) or os.path.getmtime(EXE) < os.path.getmtime(SRC):
        os.makedirs(os.path.dirname(EXE), exist_ok=True)
        part = f"{EXE}.{os.getpid()}"
        subprocess.run([os.environ.get("CC", "gcc"), "-D_GNU_SOURCE", "-std=gnu17", "-O2",
                        "-Wall", "-Wextra", "-o", part, SRC], check=True)
        os.rename(part, EXE)
    return EXE


class Quick:
    """A running receiver. `folder` holds its record."""

    def __init__(self, folder, record=True):
        self.record = os.path.join(folder, "arrivals.txt") if record else None
        args = [built()] + (["--record", self.record] if record else [])
        self.proc = subprocess.Popen(args, stdout=subprocess.PIPE)
        self.port = int(self.proc.stdout.readline().split()[1])

    def url(self, path="/"):
        return f"http://127.0.0.1:{self.port}{path}"

    def ask(self, path, post=False):
        with urllib.request.urlopen(urllib.request.Request(
                self.url(path), data=b"" if post else None), timeout=10) as r:
            return r.read().decode()

    def override(self, path, status):
        """From now on all POSTs to this path get this status; 0: as before."""
        self.ask(f"/ctl{path}?{status}", post=True)

    def counts(self):
        """POSTs that came, and those that were answered 2xx."""
        return tuple(int(n) for n in self.ask("/count").split())

    def lines(self):
        self.counts()  # it writes out what it holds
        with open(self.record) as f:
            for line in f:
                if line.endswith("\n"):
                    ms, path, wid, eid, key, status = line.split()
                    yield int(ms), path, wid, eid, key, int(status)

    def stop(self):
        self.proc.kill()
        self.proc.wait()


class Arrivals:
    """What came to one path."""

    def __init__(self, path):
        self.path, self.taken, self.ids = path, {}, {}
        self.first, self.faults, self.posts, self.again = {}, [], 0, 0

    def take(self, lines, numbers):
        """numbers: eventId -> (key, number in its key)."""
        for _, path, wid, eid, key, status in lines:
            if path != self.path or eid not in numbers:
                continue
            self.posts += 1
            if self.ids.setdefault(eid, wid) != wid:
                self.faults.append(f"{eid} came as {self.ids[eid]} and as {wid}")
            if 200 <= status < 300:
                self.again += eid in self.taken
                self.taken[eid] = self.taken.get(eid, 0) + 1
                self.note(eid, *numbers[eid])

    def note(self, eid, key, number):
        last = self.first.get(key, 0)
        if self.taken[eid] == 1:
            if number < last:
                self.faults.append(f"{key}: number {number} came first after {last}")
            self.first[key] = max(last, number)

    def missing(self, wanted):
        return [eid for eid in wanted if eid not in self.taken]


def drained(srv, seconds=60):
    """Waits until nothing is left to deliver."""
    def done():
        m = metrics(srv)
        last = m.get("hikyaku_log_last_seq", 0)
        return (m.get("hikyaku_deliver_cursor", -1) >= last and m["hikyaku_deliveries_in_memory"] == 0
                and m["hikyaku_readers"] == 0)
    hk.until(done, "all is delivered", seconds, every=0.1)


def metrics(srv):
    out = {}
    for line in srv.client().get("/metrics").body.decode().splitlines():
        if not line.startswith("#"):
            name, value = line.rsplit(" ", 1)
            out[name] = float(value)
    return out


def subscribe(srv, url, **more):
    """A subscription; its id."""
    body = {"name": url.rsplit("/", 1)[-1] or "all", "url": url, **more}
    return srv.client().post("/v1/subscriptions", body).want(201).json["id"]


