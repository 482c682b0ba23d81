-- A dead letter tells by itself what it is of: lists and filters of many don't
-- look into the log, and know it when the log has lost the event. Of what a
-- source handed over these are what its copy says, as far as that is text;
-- event_id is always that of the entry, and source the source's name.
ALTER TABLE dead ADD COLUMN tenant {{bytes}};
ALTER TABLE dead ADD COLUMN event_id {{bytes}};
ALTER TABLE dead ADD COLUMN type TEXT;
ALTER TABLE dead ADD COLUMN pkey TEXT;
ALTER TABLE dead ADD COLUMN source TEXT;
UPDATE dead SET tenant = l.tenant, event_id = l.event_id, type = l.type, pkey = l.pkey
  FROM log l WHERE l.seq = dead.seq AND dead.sub > 0 AND dead.seq_to = dead.seq;
UPDATE dead SET event_id = l.event_id, source = l.pkey
  FROM log l WHERE l.seq = dead.seq AND dead.sub = 0;

-- By what became of them, the newest first.
DROP INDEX dead_open;
DROP INDEX dead_sub_open;
CREATE INDEX dead_state ON dead (state, at, sub, seq, rep);
CREATE INDEX dead_sub_state ON dead (sub, state, at, seq, rep);

--postgres: CREATE OR REPLACE FUNCTION hk_keep(lo BIGINT, hi BIGINT) RETURNS INTEGER LANGUAGE plpgsql AS $$
--postgres: BEGIN
--postgres:   INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, body, tenant, event_id, type, pkey)
--postgres:   SELECT d.sub, d.seq, d.rep, d.seq, d.okey, d.skey, 15, d.last_status, d.tries, d.n,
--postgres:          (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 3, 0, l.body, l.tenant, l.event_id, l.type, l.pkey
--postgres:     FROM delivery d JOIN log l ON l.seq = d.seq WHERE d.seq BETWEEN lo AND hi
--postgres:   ON CONFLICT (sub, seq, rep) DO UPDATE SET body = excluded.body WHERE dead.body IS NULL;
--postgres:   UPDATE dead SET body = l.body FROM log l
--postgres:    WHERE l.seq = dead.seq AND dead.seq BETWEEN lo AND hi AND dead.body IS NULL AND dead.state < 2;
--postgres:   RETURN 0;
--postgres: END $$;
