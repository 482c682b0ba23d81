-- Deliveries: what of the log went where, and what is still to be done.
-- Success leaves an attempt and nothing else; trouble leaves a row in
-- `delivery`; a lot of trouble leaves one `reader`, a position in the log. See
-- deliver/core.h for the words and the invariants between these tables.

-- Who wants what. conf is deliver/subscription.h's stored form. It takes part
-- in what stands behind from_seq in the log, up to until_seq once it is ended.
-- managed_by and owner: made by another part of the program, for that key.
CREATE TABLE subscription (
    id         {{id}},
    uid        {{bytes}} NOT NULL UNIQUE,
    name       TEXT    NOT NULL,
    url        TEXT    NOT NULL,
    preset     TEXT    NOT NULL,
    conf       TEXT    NOT NULL,
    enabled    INTEGER NOT NULL,
    why        TEXT    NOT NULL,
    version    BIGINT  NOT NULL,
    from_seq   BIGINT  NOT NULL,
    until_seq  BIGINT,
    managed_by TEXT,
    owner      BIGINT,
    tenants    TEXT,
    created_at BIGINT  NOT NULL,
    changed_at BIGINT  NOT NULL
);
CREATE INDEX subscription_managed ON subscription (managed_by, owner, url) WHERE managed_by IS NOT NULL;

-- Presets that users made; the built-in ones are in the program.
CREATE TABLE preset (
    name       TEXT   NOT NULL PRIMARY KEY,
    conf       TEXT   NOT NULL,
    changed_at BIGINT NOT NULL
);

-- A node is a running program; lease_until is by the database's clock. A group
-- of endpoints belongs to one node; epoch is its fence. Up to cursor all is
-- settled, or has a row or a reader. flush numbers the sets of changes that the
-- node wrote, so that one whose commit's answer was lost is not written twice.
-- unclean counts starts after a crash since the last written result.
CREATE TABLE node (
    id          TEXT   NOT NULL PRIMARY KEY,
    name        TEXT   NOT NULL,
    started_at  BIGINT NOT NULL,
    lease_until BIGINT NOT NULL,
    flush       BIGINT NOT NULL
);
CREATE TABLE grp (
    g       INTEGER NOT NULL PRIMARY KEY,
    owner   TEXT    NOT NULL,
    epoch   BIGINT  NOT NULL,
    cursor  BIGINT  NOT NULL,
    unclean BIGINT  NOT NULL
);
INSERT INTO grp (g, owner, epoch, cursor, unclean)
WITH RECURSIVE n(g) AS (SELECT 0 UNION ALL SELECT g + 1 FROM n WHERE g < 63)
SELECT g, '', 0, 0, 0 FROM n;

-- A position in the log from which a subscription (okey 0) or one key of it is
-- still to be served. until_seq 0: it goes on with the log. rep above 0: a
-- replay.
CREATE TABLE reader (
    sub       BIGINT  NOT NULL,
    okey      BIGINT  NOT NULL,
    rep       INTEGER NOT NULL,
    pos       BIGINT  NOT NULL,
    until_seq BIGINT  NOT NULL,
    PRIMARY KEY (sub, okey, rep)
)
--sqlite: WITHOUT ROWID
;

-- Deliveries with an exception. state: 0 parked, 1 waits for next_at, 2 being
-- sent under a lock until next_at, 3 held. token: the run that has the lock.
CREATE TABLE delivery (
    sub         BIGINT  NOT NULL,
    seq         BIGINT  NOT NULL,
    rep         INTEGER NOT NULL,
    okey        BIGINT  NOT NULL,
    skey        BIGINT  NOT NULL,
    state       INTEGER NOT NULL,
    tries       INTEGER NOT NULL,
    n           INTEGER NOT NULL,
    crashes     INTEGER NOT NULL,
    next_at     BIGINT  NOT NULL,
    token       TEXT    NOT NULL,
    last_status INTEGER NOT NULL,
    last_reason INTEGER NOT NULL,
    PRIMARY KEY (sub, seq, rep)
)
--sqlite: WITHOUT ROWID
;

-- One try each. Most are numbers only; detail is JSON with redacted heads, for
-- failures and now and then. verdict is core.h's: 0 success.
CREATE TABLE attempt (
    seq     BIGINT  NOT NULL,
    sub     BIGINT  NOT NULL,
    rep     INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    at      BIGINT  NOT NULL,
    us      BIGINT  NOT NULL,
    status  INTEGER NOT NULL,
    verdict INTEGER NOT NULL,
    reason  INTEGER NOT NULL,
    detail  TEXT,
    PRIMARY KEY (seq, sub, rep, n)
)
--sqlite: WITHOUT ROWID
;
CREATE INDEX attempt_sub ON attempt (sub, seq);
CREATE INDEX attempt_failed ON attempt (sub, seq) WHERE verdict > 0;

-- What could not be delivered. seq_to: a whole range of the log, which was gone
-- before it could be read. state: 0 waits for a decision, 1 put back, 2
-- skipped. body: kept when the log loses the event.
CREATE TABLE dead (
    sub        BIGINT  NOT NULL,
    seq        BIGINT  NOT NULL,
    rep        INTEGER NOT NULL,
    seq_to     BIGINT  NOT NULL,
    okey       BIGINT  NOT NULL,
    skey       BIGINT  NOT NULL,
    reason     INTEGER NOT NULL,
    status     INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    n          INTEGER NOT NULL,
    at         BIGINT  NOT NULL,
    state      INTEGER NOT NULL,
    requeues   INTEGER NOT NULL,
    decided_at BIGINT,
    decided_by TEXT,
    note       TEXT,
    body       {{bytes}},
    PRIMARY KEY (sub, seq, rep)
)
--sqlite: WITHOUT ROWID
;
CREATE INDEX dead_open ON dead (at, sub, seq, rep) WHERE state = 0;

-- Of an endpoint (64 bits of its URL's hash): until when its breaker is open,
-- and when it asked us to come back.
CREATE TABLE endpoint_state (
    endpoint   BIGINT NOT NULL PRIMARY KEY,
    open_until BIGINT NOT NULL,
    not_before BIGINT NOT NULL
);

-- Counts of a subscription in a minute; us is the sum of what its attempts
-- took, slow their slowest.
CREATE TABLE stat (
    sub    BIGINT NOT NULL,
    minute BIGINT NOT NULL,
    ok     BIGINT NOT NULL,
    fail   BIGINT NOT NULL,
    dead   BIGINT NOT NULL,
    us     BIGINT NOT NULL,
    slow   BIGINT NOT NULL,
    PRIMARY KEY (sub, minute)
)
--sqlite: WITHOUT ROWID
;
CREATE INDEX stat_minute ON stat (minute);

-- A replay: entries in (from_seq, until_seq] once more, as rep. state: 0 runs,
-- 1 done, 2 stopped.
CREATE TABLE replay (
    id         {{id}},
    uid        {{bytes}} NOT NULL UNIQUE,
    sub        BIGINT  NOT NULL,
    rep        INTEGER NOT NULL,
    from_seq   BIGINT  NOT NULL,
    until_seq  BIGINT  NOT NULL,
    types      TEXT,
    rate       BIGINT  NOT NULL,
    state      INTEGER NOT NULL,
    created_at BIGINT  NOT NULL,
    created_by TEXT    NOT NULL,
    ended_at   BIGINT
);
CREATE INDEX replay_sub ON replay (sub, rep);

-- Entries that are for one subscription alone.
--postgres: DROP FUNCTION hk_append(BIGINT[], BYTEA[], BYTEA[], BIGINT[], BYTEA[], TEXT[], TEXT[], BIGINT[], BIGINT, TEXT[], BYTEA[]);
--postgres: CREATE FUNCTION hk_append(kinds BIGINT[], tenants BYTEA[], event_ids BYTEA[], hs BIGINT[],
--postgres:     hashes BYTEA[], types TEXT[], pkeys TEXT[], rvs BIGINT[], now_us BIGINT, to_subs BIGINT[], attrss TEXT[], bodies BYTEA[])
--postgres: RETURNS TABLE (ret_ord BIGINT, ret_seq BIGINT, ret_old_hash BYTEA) LANGUAGE plpgsql
--postgres: SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
--postgres: BEGIN
--postgres:   PERFORM pg_advisory_xact_lock(4857301);
--postgres:   RETURN QUERY
--postgres:   WITH given AS MATERIALIZED (
--postgres:     SELECT g.*, o.seq AS old_seq, o.hash AS old_hash
--postgres:       FROM unnest(kinds, tenants, event_ids, hs, hashes, types, pkeys, rvs, to_subs, attrss, bodies)
--postgres:         WITH ORDINALITY AS g (kind, tenant, event_id, h, hash, type, pkey, rv, to_sub, attrs, body, ord)
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
--postgres:     INSERT INTO log (seq, kind, tenant, event_id, h, hash, type, pkey, rv, received_at, to_sub, attrs, body)
--postgres:     SELECT f.seq, f.kind::integer, f.tenant, f.event_id, f.h, f.hash, f.type, f.pkey, f.rv, now_us, nullif(f.to_sub, 0), f.attrs, f.body FROM fresh f),
--postgres:   put_ids AS (
--postgres:     INSERT INTO ids (h, seq) SELECT f.h, f.seq FROM fresh f),
--postgres:   put_mark AS (
--postgres:     INSERT INTO mark (minute, seq) SELECT now_us / 60000000, min(f.seq) FROM fresh f HAVING min(f.seq) IS NOT NULL
--postgres:     ON CONFLICT (minute) DO NOTHING)
--postgres:   SELECT f.ord, f.seq, NULL::bytea FROM fresh f
--postgres:   UNION ALL SELECT g.ord, g.old_seq, g.old_hash FROM given g WHERE g.old_seq IS NOT NULL;
--postgres: END $$;
