-- What every consumer has besides the tables of lib/sql/sqlite.sql, which know
-- the events that were processed and how new each record is.
CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
-- A setting of the whole: a role, a member of a group, a rule, a process. The
-- newest effectiveAt counts, in whatever order they come.
CREATE TABLE IF NOT EXISTS settings(
    kind TEXT NOT NULL, id TEXT NOT NULL, object_name TEXT NOT NULL, value TEXT NOT NULL,
    active INTEGER NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (kind, id)) WITHOUT ROWID;

-- name: apply
-- args: tenant text, event text, object text, record text, version int?, deleted int
-- lib/sql/sqlite.sql: seen, stale or apply; the next statement tells.
INSERT INTO hikyaku_apply VALUES (:tenant, :event, :object, :record, :version, :deleted);

-- name: verdict
-- rows: verdict text
SELECT verdict FROM hikyaku_verdict;

-- name: count_add
-- args: name text
INSERT INTO counters VALUES (:name, 1) ON CONFLICT DO UPDATE SET n = n + 1;

-- name: count_get
-- args: name text
-- rows: n int
SELECT n FROM counters WHERE name = :name;

-- name: setting_put
-- args: kind text, id text, object text, value text, active int, at int
-- 0 rows: a newer one is known.
INSERT INTO settings VALUES (:kind, :id, :object, :value, :active, :at)
ON CONFLICT DO UPDATE SET object_name = excluded.object_name, value = excluded.value,
                          active = excluded.active, at_us = excluded.at_us
 WHERE excluded.at_us >= at_us;
