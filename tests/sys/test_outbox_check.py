"""hikyaku outbox check and schema: is a table fit, and what does it lack?"""

import subprocess

import hk
import outbox
from hk import check, new_id, same
from outbox import Lite, Pg, row, shipped

SETTINGS = outbox.SETTINGS


def test_schema_is_the_shipped_file(t):
    srv = t.server(start=False)
    same(srv.cli("outbox", "schema", data=False).want(0).out, shipped("postgres.sql"), "PostgreSQL")
    same(srv.cli("outbox", "schema", "--sqlite", data=False).want(0).out, shipped("sqlite.sql"), "SQLite")
    same(srv.cli("outbox", "schema", "--sqlite", "--postgres", data=False).code, 2, "one of them")


def check_box(t, box, code, mode=None):
    r = t.server(start=False).cli("outbox", "check", "--url", box.url, "--mode", mode or box.mode,
                                  data=False)
    same(r.code, code, f"outbox check\n{r}")
    return r.out


def mends(out):
    """The statements that it says, as they stand."""
    return [l.strip() for l in out.split("\n") if l.startswith("  ")]


def mended(t, box, wrong, says):
    out = check_box(t, box, 1)
    check(says in out, f"{wrong}: it says {says}", out)
    for statement in mends(out):
        if isinstance(box, Lite):
            box.sql(statement, script=True)
        else:
            box.feed(statement)
    return check_box(t, box, 0)


TABLE = "outbox_events"
WRONG_PG = (
    (f"DROP INDEX {TABLE}_event_id", "event_id is not unique"),
    (f"ALTER TABLE {TABLE} DROP CONSTRAINT {TABLE}_pkey, ADD PRIMARY KEY (event_id)", "id is not unique"),
    (f"DROP INDEX {TABLE}_unpublished", "no index of the rows that wait"),
    (f"DROP INDEX {TABLE}_xid", "xid has no index"),
    (f"ALTER TABLE {TABLE} ALTER xid DROP DEFAULT", "xid is not filled in"),
    (f"ALTER TABLE {TABLE} ALTER xid DROP NOT NULL; UPDATE {TABLE} SET xid = NULL", "xid is not filled in"),
    (f"ALTER TABLE {TABLE} ALTER id SET CACHE 20", "CACHE over 1"),
    (f"ALTER TABLE {TABLE} ALTER id DROP IDENTITY; CREATE SEQUENCE own CACHE 9 OWNED BY {TABLE}.id;"
     f" ALTER TABLE {TABLE} ALTER id SET DEFAULT nextval('own')", "CACHE over 1"),
    (f"ALTER TABLE {TABLE} ALTER id TYPE smallint", "column id is smallint"),
    (f"ALTER TABLE {TABLE} DROP COLUMN id", "no column id"),
    (f"ALTER TABLE {TABLE} DROP COLUMN event_id", "no column event_id"),
    (f"ALTER TABLE {TABLE} DROP COLUMN tenant_id", "no column tenant_id"),
    (f"ALTER TABLE {TABLE} DROP COLUMN schema_version, DROP COLUMN producer", "no column producer"),
    (f"ALTER TABLE {TABLE} DROP COLUMN published_at", "no column published_at"),
    (f"ALTER TABLE {TABLE} DROP COLUMN created_at", "no column created_at"),
    (f"ALTER TABLE {TABLE} ALTER schema_version TYPE text", "column schema_version is text"),
    (f"ALTER TABLE {TABLE} ALTER created_at TYPE text", "column created_at is text"),
    (f"ALTER TABLE {TABLE} ALTER tenant_id TYPE json USING to_json(tenant_id::text)", "column tenant_id is json"),
    (f"ALTER TABLE {TABLE} ALTER payload TYPE bytea USING convert_to(payload::text, 'UTF8')",
     "column payload is bytea"),
    (f"DROP INDEX {TABLE}_xid; ALTER TABLE {TABLE} DROP COLUMN xid", "no column xid"),
)


def test_check_postgres(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode, table=False)
        out = check_box(t, box, 1)
        check("no such table" in out, "no table", out)
        line, = mends(out)
        r = subprocess.run(line.replace("hikyaku ", hk.BINARY + " ", 1), shell=True, capture_output=True, text=True)
        same(r.returncode, 0, f"the line makes it: {line}\n{r.stderr}")
        check("is fit" in check_box(t, box, 0), "as shipped")
    for sql, says in WRONG_PG:
        box.sql(f"DROP SCHEMA {box.schema} CASCADE; CREATE SCHEMA {box.schema}")
        box.make()
        if "tenant_id TYPE json" not in sql:  # a text in its quotes is no uuid
            box.put([row("k", n) for n in range(3)])
        box.sql(sql)
        mended(t, box, sql, says)
    box = Pg(t, "polling")
    box.sql("ALTER TABLE outbox_events DROP COLUMN xid")
    check_box(t, box, 0)
    check_box(t, box, 1, "xid")
    box.sql("ALTER TABLE outbox_events ALTER payload TYPE jsonb")
    out = check_box(t, box, 0)
    check("note: payload is jsonb" in out, "advice is no fault", out)
    box.feed(mends(out)[0])
    check("jsonb" not in check_box(t, box, 0), "and works too")


def test_check_rights(t):
    box = Pg(t, "polling")
    role = "R_" + new_id()[:8].replace("-", "")
    box.sql(f'CREATE ROLE "{role}"; GRANT USAGE ON SCHEMA {box.schema} TO "{role}"')
    owner, box.url = box.url, box.url + f"%20-crole%3D{role}"
    for says in ("may not read it", "may not set published_at"):
        out = check_box(t, box, 1)
        check(says in out, says, out)
    for statement in mends(out):  # by its owner, for the relay's user
        hk.psql(owner, statement)
    check_box(t, box, 0)
    box.sql("SELECT 1 FROM outbox_events")


def test_another_name(t):
    box = Pg(t, "xid")
    srv = t.server(start=False)

    def look(code, table):
        r = srv.cli("outbox", "check", "--url", box.url, "--mode", "xid", "--table", table, data=False)
        same(r.code, code, f"outbox check\n{r}")
        return r.out
    for table in ("second_box", f"{box.schema}.third_box"):
        line, = mends(look(1, table))
        r = subprocess.run(line.replace("hikyaku ", hk.BINARY + " ", 1), shell=True, capture_output=True, text=True)
        same(r.returncode, 0, f"beside the first: {line}\n{r.stderr}")
        look(0, table)
    srv.cli("outbox", "schema", "--table", "no table", data=False).want(1, "outbox.table must be")
    same(srv.cli("outbox", "schema", "--sqlite", "--table", "a.b", data=False).code, 2, "no schemas there")


def lite_made(change):
    text = shipped("sqlite.sql")
    return change(text) if callable(change) else text + change


WRONG_LITE = (
    ("; DROP INDEX outbox_events_event_id", "event_id is not unique"),
    ("; DROP INDEX outbox_events_unpublished", "rows that wait"),
    ("; ALTER TABLE outbox_events DROP COLUMN correlation_id; ALTER TABLE outbox_events DROP COLUMN created_at",
     "no column created_at"),
    (lambda s: s.replace("id             INTEGER PRIMARY KEY AUTOINCREMENT", "id TEXT, more TEXT"),
     "id is not INTEGER PRIMARY KEY"),
    (lambda s: s.replace("    id             INTEGER PRIMARY KEY AUTOINCREMENT,\n", "    more TEXT,\n")
     .replace("ON outbox_events (id)", "ON outbox_events (more)")
     .replace("    tenant_id      TEXT    NOT NULL,              -- a uuid\n", ""), "no column tenant_id"),
)


def test_check_sqlite(t):
    box = Lite(t, table=False)
    r = t.server(start=False).cli("outbox", "check", "--url", box.url, data=False)
    same(r.code, 1, "no file")
    box.sql("CREATE TABLE x (y)")
    check("outbox schema --sqlite --table outbox_events | sqlite3" in check_box(t, box, 1), "no table")
    box.make()
    check("is fit" in check_box(t, box, 0), "as shipped")
    for rows in (0, 3):
        for change, says in WRONG_LITE:
            box = Lite(t, table=False)
            box.sql(lite_made(change), script=True)
            names = [r[1] for r in box.sql("PRAGMA table_info(outbox_events)")]
            box.put([{k: v for k, v in row("k", n).items() if k in names} for n in range(rows)])
            mended(t, box, change, says)
            same(box.waiting(), rows, "its rows are there")
            if rows:
                same([r[0] for r in box.sql("SELECT payload FROM outbox_events ORDER BY id")],
                     [f'{{"n": {n}}}' for n in range(rows)], "in their order")


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    outbox.end()
