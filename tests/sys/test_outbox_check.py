"""hikyaku outbox check and schema: is a table fit, and what does it lack?"""

import outbox
from hk import check, new_id, same
from outbox import Lite, Pg, shipped

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


def test_check_postgres(t):
    for mode in ("polling", "xid"):
        box = Pg(t, mode, table=False)
        check("no such table" in check_box(t, box, 1), "no table")
        box.make()
        check("is fit" in check_box(t, box, 0), "as shipped")
    for sql, says in (
            ("DROP INDEX outbox_events_event_id", "event_id is not unique"),
            ("DROP INDEX outbox_events_unpublished", "no index of the rows that wait"),
            ("DROP INDEX outbox_events_xid", "xid has no index"),
            ("ALTER TABLE outbox_events ALTER xid DROP DEFAULT", "xid is not filled in"),
            ("ALTER TABLE outbox_events ALTER id SET CACHE 20", "CACHE over 1"),
            ("ALTER TABLE outbox_events DROP COLUMN tenant_id", "no column tenant_id"),
            ("ALTER TABLE outbox_events ALTER schema_version DROP DEFAULT,"
             " ALTER schema_version TYPE text", "column schema_version is text"),
            ("ALTER TABLE outbox_events DROP COLUMN xid", "no column xid")):
        box.sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        box.make()
        box.sql(sql)
        out = check_box(t, box, 1)
        check(says in out, f"{sql}: it says {says}", out)
        # what it says mends it
        for line in out.split("\n"):
            if line.startswith("  "):
                box.sql(line.strip().replace("TYPE integer;", "TYPE integer USING 1;"))
        check_box(t, box, 0)
    box = Pg(t, "polling")
    box.sql("ALTER TABLE outbox_events DROP COLUMN xid")
    check_box(t, box, 0)
    check_box(t, box, 1, "xid")
    box.sql("ALTER TABLE outbox_events ALTER payload TYPE jsonb")
    check("note: payload is jsonb" in check_box(t, box, 0), "advice is no fault")
    role = "r_" + new_id()[:8].replace("-", "")
    box.sql(f"CREATE ROLE {role} LOGIN; GRANT SELECT ON outbox_events TO {role}")
    box.url += ("&" if "?" in box.url else "?") + f"options=-crole%3D{role}"
    check("may not set published_at" in check_box(t, box, 1), "privileges")


def test_check_sqlite(t):
    box = Lite(t, table=False)
    r = t.server(start=False).cli("outbox", "check", "--url", box.url, data=False)
    same(r.code, 1, "no file")
    box.sql("CREATE TABLE x (y)")
    check("no such table" in check_box(t, box, 1), "no table")
    box.make()
    check("is fit" in check_box(t, box, 0), "as shipped")
    box.sql("DROP INDEX outbox_events_event_id")
    box.sql("DROP INDEX outbox_events_unpublished")
    out = check_box(t, box, 1)
    check("not unique" in out and "rows that wait" in out, "both are named", out)
    for line in out.split("\n"):
        if line.startswith("  "):
            box.sql(line.strip())
    check_box(t, box, 0)
    box = Lite(t, table=False)
    box.sql(shipped("sqlite.sql").replace("    tenant_id      TEXT    NOT NULL,              -- a uuid\n", ""),
            script=True)
    check("no column tenant_id" in check_box(t, box, 1), "a column")


def test_zz_end(t):
    """Last in the file: the cluster ends."""
    outbox.end()
