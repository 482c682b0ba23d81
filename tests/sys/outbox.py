"""outbox - tables that the relay reads, for its tests: in a SQLite file, or in PostgreSQL."""
import atexit
import json
import os
import re
import sqlite3
import subprocess

import hk
from hk import ROOT, TENANT, Cluster, check, new_id, now, until

SETTINGS = {"OUTBOX_POLL": "50ms"}


def shipped(name):
    with open(os.path.join(ROOT, "outbox", name)) as f:
        return f.read()


class Lite:
    """An outbox in a SQLite file."""
    mode = "polling"

    def __init__(self, t, table=True):
        self.path = t.path(f"outbox-{new_id()[:8]}.db")
        self.url = "sqlite://" + self.path
        if table:
            self.make()

    def make(self):
        self.sql(shipped("sqlite.sql"), script=True)

    def sql(self, text, *args, script=False):
        db = sqlite3.connect(self.path, timeout=20)
        try:
            with db:
                return db.executescript(text) if script else db.execute(text, args).fetchall()
        finally:
            db.close()

    def put(self, rows):
        db = sqlite3.connect(self.path, timeout=20)
        with db:
            for r in rows:
                names = list(r)
                db.execute(f"INSERT INTO outbox_events ({', '.join(names)}) VALUES "
                           f"({', '.join('?' * len(names))})", [r[n] for n in names])
        db.close()

    def waiting(self):
        return self.sql("SELECT count(*) FROM outbox_events WHERE published_at IS NULL")[0][0]


_cluster = []


def cluster(t):
    """A PostgreSQL for the outboxes of a file, where the run has none."""
    if not _cluster:
        os.chmod(t.folder, 0o755)
        _cluster.append(Cluster(t.path("pg")))
        atexit.register(lambda: _cluster and _cluster[0].tool("drop"))
    return _cluster[0]


class Pg:
    def __init__(self, t, mode, table=True, own=False):
        self.mode, self.url = mode, hk.pg_database(
            hk.PG_URL if hk.PG_URL and not own else cluster(t).url)
        if table:
            self.make()

    def make(self):
        self.feed(shipped("postgres.sql"))

    def feed(self, text):
        """What is too long for an argument."""
        r = subprocess.run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url],
                           input=text, text=True, capture_output=True)
        check(r.returncode == 0, "psql takes it", r.stderr)

    def sql(self, text):
        return hk.psql(self.url, text)

    @staticmethod
    def lit(v):
        if v is None:
            return "NULL"
        return str(v) if isinstance(v, int) else "'" + str(v).replace("'", "''") + "'"

    def put(self, rows):
        text = ""
        for r in rows:
            text += (f"INSERT INTO outbox_events ({', '.join(r)}) VALUES "
                     f"({', '.join(self.lit(v) for v in r.values())});\n")
        self.feed("BEGIN;" + text + "COMMIT;")

    def waiting(self):
        return int(self.sql("SELECT count(*) FROM outbox_events WHERE published_at IS NULL"))


def outboxes(t):
    return [Lite(t), Pg(t, "polling"), Pg(t, "xid")]


def row(key="k", n=0, **over):
    r = {"event_id": new_id(), "tenant_id": TENANT, "event_type": "order.paid",
         "schema_version": 1, "partition_key": key, "record_version": now(),
         "correlation_id": new_id(), "producer": '{"service":"core","instanceId":"i-1"}',
         "payload": json.dumps({"n": n}), "occurred_at": now()}
    r.update(over)
    return r


def serve(t, box, **more):
    return t.server(OUTBOX_URL=box.url, OUTBOX_MODE=box.mode, **more)


def relayed(c, n, **query):
    return until(lambda: (lambda l: l if len(l) >= n else None)(
        [e for e in c.events(**query) if not e["eventType"].startswith("ops.")]),
        f"{n} events", 30)


def metric(srv, name):
    text = srv.client().get("/metrics").body.decode()
    return float(re.search(rf"^{name} (\S+)", text, re.M)[1])


def end():
    """A file's last test calls it."""
    for c in _cluster:
        c.tool("drop")
    _cluster.clear()
