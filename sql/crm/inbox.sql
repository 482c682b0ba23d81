-- What every consumer has: which events it knows, how new it knows each record
-- to be, and the settings that others told it of.
CREATE TABLE IF NOT EXISTS processed_events(
    tenant_id TEXT NOT NULL, event_id TEXT NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, event_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS record_versions(
    tenant_id TEXT NOT NULL, object_name TEXT NOT NULL, record_id TEXT NOT NULL,
    version_us INTEGER NOT NULL, deleted INTEGER NOT NULL,
    PRIMARY KEY (tenant_id, object_name, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
-- A setting of the whole: a role, a member of a group, a rule, a process. The
-- newest effectiveAt counts, in whatever order they come.
CREATE TABLE IF NOT EXISTS settings(
    kind TEXT NOT NULL, id TEXT NOT NULL, object_name TEXT NOT NULL, value TEXT NOT NULL,
    active INTEGER NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (kind, id)) WITHOUT ROWID;

-- name: processed_put
-- args: tenant text, event text, now int
-- 0 rows: known already.
INSERT OR IGNORE INTO processed_events(tenant_id, event_id, at_us) VALUES (:tenant, :event, :now);

-- name: version_get
-- args: tenant text, object text, record text
-- rows: version_us int, deleted int
SELECT version_us, deleted FROM record_versions
 WHERE tenant_id = :tenant AND object_name = :object AND record_id = :record;

-- name: version_put
-- args: tenant text, object text, record text, version int, deleted int
INSERT INTO record_versions VALUES (:tenant, :object, :record, :version, :deleted)
ON CONFLICT DO UPDATE SET version_us = max(version_us, excluded.version_us),
                          deleted = max(deleted, excluded.deleted);

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
