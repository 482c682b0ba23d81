-- Hikyaku's outbox for PostgreSQL 13 and later.
--
--   psql -d yourdb -f postgres.sql
--
-- An application writes its record and a row here in ONE transaction; the
-- relay (outbox.url) carries the row into the log and sets published_at when
-- it is durable there. What is rolled back was never here.
--
-- Two rules make the order of one record's events certain:
--   1. Lock or write the record before its outbox row (an UPDATE does).
--   2. id comes from a sequence with CACHE 1, which is the default.

CREATE TABLE outbox_events (
    id             bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    event_id       uuid        NOT NULL DEFAULT gen_random_uuid(),
    tenant_id      uuid        NOT NULL,
    event_type     text        NOT NULL,
    schema_version integer     NOT NULL DEFAULT 1,
    partition_key  text        NOT NULL,          -- '{ObjectName}:{tenantId}:{recordId}'
    record_version timestamptz,                   -- the record's system_modstamp
    correlation_id uuid,
    producer       json        NOT NULL,          -- {"service": …, "instanceId": …}
    payload        json        NOT NULL,          -- json, not jsonb: the bytes stay as written
    occurred_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    created_at     timestamptz NOT NULL DEFAULT clock_timestamp(),
    published_at   timestamptz,
    -- For outbox.mode = xid; leave it and its index out for polling alone.
    xid            xid8        NOT NULL DEFAULT pg_current_xact_id()
);
CREATE UNIQUE INDEX outbox_events_event_id ON outbox_events (event_id);
CREATE INDEX outbox_events_unpublished ON outbox_events (id) WHERE published_at IS NULL;
CREATE INDEX outbox_events_xid ON outbox_events (xid);

-- What was published is read by nobody here: keep it as long as you like.
--   DELETE FROM outbox_events WHERE published_at < now() - interval '7 days';

-- The relay's own user needs no more than this:
--   GRANT SELECT, UPDATE (published_at) ON outbox_events TO hikyaku;

-- Optional: wakes the relay at each commit, so that it need not wait for its
-- next look (outbox.poll). Polling stays the law; a lost NOTIFY loses nothing.
CREATE FUNCTION outbox_events_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('hikyaku_outbox', '');
    RETURN NULL;
END $$;
CREATE TRIGGER outbox_events_notify AFTER INSERT ON outbox_events
    FOR EACH STATEMENT EXECUTE FUNCTION outbox_events_notify();

-- Sample: one event. Call it in the transaction that saves the record, behind
-- the statement that saves it:
--
--   BEGIN;
--   UPDATE opportunity SET stage = 'Negotiation', modstamp = clock_timestamp()
--    WHERE id = $1 RETURNING modstamp;
--   SELECT outbox_put($tenant, 'RecordUpdated', 'Opportunity:' || $tenant || ':' || $1,
--                     $modstamp, $payload::json, $correlation);
--   COMMIT;
CREATE FUNCTION outbox_put(tenant uuid, type text, key text, version timestamptz, body json,
                           correlation uuid DEFAULT NULL) RETURNS uuid LANGUAGE sql AS $$
    INSERT INTO outbox_events (tenant_id, event_type, partition_key, record_version, correlation_id, producer, payload)
    VALUES (tenant, type, key, version, correlation,
            json_build_object('service', 'core', 'instanceId', coalesce(inet_server_addr()::text, 'local')), body)
    RETURNING event_id;
$$;
