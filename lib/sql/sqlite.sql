-- sqlite.sql - apply each event once, and never backwards. For SQLite 3.35 and
-- later; libhikyaku uses it, and so may any other program:
--
--   sqlite3 your.db <sqlite.sql
--
--   BEGIN IMMEDIATE;
--   INSERT INTO hikyaku_apply VALUES ('tenant', 'event id', 'Opportunity',
--       'record id', '2026-01-10T12:35:10.123Z', 0);
--   SELECT verdict FROM hikyaku_verdict;
--   -- 'apply': make your change here. 'seen', 'stale': there is nothing to do.
--   COMMIT;
--   -- and only now acknowledge the event.
--
-- All of it belongs into the one transaction that makes your change: then a
-- crash, at whatever moment, leaves both or neither, and the event comes again.
-- SQLite has no functions of one's own in SQL, so hikyaku_apply is a view with
-- a trigger that holds the rule. It may be run on a database that has it.

-- Which events were processed. The event id never changes between tries, so
-- that the second time is known by it. Times are seconds since 1970.
CREATE TABLE IF NOT EXISTS processed_events (
	tenant_id    TEXT NOT NULL,
	event_id     TEXT NOT NULL,
	processed_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)),
	PRIMARY KEY (tenant_id, event_id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS processed_events_at ON processed_events (processed_at);

-- lastAppliedRecordVersion, of each record, in microseconds since 1970: versions
-- are instants, not texts. A deleted record keeps its row: it is the tombstone
-- without which a late event would bring it back.
CREATE TABLE IF NOT EXISTS last_applied_version (
	tenant_id   TEXT NOT NULL,
	object_name TEXT NOT NULL,
	record_id   TEXT NOT NULL,
	version_us  INTEGER NOT NULL,
	deleted     INTEGER NOT NULL DEFAULT 0 CHECK (deleted IN (0, 1)),
	PRIMARY KEY (tenant_id, object_name, record_id)
) WITHOUT ROWID;

-- Side effects with a key of their own: (event id, action) of a notification,
-- (version, cause) of a recalculation. New when this changes a row:
--   INSERT INTO processed_effects (tenant_id, effect_key) VALUES (?, ?)
--   ON CONFLICT DO NOTHING;
CREATE TABLE IF NOT EXISTS processed_effects (
	tenant_id    TEXT NOT NULL,
	effect_key   TEXT NOT NULL,
	processed_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)),
	PRIMARY KEY (tenant_id, effect_key)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS processed_effects_at ON processed_effects (processed_at);

-- What the last event of this transaction is to get, and its version.
CREATE TABLE IF NOT EXISTS hikyaku_verdict (
	one        INTEGER PRIMARY KEY CHECK (one = 1),
	version_us INTEGER,
	verdict    TEXT CHECK (verdict IN ('apply', 'seen', 'stale'))
);

-- Taken down and made anew, so that a newer file brings its newer rule.
DROP VIEW IF EXISTS hikyaku_apply;
CREATE VIEW hikyaku_apply AS
SELECT '' AS tenant_id, '' AS event_id, '' AS object_name, '' AS record_id,
       '' AS record_version, -- RFC 3339, or microseconds since 1970, or NULL
       0 AS deleted
WHERE 0;

-- Older is strictly older: one save makes several events with one version, and
-- all of them apply, also those of the save that deleted the record: the same
-- rule as a subscription's dropStale. An event without a version is never stale.
-- What is stale counts as processed.
CREATE TRIGGER hikyaku_apply_insert INSTEAD OF INSERT ON hikyaku_apply
BEGIN
	-- The version as an instant: whole seconds, then up to six digits.
	INSERT OR REPLACE INTO hikyaku_verdict (one, version_us)
	SELECT 1, CASE WHEN typeof(NEW.record_version) IN ('integer', 'null')
		THEN NEW.record_version
		ELSE strftime('%s', substr(NEW.record_version, 1, 19) ||
		         CASE WHEN NEW.record_version LIKE '%Z' THEN 'Z'
		              ELSE substr(NEW.record_version, -6) END) * 1000000
		   + CASE WHEN substr(NEW.record_version, 20, 1) = '.'
		          THEN CAST(round(CAST('0.' || substr(NEW.record_version, 21, 6)
		                               AS REAL) * 1000000) AS INTEGER)
		          ELSE 0 END
		END;
	SELECT RAISE(ABORT, 'record_version is no time as in RFC 3339')
	FROM hikyaku_verdict
	WHERE NEW.record_version IS NOT NULL AND version_us IS NULL;

	UPDATE hikyaku_verdict SET verdict = CASE
		WHEN EXISTS (SELECT 1 FROM processed_events
		             WHERE tenant_id = NEW.tenant_id AND event_id = NEW.event_id)
		THEN 'seen'
		WHEN EXISTS (
			SELECT 1 FROM last_applied_version AS l
			WHERE l.tenant_id = NEW.tenant_id
			  AND l.object_name = NEW.object_name
			  AND l.record_id = NEW.record_id
			  AND l.version_us > hikyaku_verdict.version_us)
		THEN 'stale'
		ELSE 'apply' END;

	INSERT INTO processed_events (tenant_id, event_id)
	SELECT NEW.tenant_id, NEW.event_id
	FROM hikyaku_verdict WHERE verdict <> 'seen';

	INSERT INTO last_applied_version
	    (tenant_id, object_name, record_id, version_us, deleted)
	SELECT NEW.tenant_id, NEW.object_name, NEW.record_id, version_us,
	       coalesce(NEW.deleted, 0) <> 0
	FROM hikyaku_verdict
	WHERE verdict = 'apply' AND version_us IS NOT NULL
	ON CONFLICT (tenant_id, object_name, record_id) DO UPDATE
	SET version_us = excluded.version_us, deleted = excluded.deleted;
END;

-- Forgetting ids, from time to time, in steps that no writer waits for long for:
--   DELETE FROM processed_events WHERE (tenant_id, event_id) IN (
--       SELECT tenant_id, event_id FROM processed_events
--       WHERE processed_at < strftime('%s', 'now', '-30 days') + 0 LIMIT 1000);
-- The age must be longer than an event can come again: the server's retention
-- is always enough. Versions and tombstones stay.
