-- The log: append only, one total order, the one source of truth.
-- seq grows in commit order: a reader that saw seq N never sees a new one
-- below N. kind 0 is an event. body is the envelope as published, with what
-- was missing filled in; hash is the first 16 bytes of the SHA-256 over what
-- was received, and h 64 bits of the SHA-256 of event_id: see event/ids.h.
CREATE TABLE log (
    seq         {{seq}},
    kind        INTEGER NOT NULL,
    tenant      {{bytes}} NOT NULL,
    event_id    {{bytes}} NOT NULL,
    h           BIGINT  NOT NULL,
    hash        {{bytes}} NOT NULL,
    type        TEXT    NOT NULL,
    pkey        TEXT    NOT NULL,
    rv          BIGINT,
    received_at BIGINT  NOT NULL,
    to_sub      BIGINT,
    attrs       TEXT,
    body        {{bytes}} NOT NULL
    --postgres: , PRIMARY KEY (seq)
)
--postgres: PARTITION BY RANGE (seq)
;

-- Which entries have an id: found by h, then compared in the log itself.
-- SQLite writes it late and sorted (event/ids.h); everything up to
-- meta 'ids_upto' is in it. PostgreSQL writes it with the log.
CREATE TABLE ids (
    h   BIGINT NOT NULL,
    seq BIGINT NOT NULL,
    PRIMARY KEY (h, seq)
)
--sqlite: WITHOUT ROWID
--postgres: PARTITION BY RANGE (seq)
;

-- Time to seq: the first seq of a minute, so that no time index is needed.
CREATE TABLE mark (
    minute BIGINT NOT NULL PRIMARY KEY,
    seq    BIGINT NOT NULL
);

-- Single values: ids_upto, retained_upto, what is made at first run.
CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

-- PostgreSQL keeps the log in pieces of 2^23 entries and the ids in pieces of
-- 2^26: a whole piece is dropped at once, and few pieces are looked through
-- for an id. hk_pieces makes those that the given seq will soon need. A piece
-- is made first and attached then: CREATE … PARTITION OF would wait for every
-- reader of the log, and hold up all that come after.
--postgres: CREATE SEQUENCE log_seq;
--postgres: CREATE FUNCTION hk_pieces(upto BIGINT) RETURNS INTEGER LANGUAGE plpgsql AS $$
--postgres: DECLARE made INTEGER := 0; p BIGINT; kind TEXT; bits INTEGER; piece TEXT;
--postgres: BEGIN
--postgres:   PERFORM pg_advisory_xact_lock(4857302);
--postgres:   FOR kind, bits IN SELECT * FROM (VALUES ('log', 23), ('ids', 26)) v LOOP
--postgres:     FOR p IN (upto >> bits) .. (upto >> bits) + 1 LOOP
--postgres:       piece := kind || '_' || p;
--postgres:       IF to_regclass(quote_ident(piece)) IS NULL THEN
--postgres:         EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS)', piece, kind);
--postgres:         EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)',
--postgres:           kind, piece, p << bits, (p + 1) << bits);
--postgres:         made := made + 1;
--postgres:       END IF;
--postgres:     END LOOP;
--postgres:   END LOOP;
--postgres:   RETURN made;
--postgres: END $$;
--postgres: SELECT hk_pieces(1);

-- The whole append in one message: the order lock, what is there already, the
-- new entries. The lock gives seq in commit order over all nodes; it is held
-- for this statement and its commit alone. An id comes once in a call: the
-- caller has looked through its own batch. The way is pinned, from id to ids
-- to log and by index (that is what OFFSET 0 and the settings are for): a plan
-- that was made while the tables were empty is kept when they no longer are.
-- A plain join was planned with the log first, and took seconds then.
--postgres: CREATE FUNCTION hk_append(kinds BIGINT[], tenants BYTEA[], event_ids BYTEA[], hs BIGINT[],
--postgres:     hashes BYTEA[], types TEXT[], pkeys TEXT[], rvs BIGINT[], now_us BIGINT, attrss TEXT[], bodies BYTEA[])
--postgres: RETURNS TABLE (ret_ord BIGINT, ret_seq BIGINT, ret_old_hash BYTEA) LANGUAGE plpgsql
--postgres: SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
--postgres: BEGIN
--postgres:   PERFORM pg_advisory_xact_lock(4857301);
--postgres:   RETURN QUERY
--postgres:   WITH given AS MATERIALIZED (
--postgres:     SELECT g.*, o.seq AS old_seq, o.hash AS old_hash
--postgres:       FROM unnest(kinds, tenants, event_ids, hs, hashes, types, pkeys, rvs, attrss, bodies)
--postgres:         WITH ORDINALITY AS g (kind, tenant, event_id, h, hash, type, pkey, rv, attrs, body, ord)
--postgres:       LEFT JOIN LATERAL (
--postgres:         SELECT l.seq, l.hash
--postgres:           FROM (SELECT i.seq FROM ids i WHERE i.h = g.h OFFSET 0) i
--postgres:          CROSS JOIN LATERAL (SELECT l.seq, l.hash FROM log l
--postgres:            WHERE l.seq = i.seq AND l.tenant = g.tenant AND l.event_id = g.event_id OFFSET 0) l
--postgres:          LIMIT 1) o ON true),
--postgres:   fresh AS MATERIALIZED (
--postgres:     SELECT nextval('log_seq') AS seq, s.* FROM (
--postgres:       SELECT * FROM given g WHERE g.old_seq IS NULL ORDER BY g.ord) s),
--postgres:   put AS (
--postgres:     INSERT INTO log (seq, kind, tenant, event_id, h, hash, type, pkey, rv, received_at, attrs, body)
--postgres:     SELECT f.seq, f.kind::integer, f.tenant, f.event_id, f.h, f.hash, f.type, f.pkey, f.rv, now_us, f.attrs, f.body FROM fresh f),
--postgres:   put_ids AS (
--postgres:     INSERT INTO ids (h, seq) SELECT f.h, f.seq FROM fresh f),
--postgres:   put_mark AS (
--postgres:     INSERT INTO mark (minute, seq) SELECT now_us / 60000000, min(f.seq) FROM fresh f HAVING min(f.seq) IS NOT NULL
--postgres:     ON CONFLICT (minute) DO NOTHING)
--postgres:   SELECT f.ord, f.seq, NULL::bytea FROM fresh f
--postgres:   UNION ALL SELECT g.ord, g.old_seq, g.old_hash FROM given g WHERE g.old_seq IS NOT NULL;
--postgres: END $$;

-- Retention by pieces: those whose newest entry is older than the cut leave the
-- table under a short lock (given up after 500 ms: readers come first); the ids of
-- a piece go when no entry of their range is left. hk_drop then drops what is
-- detached, in a transaction of its own, so that nobody waits for the unlink.
-- The piece that holds the newest entry always stays.
--postgres: CREATE FUNCTION hk_detach(cut BIGINT) RETURNS INTEGER LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
--postgres: DECLARE n INTEGER := 0; piece TEXT; p BIGINT; newest BIGINT; first_seq BIGINT; top BIGINT;
--postgres: BEGIN
--postgres:   SELECT max(seq) INTO top FROM log;
--postgres:   IF top IS NULL THEN RETURN 0; END IF;
--postgres:   FOR piece, p IN SELECT c.relname, substr(c.relname, 5)::bigint FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
--postgres:       WHERE i.inhparent = 'log'::regclass ORDER BY 2 LOOP
--postgres:     EXIT WHEN p >= top >> 23;
--postgres:     EXECUTE format('SELECT received_at FROM %I ORDER BY seq DESC LIMIT 1', piece) INTO newest;
--postgres:     EXIT WHEN newest >= cut;
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
--postgres: CREATE FUNCTION hk_drop() RETURNS INTEGER LANGUAGE plpgsql AS $$
--postgres: DECLARE n INTEGER := 0; piece TEXT;
--postgres: BEGIN
--postgres:   FOR piece IN SELECT c.relname FROM pg_class c WHERE c.relkind = 'r' AND c.relname ~ '^(log|ids)_[0-9]+$'
--postgres:       AND c.relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = 'log'::regclass) AND NOT c.relispartition LOOP
--postgres:     EXECUTE format('DROP TABLE %I', piece);
--postgres:     n := n + 1;
--postgres:   END LOOP;
--postgres:   RETURN n;
--postgres: END $$;
