-- Hikyaku's outbox for SQLite.
--
--   sqlite3 app.db <sqlite.sql
--
-- An application writes its record and a row here in ONE transaction; the
-- relay (outbox.url = sqlite:///path/to/app.db) carries the row into the log
-- and sets published_at when it is durable there. Times are RFC 3339 in UTC.

CREATE TABLE outbox_events (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id       TEXT    NOT NULL,              -- a uuid
    tenant_id      TEXT    NOT NULL,              -- a uuid
    event_type     TEXT    NOT NULL,
    schema_version INTEGER NOT NULL DEFAULT 1,
    partition_key  TEXT    NOT NULL,              -- '{ObjectName}:{tenantId}:{recordId}'
    record_version TEXT,                          -- the record's system_modstamp
    correlation_id TEXT,                          -- a uuid
    producer       TEXT    NOT NULL,              -- {"service": …, "instanceId": …}
    payload        TEXT    NOT NULL,              -- a JSON object; its bytes stay as written
    occurred_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    created_at     TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    published_at   TEXT
);
CREATE UNIQUE INDEX outbox_events_event_id ON outbox_events (event_id);
CREATE INDEX outbox_events_unpublished ON outbox_events (id) WHERE published_at IS NULL;

-- The application need not wait for the relay, nor it for the application.
PRAGMA journal_mode = WAL;

-- What was published is read by nobody here: keep it as long as you like.
--   DELETE FROM outbox_events WHERE published_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-7 days');

-- Sample: a trigger that writes the event of each change of a record, so that
-- no path of the application can forget it.
--
--   CREATE TRIGGER account_changed AFTER UPDATE ON account BEGIN
--     INSERT INTO outbox_events (event_id, tenant_id, event_type, partition_key, record_version, producer, payload)
--     VALUES (lower(printf('%s-%s-4%s-8%s-%s', hex(randomblob(4)), hex(randomblob(2)),
--                          substr(hex(randomblob(2)), 2), substr(hex(randomblob(2)), 2), hex(randomblob(6)))),
--             NEW.tenant_id, 'RecordUpdated', 'Account:' || NEW.tenant_id || ':' || NEW.id, NEW.modstamp,
--             '{"service":"core","instanceId":"app"}',
--             json_object('objectName', 'Account', 'recordId', NEW.id, 'ownerId', NEW.owner_id,
--                         'changedFields', json_array('name'), 'recordVersion', NEW.modstamp));
--   END;
