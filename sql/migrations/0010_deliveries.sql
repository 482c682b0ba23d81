-- Looking at deliveries, and letting old ones go.

-- Lists read newest first, by subscription or all; each by an index that has
-- the whole key, so that a page reads the rows it shows.
--postgres: DROP INDEX attempt_sub;
--postgres: CREATE INDEX attempt_sub ON attempt (sub, seq, rep, n);
CREATE INDEX delivery_seq ON delivery (seq, sub, rep);
CREATE INDEX dead_seq ON dead (seq, sub, rep);
CREATE INDEX dead_sub_open ON dead (sub, at, seq, rep) WHERE state = 0;

-- A replay's number is given again when nothing of the old one is left.
CREATE INDEX attempt_rep ON attempt (sub, rep) WHERE rep > 0;
CREATE INDEX dead_rep ON dead (sub, rep) WHERE rep > 0;
DROP INDEX replay_sub;
CREATE UNIQUE INDEX replay_sub ON replay (sub, rep);

-- A dead letter of state 3 is none yet: the log lost the event while the
-- delivery still had a row, and its body is kept here.

-- Before a piece of the log goes, what still has to be sent from it is kept;
-- and none goes that the deliveries have not come to.
--postgres: CREATE OR REPLACE FUNCTION hk_detach(cut BIGINT) RETURNS INTEGER LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
--postgres: DECLARE n INTEGER := 0; piece TEXT; p BIGINT; newest BIGINT; first_seq BIGINT; top BIGINT; edge BIGINT;
--postgres: BEGIN
--postgres:   SELECT max(seq) INTO top FROM log;
--postgres:   IF top IS NULL THEN RETURN 0; END IF;
--postgres:   SELECT min(cursor) INTO edge FROM grp WHERE owner <> '';
--postgres:   FOR piece, p IN SELECT c.relname, substr(c.relname, 5)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
--postgres:       WHERE i.inhparent = 'log'::regclass ORDER BY 2 LOOP
--postgres:     EXIT WHEN p >= top >> 23;
--postgres:     EXIT WHEN edge < (p + 1) << 23;
--postgres:     EXECUTE format('SELECT received_at FROM %I ORDER BY seq DESC LIMIT 1', piece) INTO newest;
--postgres:     EXIT WHEN newest >= cut;
--postgres:     PERFORM hk_keep(p << 23, ((p + 1) << 23) - 1);
--postgres:     EXECUTE format('ALTER TABLE log DETACH PARTITION %I', piece);
--postgres:     n := n + 1;
--postgres:   END LOOP;
--postgres:   SELECT min(seq) INTO first_seq FROM log;
--postgres:   FOR piece, p IN SELECT c.relname, substr(c.relname, 5)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
--postgres:       WHERE i.inhparent = 'ids'::regclass ORDER BY 2 LOOP
--postgres:     EXIT WHEN (p + 1) << 26 > first_seq;
--postgres:     EXECUTE format('ALTER TABLE ids DETACH PARTITION %I', piece);
--postgres:     n := n + 1;
--postgres:   END LOOP;
--postgres:   RETURN n;
--postgres: END $$;
--postgres: CREATE FUNCTION hk_keep(lo BIGINT, hi BIGINT) RETURNS INTEGER LANGUAGE plpgsql AS $$
--postgres: BEGIN
--postgres:   INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, body)
--postgres:   SELECT d.sub, d.seq, d.rep, d.seq, d.okey, d.skey, 15, d.last_status, d.tries, d.n,
--postgres:          (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, 3, 0, l.body
--postgres:     FROM delivery d JOIN log l ON l.seq = d.seq WHERE d.seq BETWEEN lo AND hi
--postgres:   ON CONFLICT (sub, seq, rep) DO UPDATE SET body = excluded.body WHERE dead.body IS NULL;
--postgres:   UPDATE dead SET body = l.body FROM log l
--postgres:    WHERE l.seq = dead.seq AND dead.seq BETWEEN lo AND hi AND dead.body IS NULL AND dead.state < 2;
--postgres:   RETURN 0;
--postgres: END $$;
