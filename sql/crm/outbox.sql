-- The outbox of a service: a row is written in the transaction of what it tells
-- of, and published_at is set when the log has it. The server's relay reads the
-- same table (outbox/sqlite.sql).
CREATE TABLE IF NOT EXISTS outbox_events(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    schema_version INTEGER NOT NULL DEFAULT 1,
    partition_key TEXT NOT NULL,
    record_version TEXT,
    correlation_id TEXT,
    producer TEXT NOT NULL,
    payload TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    published_at TEXT);
CREATE INDEX IF NOT EXISTS outbox_unpublished ON outbox_events(id) WHERE published_at IS NULL;
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- name: outbox_add
-- args: event text, tenant text, type text, key text, version text?, correlation text, producer text, payload text, at text
INSERT INTO outbox_events(event_id, tenant_id, event_type, partition_key, record_version,
                          correlation_id, producer, payload, occurred_at)
VALUES (:event, :tenant, :type, :key, :version, :correlation, :producer, :payload, :at);

-- name: outbox_newest
-- rows: at text
SELECT occurred_at FROM outbox_events ORDER BY id DESC LIMIT 1;

-- name: outbox_unpublished
-- args: after int, most int
-- rows: id int, event_id text, tenant_id text, event_type text, schema_version int, partition_key text, record_version text?, correlation_id text?, producer text, payload text, occurred_at text
SELECT id, event_id, tenant_id, event_type, schema_version, partition_key, record_version,
       correlation_id, producer, payload, occurred_at
  FROM outbox_events WHERE published_at IS NULL AND id > :after ORDER BY id LIMIT :most;

-- name: outbox_published
-- args: id int, at text
UPDATE outbox_events SET published_at = :at WHERE id = :id AND published_at IS NULL;

-- name: outbox_count
-- rows: n int, waiting int
SELECT count(*), coalesce(sum(published_at IS NULL), 0) FROM outbox_events;

-- name: outbox_all
-- args: after int, most int
-- rows: id int, event_id text, tenant_id text, event_type text, schema_version int, partition_key text, record_version text?, correlation_id text?, producer text, payload text, occurred_at text
SELECT id, event_id, tenant_id, event_type, schema_version, partition_key, record_version,
       correlation_id, producer, payload, occurred_at
  FROM outbox_events WHERE id > :after ORDER BY id LIMIT :most;

-- name: meta_get
-- args: name text
-- rows: value text
SELECT value FROM meta WHERE name = :name;

-- name: meta_put
-- args: name text, value text
INSERT OR IGNORE INTO meta VALUES (:name, :value);
