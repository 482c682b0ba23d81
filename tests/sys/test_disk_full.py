"""A full disk: 503 with Retry-After, nothing answered is lost, it recovers."""
import os
import subprocess

import checker
import hk
import load
from hk import Skip, check, envelope, same, until


def tmpfs(t, mib):
    if os.geteuid() != 0:
        raise Skip("mounting a tmpfs needs root")
    if hk.STORE != "sqlite":
        raise Skip("the disk is the database server's")
    path = t.path("small")
    os.makedirs(path)
    r = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=700", "tmpfs", path],
                       capture_output=True, text=True, timeout=30)
    if r.returncode:
        os.rmdir(path)
        raise Skip("no tmpfs here: " + r.stderr.strip())

    def undo():
        subprocess.run(["umount", "-l", path], timeout=30)
        os.rmdir(path)
    t.later(undo)
    return path


def ballast(folder, mib):
    path = os.path.join(folder, "ballast")
    with open(path, "wb") as f:
        f.write(b"x" * (mib << 20))
    return path


def full_story(t, free_min, size, weight):
    small = tmpfs(t, size)
    srv = t.server(start=False, DISK_FREE_MIN=free_min)
    srv.data = os.path.join(small, "data")
    srv.start()
    stone = ballast(small, weight)
    ledger, c = checker.Ledger(), srv.client()
    big, sent = {"x": "y" * 20000}, 0
    while True:  # until it is full
        ev = envelope("fill.up", "Fill:1", payload={**big, "n": sent})
        sent += 1
        ledger.note_sent(ev["eventId"], "Fill:1", sent)
        a = c.publish(ev)
        if a.status == 503:
            break
        ledger.note_answered(ev["eventId"], a.want(202).json["seq"])
        check(sent < size * 200, "it never gets full", sent)
    check(len(ledger.answered) > 10, "some were taken before", len(ledger.answered))
    a.want(503)
    check(int(a.headers["Retry-After"]) >= 1, "Retry-After", a.headers.items())
    for _ in range(20):  # it stays so, and reading goes on
        c.publish(envelope("fill.up", payload=big)).want(503)
    same([e["eventId"] for e in c.events()],
         list(ledger.answered), "what can be read while it is full")
    check(srv.alive(), "it lives")
    same(srv.connect().get("/healthz").status, 200, "/healthz")
    a = srv.connect().get("/readyz").want(503, says="disk")
    check(int(a.headers["Retry-After"]) >= 1, "Retry-After", a.headers.items())
    os.unlink(stone)
    until(lambda: srv.connect().get("/readyz").status == 200, "ready again", 10)
    work = load.Load(srv, ledger, seed=1).start()
    until(lambda: work.good() > 50, "it recovers by itself", 20)
    work.stop()
    for how in (None, srv.restart, lambda: (srv.kill9(), srv.start())):
        if how:
            how()
        faults = checker.check_log(ledger, srv.client())
        check(not faults, checker.show(faults))


def test_no_space_at_all(t):
    """The real ENOSPC, in the middle of a transaction."""
    full_story(t, "0", 32, 22)


def test_below_the_threshold(t):
    full_story(t, "16MiB", 48, 24)


def test_full_under_load(t):
    """Eight publishers run into the wall and over it."""
    small = tmpfs(t, 24)
    srv = t.server(start=False, DISK_FREE_MIN="0")
    srv.data = os.path.join(small, "data")
    srv.start()
    ledger = checker.Ledger()
    work = load.Load(srv, ledger, seed=2).start()
    until(lambda: work.good() > 20, "load", 20)
    for _ in range(3):
        free = os.statvfs(small).f_bavail * os.statvfs(small).f_bsize
        stone = os.path.join(small, "stone")
        with open(stone, "wb", buffering=0) as f:
            try:
                while f.write(b"x" * max(free, 4096)):
                    pass
            except OSError:
                pass  # not a byte is left
        n = work.count(503)
        until(lambda: work.count(503) > n + 20, "503 while it is full", 20)
        good = work.good()
        os.truncate(stone, 0)
        os.unlink(stone)
        until(lambda: work.good() > good + 50, "it goes on", 20)
    work.stop()
    check(all(r and int(r) >= 1 for r in work.retry_after()), "each 503 has Retry-After")
    faults = checker.check_log(ledger, srv.client())
    check(not faults, checker.show(faults))
    srv.kill9()
    srv.start()
    faults = checker.check_log(ledger, srv.client())
    check(not faults, checker.show(faults))
