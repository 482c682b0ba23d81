"""hikyaku backup, restore, resume: an exact prefix, held until leave is given, then each once."""
import collections
import io
import json
import os
import shutil
import socket
import subprocess
import tarfile
import threading
import time

import hk
import receiver
from hk import Skip, check, envelope, same, until
from receiver import Receiver

SETTINGS = {**receiver.SETTINGS, "TIME_SCALE": "20"}
SQLITE = hk.STORE == "sqlite"


class Load:
    """Publishes batches, at most so many events a second, until it is ended."""

    def __init__(self, srv, per_second, batch=100, pad=600):
        self.srv, self.rate, self.batch, self.pad = srv, per_second, batch, "x" * pad
        self.sent, self.ending, self.wrong, self.slowest = 0, False, None, 0.0
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.began = time.monotonic()
        self.thread.start()

    def run(self):
        c = self.srv.client()
        while not self.ending:
            ahead = self.sent / self.rate - (time.monotonic() - self.began)
            if ahead > 0:
                time.sleep(ahead)
            body = [envelope("load.tick", f"k{i % 10}", payload={"n": self.sent + i, "pad": self.pad})
                    for i in range(self.batch)]
            at = time.monotonic()
            a = c.post("/v1/events", body)
            self.slowest = max(self.slowest, time.monotonic() - at)
            if a.status not in (200, 202, 207):
                self.wrong = a
                return
            self.sent += self.batch

    def end(self):
        self.ending = True
        self.thread.join(60)
        check(self.wrong is None, "every batch was taken", self.wrong)
        return self.sent / (time.monotonic() - self.began)


def log_of(srv):
    return [(int(n), i) for n, i in srv.rows("SELECT seq, hash FROM log WHERE kind = 0 ORDER BY seq")]


def restored(t, srv, parcel, **settings):
    """A server on what was restored, with the settings and the key of the old one."""
    url = hk.pg_database(hk.PG_URL) if not SQLITE else ""
    new = t.server(start=False, url=url, **settings)
    new.settings.update(srv.settings)
    new.cli("restore", parcel).want(0, says="resume")
    shutil.copy(os.path.join(srv.data, "seal.key"), new.data)
    return new


def story(t, rate, seconds, before):
    """What the proof rests on; tests/crash/backup.py runs it with larger numbers."""
    srv, r = t.server(), Receiver(t)
    c = srv.client()
    r.answer("/down", 503)
    for name in ("up", "down"):
        c.post("/v1/subscriptions", {
            "name": name, "url": r.url("/" + name), "types": ["load.last" if name == "up" else "load.few"],
            "retry": {"delaysMs": [2000] * 8, "jitterMs": 0}}).want(201)
    few = [envelope("load.few", f"few{i}", payload={"n": i}) for i in range(50)]
    c.post("/v1/events", few)
    c("PUT", "/v1/consumers/work", {"types": ["load.few"], "from": "start"}).want(201)
    load = Load(srv, rate)
    until(lambda: load.sent >= before, "there is something to copy", 120)
    parcel, n = t.path("parcel"), load.sent
    began = time.monotonic()
    run = srv.cli("backup", parcel, "--json", *([] if SQLITE else ["--run"])).want(0)
    took, meanwhile = time.monotonic() - began, load.sent - n
    time.sleep(max(0, seconds - took))
    reached = load.end()
    manifest = json.loads(run.out)
    c.publish(envelope("load.last")).want(202)
    r.wait_for(1, "/up")
    all_of_it = log_of(srv)
    until(lambda: r.at("/down"), "it was tried")
    srv.stop()
    r.answer_as_usual("/down")
    seen = len(r.requests)

    new = restored(t, srv, parcel)
    new.start()
    c = new.client()
    if SQLITE:
        same(log_of(new), [row for row in all_of_it if row[0] <= manifest["lastSeq"]], "an exact prefix")
    else:  # what pg_dump saw is at least what was there before it began
        got = log_of(new)
        same(got, all_of_it[:len(got)], "an exact prefix")
        check(got[-1][0] >= manifest["lastSeq"], "with all that was there", got[-1], manifest)
    check(meanwhile > 0, "events were taken meanwhile", n, load.sent)
    new.cli("audit", "verify").want(0, says="rows are good")
    check("resume" in c.get("/readyz").want(200).json["held"], "/readyz says so")
    check(c.get("/v1/backup").want(200).json["restored"]["lastSeq"] == manifest["lastSeq"], "the API")
    check(any("was restored" in l["msg"] for l in new.log()), "the log", new.log())
    check("held" in new.cli("doctor").want(0).out, "doctor")
    c.get("/v1/consumers/work/events").want(503, says="resume")
    c.publish(envelope("load.few", "later")).want(202)
    time.sleep(1)
    same(len(r.requests), seen, "nothing is delivered before leave is given")

    new.cli("resume").want(0)
    until(lambda: any("delivers" in l["msg"] for l in new.log()), "leave is given")
    c = new.client()
    want = {e["eventId"] for e in few}
    until(lambda: len(r.requests) - seen >= len(want) + 1, "they arrive", 60)
    time.sleep(1)
    got = collections.Counter(q.json["eventId"] for q in r.requests[seen:])
    check(want <= set(got) and len(got) == len(want) + 1, "all of them, and the new one", got)
    same(set(got.values()), {1}, "each once")
    work = []
    until(lambda: work.extend(e["event"]["eventId"] if "event" in e else e["eventId"] for e in
                              c.get("/v1/consumers/work/events?max=100").want(200).json["data"]) or len(work) >= 51,
          "workers get theirs")
    same(sorted(work), sorted(got), "each once")
    rows = c.get("/v1/audit").want(200).json["data"]
    check(any(x["eventCategory"] == "DELIVERIES_RESUMED" if "eventCategory" in x else
              "DELIVERIES_RESUMED" in json.dumps(x) for x in rows), "the audit has it", rows[:3])
    new.cli("resume").want(1, says="nothing is held")
    return {"rate": round(reached), "sent": load.sent, "backup_s": round(took, 2), "meanwhile": meanwhile,
            "slowest_ms": round(load.slowest * 1000), "mb": round(manifest["files"][0]["bytes"] / 1e6)}


def test_under_load(t):
    story(t, 2000, 1, 4000)


def test_refusals(t):
    if not SQLITE:
        raise Skip("of files")
    srv = t.server()
    srv.client().publish(envelope()).want(202)
    parcel = t.path("p")
    srv.cli("backup", parcel + "/").want(0, says="checked")
    srv.cli("backup", parcel).want(1, says="nothing is overwritten")
    srv.cli("backup", t.path("none/here")).want(1)
    check(sorted(os.listdir(parcel)) == ["hikyaku.db", "manifest.json"], "no key in it", os.listdir(parcel))
    same(os.stat(parcel).st_mode & 0o777, 0o700, "for nobody else")
    srv.cli("restore", parcel).want(1, says="no empty folder")
    for name, change in (("byte", lambda b: b[:5000] + bytes([b[5000] ^ 1]) + b[5001:]), ("cut", lambda b: b[:-1])):
        bad = t.path(name)
        shutil.copytree(parcel, bad)
        with open(os.path.join(parcel, "hikyaku.db"), "rb") as f, open(os.path.join(bad, "hikyaku.db"), "wb") as to:
            to.write(change(f.read()))
        new = t.server(start=False)
        new.cli("restore", bad).want(1, says="not the file")
        check(not os.path.exists(new.data), "nothing stays")
        new.cli("restore", t.path("nowhere")).want(1, says="is this a backup")
    with open(os.path.join(parcel, "manifest.json")) as f:
        m = json.load(f)
    m["files"][0]["name"] = "../../etc/passwd"
    with open(os.path.join(t.path("byte"), "manifest.json"), "w") as f:
        json.dump(m, f)
    new.cli("restore", t.path("byte")).want(1, says="none of ours")
    new.cli("restore", "-", stdin=b"hello").want(1, says="too early")
    new.cli("restore", "-", stdin=b"h" * 2048).want(1, says="no tar")
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w", format=tarfile.USTAR_FORMAT) as out:
        info = tarfile.TarInfo("../evil")
        info.size = 4
        out.addfile(info, io.BytesIO(b"evil"))
    new.cli("restore", "-", stdin=tar.getvalue()).want(1, says="no backup")
    os.mkdir(new.data, 0o700)  # as a volume of a container is: there, and empty
    # without the key the server says what is missing
    new.cli("restore", parcel).want(0, says="seal.key")
    hk.run([hk.BINARY, "serve", "--listen", "127.0.0.1:0", "--data", new.data],
           env=hk.environment({}, None)).want(1, says="put back the one that sealed")


def test_stream_and_key(t):
    """As a tar, with the key, from a server and without one; other tars read it."""
    if not SQLITE:
        raise Skip("of files")
    srv = t.server()
    srv.client().post("/v1/subscriptions", {"name": "s", "url": "http://127.0.0.1:1/x", "secret": "whsec_" + "A" * 32}).want(201)
    env = hk.environment(srv.settings, "")
    for running in (True, False):
        tar = subprocess.run([hk.BINARY, "backup", "-", "--with-key", "--data", srv.data],
                             capture_output=True, env=env, check=True).stdout
        with tarfile.open(fileobj=io.BytesIO(tar)) as f:
            same(f.getnames(), ["manifest.json", "hikyaku.db", "seal.key"], "what is in it")
        same([n for n in os.listdir(srv.data) if n.startswith("backup")], [], "nothing stays in the data folder")
        new = t.server(start=False)
        new.cli("restore", "-", stdin=tar).want(0)
        new.cli("doctor").want(0, says="held")
        new.cli("resume").want(0)
        new.start()
        same(len(new.client().get("/v1/subscriptions").want(200).json["data"]), 1, "it works")
        check("ok    backup" in srv.cli("doctor").want(0).out, "doctor knows of it")
        if running:
            srv.stop()


def test_postgres_says_how(t):
    if SQLITE:
        raise Skip("of PostgreSQL")
    srv = t.server()
    r = srv.cli("backup", t.path("p")).want(1, says="--run")
    check("pg_dump --format=custom" in r.out and "pg_basebackup" in r.out, "how", r.out)
    check(not os.path.exists(t.path("p")) and not os.path.exists(t.path("p.part")), "nothing stays")
    srv.client().post("/v1/backup").want(409, says="PostgreSQL")


def test_port_in_use_makes_nothing(t):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(1)
    data = t.path("never")
    r = hk.run([hk.BINARY, "serve", "--listen", f"127.0.0.1:{s.getsockname()[1]}", "--data", data],
               env=hk.environment({}, None))
    s.close()
    r.want(1, says="in use")
    check(not os.path.exists(data), "no data folder")
