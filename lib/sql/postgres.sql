-- postgres.sql - apply each event once, and never backwards. For PostgreSQL 12
-- and later; libhikyaku uses it, and so may any other program:
--
--   psql -f postgres.sql YOURDB
--
--   BEGIN;
--   SELECT hikyaku_apply('tenant', 'event id', 'Opportunity', 'record id',
--                        '2026-01-10T12:35:10.123Z', false);
--   -- true: make your change here. false: leave it, there is nothing to do.
--   COMMIT;
--   -- and only now acknowledge the event.
--
-- All of it belongs into the one transaction that makes your change: then a
-- crash, at whatever moment, leaves both or neither, and the event comes again.
-- It may be run on a database that has it already.

-- Which events were processed. The event id never changes between tries, so
-- that the second time is known by it.
CREATE TABLE IF NOT EXISTS processed_events (
	tenant_id    uuid NOT NULL,
	event_id     uuid NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, event_id)
);
-- For hikyaku_prune().
CREATE INDEX IF NOT EXISTS processed_events_at ON processed_events (processed_at);

-- lastAppliedRecordVersion, of each record. A deleted record keeps its row: it
-- is the tombstone without which a late event would bring it back.
CREATE TABLE IF NOT EXISTS last_applied_version (
	tenant_id   uuid NOT NULL,
	object_name text NOT NULL,
	record_id   text NOT NULL,
	version     timestamptz NOT NULL,
	deleted     boolean NOT NULL DEFAULT false,
	PRIMARY KEY (tenant_id, object_name, record_id)
);

-- Side effects with a key of their own: (event id, action) of a notification,
-- (version, cause) of a recalculation.
CREATE TABLE IF NOT EXISTS processed_effects (
	tenant_id    uuid NOT NULL,
	effect_key   text NOT NULL,
	processed_at timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (tenant_id, effect_key)
);
CREATE INDEX IF NOT EXISTS processed_effects_at ON processed_effects (processed_at);

-- 'apply', 'seen' (processed before) or 'stale' (older than what was applied).
--
-- Older is strictly older: one save makes several events with one version, and
-- all of them apply, also those of the save that deleted the record: the same
-- rule as a subscription's dropStale. Versions are instants: 12:00+01:00 is
-- 11:00Z. An event without a version is never stale. What is stale counts as
-- processed.
--
-- Two sessions with the same event or record wait for each other here, since
-- ON CONFLICT waits for the other's commit.
CREATE OR REPLACE FUNCTION hikyaku_verdict(tenant uuid, event uuid,
    object text, record text, at_version timestamptz, is_delete boolean)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO processed_events (tenant_id, event_id)
	VALUES (tenant, event) ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	IF n = 0 THEN
		RETURN 'seen';
	END IF;
	IF at_version IS NULL THEN
		RETURN 'apply';
	END IF;
	INSERT INTO last_applied_version AS l
	    (tenant_id, object_name, record_id, version, deleted)
	VALUES (tenant, object, record, at_version, coalesce(is_delete, false))
	ON CONFLICT (tenant_id, object_name, record_id) DO UPDATE
	SET version = excluded.version, deleted = excluded.deleted
	WHERE excluded.version >= l.version;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN CASE WHEN n = 0 THEN 'stale' ELSE 'apply' END;
END $$;

-- The same as yes or no.
CREATE OR REPLACE FUNCTION hikyaku_apply(tenant uuid, event uuid,
    object text, record text, at_version timestamptz,
    is_delete boolean DEFAULT false)
RETURNS boolean LANGUAGE sql AS $$
	SELECT hikyaku_verdict(tenant, event, object, record, at_version,
	                       is_delete) = 'apply';
$$;

-- True the first time that a key is seen.
CREATE OR REPLACE FUNCTION hikyaku_once(tenant uuid, key text)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	n bigint;
BEGIN
	INSERT INTO processed_effects (tenant_id, effect_key)
	VALUES (tenant, key) ON CONFLICT DO NOTHING;
	GET DIAGNOSTICS n = ROW_COUNT;
	RETURN n > 0;
END $$;

-- Forgets ids older than `age`, at most `most` of each kind, and says how many
-- went: call it from time to time until it says 0. `age` must be longer than an
-- event can come again: the server's retention is always enough. Versions and
-- tombstones stay.
CREATE OR REPLACE FUNCTION hikyaku_prune(age interval, most integer DEFAULT 10000)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	events bigint;
	effects bigint;
BEGIN
	DELETE FROM processed_events WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM processed_events
		WHERE processed_at < now() - age LIMIT most));
	GET DIAGNOSTICS events = ROW_COUNT;
	DELETE FROM processed_effects WHERE ctid = ANY (ARRAY(
		SELECT ctid FROM processed_effects
		WHERE processed_at < now() - age LIMIT most));
	GET DIAGNOSTICS effects = ROW_COUNT;
	RETURN events + effects;
END $$;
