-- name: log_feed
-- args: after int, upto int, most int
-- rows: seq int, kind int, tenant bytes, event_id bytes, type text, pkey text, received_at int, to_sub int?, attrs text?, body bytes, rv int?
SELECT seq, kind, tenant, event_id, type, pkey, received_at, to_sub, attrs, body, rv
  FROM log WHERE seq > :after AND seq <= :upto ORDER BY seq LIMIT :most;

-- name: log_feed_sub
-- args: after int, upto int, sub int, rep int, most int
-- rows: as log_feed
-- The same for a reader, without what is settled already: after a crash its
-- position may be behind what was written. The ranges are said twice, so that
-- no plan of PostgreSQL's looks at more attempts than the page has.
SELECT seq, kind, tenant, event_id, type, pkey, received_at, to_sub, attrs, body, rv
  FROM log l WHERE seq > :after AND seq <= :upto AND kind = 0
   AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.seq = l.seq AND a.sub = :sub AND a.rep = :rep AND a.verdict IN (0, 6)
                      AND a.seq > :after AND a.seq <= :upto)
   AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.sub = :sub AND d.seq = l.seq AND d.rep = :rep
                      AND d.seq > :after AND d.seq <= :upto)
 ORDER BY seq LIMIT :most;

-- name: subs_page
-- args: after int, most int
-- rows: id int, uid bytes, conf text, enabled int, from_seq int, version int, held int, until_seq int?
-- Those that dispatch has to know, by id.
SELECT id, uid, conf, enabled, from_seq, version, CASE WHEN held IS NULL THEN 0 ELSE 1 END, until_seq FROM subscription
 WHERE id > :after AND until_seq IS NULL ORDER BY id LIMIT :most;

-- name: subs_one
-- args: id int
-- rows: as subs_page
SELECT id, uid, conf, enabled, from_seq, version, CASE WHEN held IS NULL THEN 0 ELSE 1 END, until_seq
  FROM subscription WHERE id = :id;

-- name: presets_all
-- rows: name text, conf text
SELECT name, conf FROM preset ORDER BY name;

-- name: node_start
-- args: id text, name text, now int, lease_us int
INSERT INTO node (id, name, started_at, lease_until, flush)
VALUES (:id, :name, :now,
--sqlite: :now
--postgres: (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
        + :lease_us, 0)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, started_at = excluded.started_at,
       lease_until = excluded.lease_until, flush = 0;

-- name: node_renew
-- args: id text, now int, lease_us int
-- The clock is the database's where nodes share one.
UPDATE node SET lease_until =
--sqlite: :now
--postgres: CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END
       + :lease_us
 WHERE id = :id;

-- name: node_end
-- args: id text
DELETE FROM node WHERE id = :id;

-- name: node_sweep
-- args: before int
-- Of nodes that ended without saying so, long ago.
DELETE FROM node WHERE lease_until < :before AND id NOT IN (SELECT owner FROM grp);

-- name: errand_add
-- args: asker text, question text, now int, wait_us int
-- rows: id int
INSERT INTO errand (asker, question, until_at) VALUES (:asker, :question,
--sqlite: :now
--postgres: CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END
       + :wait_us) RETURNING id;

-- name: errand_todo
-- args: after int, now int, most int
-- rows: id int, question text
SELECT id, question FROM errand WHERE id > :after AND answer IS NULL AND until_at >
--sqlite: :now
--postgres: CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END
 ORDER BY id LIMIT :most;

-- name: errand_answers
-- args: asker text
-- rows: id int, answer text
SELECT id, answer FROM errand WHERE asker = :asker AND answer IS NOT NULL;

-- name: errand_answer
-- args: id int, answer text
UPDATE errand SET answer = :answer WHERE id = :id;

-- name: errand_drop
-- args: id int
DELETE FROM errand WHERE id = :id;

-- name: errand_sweep
-- args: now int, late_us int
DELETE FROM errand WHERE until_at + :late_us <
--sqlite: :now
--postgres: CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END
;

-- name: grp_lock
-- rows: one int
-- Those who would take the groups go one after the other: who waits for a row
-- of grp would judge its new owner by nodes as they were before.
SELECT 1
--postgres: FROM pg_advisory_xact_lock(4857303)
;

-- name: grp_take
-- args: node text, now int
-- All groups, unless a node that lives has them. What this node had in an
-- earlier life is its own: its folder's lock says that this life is over.
UPDATE grp SET unclean = CASE WHEN owner = '' THEN 0 ELSE unclean + 1 END,
       owner = :node, epoch = epoch + 1
 WHERE owner = '' OR owner = :node OR NOT EXISTS (
       SELECT 1 FROM node WHERE node.id = grp.owner AND node.lease_until >
--sqlite: :now
--postgres: CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END
       );

-- name: grp_leave
-- args: node text, epoch int
UPDATE grp SET owner = '', unclean = 0 WHERE owner = :node AND epoch = :epoch;

-- name: grp_mine
-- args: node text
-- rows: n int, epoch int, cursor int, unclean int
SELECT count(*), coalesce(max(epoch), 0), coalesce(min(cursor), 0), coalesce(max(unclean), 0)
  FROM grp WHERE owner = :node;

-- name: grp_fence
-- args: node text, epoch int
-- rows: g int
-- Nobody takes the groups over while a flush is under way.
SELECT g FROM grp WHERE g = 0 AND owner = :node AND epoch = :epoch
--postgres: FOR SHARE
;

-- name: grp_cursor
-- args: node text, epoch int, cursor int
UPDATE grp SET cursor = :cursor WHERE owner = :node AND epoch = :epoch;

-- name: grp_progress
-- args: node text, epoch int
UPDATE grp SET unclean = 0 WHERE owner = :node AND epoch = :epoch;

-- name: node_flush
-- args: id text, flush int
-- Changes nothing when this set of changes was written before.
UPDATE node SET flush = :flush WHERE id = :id AND flush < :flush;

-- name: attempt_put
-- args: seq int, sub int, rep int, n int, at int, us int, status int, verdict int, reason int, detail text?
-- rows: many
INSERT INTO attempt (seq, sub, rep, n, at, us, status, verdict, reason, detail)
VALUES (:seq, :sub, :rep, :n, :at, :us, :status, :verdict, :reason, :detail) ON CONFLICT DO NOTHING;

-- name: row_put
-- args: sub int, seq int, rep int, okey int, skey int, state int, tries int, n int, crashes int, next_at int, token text, last_status int, last_reason int, rec_a int, rec_b int, rv int, asked int
-- rows: many
INSERT INTO delivery (sub, seq, rep, okey, skey, state, tries, n, crashes, next_at, token, last_status, last_reason, rec_a, rec_b, rv, asked)
VALUES (:sub, :seq, :rep, :okey, :skey, :state, :tries, :n, :crashes, :next_at, :token, :last_status, :last_reason, :rec_a, :rec_b, :rv, :asked)
ON CONFLICT (sub, seq, rep) DO UPDATE SET state = excluded.state, tries = excluded.tries, n = excluded.n,
  crashes = excluded.crashes, next_at = excluded.next_at, token = excluded.token,
  last_status = excluded.last_status, last_reason = excluded.last_reason, asked = excluded.asked;

-- name: row_del
-- args: sub int, seq int, rep int
-- rows: many
DELETE FROM delivery WHERE sub = :sub AND seq = :seq AND rep = :rep;

-- name: dead_put
-- args: sub int, seq int, rep int, seq_to int, okey int, skey int, reason int, status int, tries int, n int, at int, error text?
-- One that was put back and failed again is the same dead letter.
INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, error, tenant, event_id, type, pkey)
VALUES (:sub, :seq, :rep, :seq_to, :okey, :skey, :reason, :status, :tries, :n, :at, 0, 0, :error,
        (SELECT tenant FROM log WHERE seq = :seq), (SELECT event_id FROM log WHERE seq = :seq),
        (SELECT type FROM log WHERE seq = :seq), (SELECT pkey FROM log WHERE seq = :seq))
ON CONFLICT (sub, seq, rep) DO UPDATE SET reason = excluded.reason, status = excluded.status, tries = excluded.tries,
  n = excluded.n, at = excluded.at, error = excluded.error, state = 0, decided_at = NULL, decided_by = NULL, note = NULL;

-- name: dead_refused
-- args: seq int, reason int, at int, error text, event_id bytes, source text, tenant bytes?, type text?, pkey text?
-- What a source handed over; it is there once.
INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, error, event_id, source, tenant, type, pkey)
VALUES (0, :seq, 0, :seq, 0, 0, :reason, 0, 0, 0, :at, 0, 0, :error, :event_id, :source, :tenant, :type, :pkey)
ON CONFLICT (sub, seq, rep) DO NOTHING;

-- name: dead_range
-- args: sub int, seq int, seq_to int, okey int, reason int, at int
-- A stretch of the log that went unread.
INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues)
VALUES (:sub, :seq, 0, :seq_to, :okey, 0, :reason, 0, 0, 0, :at, 0, 0)
ON CONFLICT (sub, seq, rep) DO UPDATE SET seq_to = excluded.seq_to, reason = excluded.reason, at = excluded.at, state = 0;

-- name: dead_missed
-- args: now int
-- What the log lost while nobody delivered: of each that had to get it.
INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues)
SELECT s.id, CASE WHEN s.from_seq > g.cursor THEN s.from_seq ELSE g.cursor END + 1, 0, l.first_seq - 1, 0, 0, 15, 0, 0, 0, :now, 0, 0
  FROM (SELECT min(cursor) AS cursor FROM grp) g
  JOIN (SELECT min(seq) AS first_seq FROM log) l ON g.cursor < l.first_seq - 1
  JOIN subscription s ON s.from_seq < l.first_seq - 1
 WHERE s.until_seq IS NULL AND NOT EXISTS (
       SELECT 1 FROM reader r WHERE r.sub = s.id AND r.okey = 0 AND r.rep = 0)
ON CONFLICT DO NOTHING;

-- name: dead_decide
-- args: sub int, seq int, rep int, state int, at int, who text, note text?
-- 1: put back, 2: skipped.
UPDATE dead SET state = :state, decided_at = :at, decided_by = :who, note = :note,
       requeues = requeues + CASE WHEN :state = 1 THEN 1 ELSE 0 END
 WHERE sub = :sub AND seq = :seq AND rep = :rep AND state = 0;

-- name: event_of
-- args: sub int, seq int, rep int
-- rows: tenant bytes?, event_id bytes?, type text?, pkey text?, uid bytes?, url text?
-- What a delivery is of, also when the log has lost it, and to whom.
SELECT coalesce(d.tenant, l.tenant), coalesce(d.event_id, l.event_id), coalesce(d.type, l.type), l.pkey, s.uid, s.url
  FROM (SELECT 1) x LEFT JOIN dead d ON d.sub = :sub AND d.seq = :seq AND d.rep = :rep
       LEFT JOIN log l ON l.seq = :seq LEFT JOIN subscription s ON s.id = :sub;

-- name: dead_revive
-- args: sub int, reason int, times int, until int, at int, seq int, rep int, most int
-- rows: at int, rep int, okey int, skey int, n int, seq int, kind int, tenant bytes, event_id bytes, type text, pkey text, received_at int, to_sub int?, attrs text?, body bytes, rv int?
-- Those that a rule may put back, with their events, in the order they died.
SELECT d.at, d.rep, d.okey, d.skey, d.n, l.seq, l.kind, l.tenant, l.event_id, l.type, l.pkey, l.received_at, l.to_sub, l.attrs, l.body, l.rv
  FROM dead d JOIN log l ON l.seq = d.seq
 WHERE d.sub = :sub AND d.state = 0 AND d.reason = :reason AND d.requeues < :times AND d.at <= :until
   AND (d.at, d.seq, d.rep) > (:at, :seq, :rep) ORDER BY d.at, d.seq, d.rep LIMIT :most;

-- name: rows_some
-- args: sub int, most int
-- rows: n int
-- How many wait; of many only that they are many. A dead letter that holds its
-- key (state 3) waits for nothing but to be put back.
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE sub = :sub AND state <> 3 LIMIT :most) waiting;

-- name: record_version_put
-- args: sub int, rec_a int, rec_b int, rv int, seq int
-- rows: many
-- It never goes back; with the same version the later place counts. A record
-- may be there twice, which PostgreSQL takes in one statement by its newest.
INSERT INTO version (sub, rec_a, rec_b, rv, seq)
--sqlite: VALUES (:sub, :rec_a, :rec_b, :rv, :seq)
--postgres: SELECT DISTINCT ON (:sub, :rec_a, :rec_b) :sub, :rec_a, :rec_b, :rv, :seq
--postgres:   FROM {{each}} ORDER BY :sub, :rec_a, :rec_b, :rv DESC, :seq DESC
ON CONFLICT (sub, rec_a, rec_b) DO UPDATE SET rv = excluded.rv, seq = excluded.seq WHERE excluded.rv >= version.rv;

-- name: record_version_get
-- args: sub int, rec_a int, rec_b int
-- rows: rv int
SELECT rv FROM version WHERE sub = :sub AND rec_a = :rec_a AND rec_b = :rec_b;

-- name: reader_put
-- args: sub int, okey int, rep int, pos int, until_seq int
INSERT INTO reader (sub, okey, rep, pos, until_seq) VALUES (:sub, :okey, :rep, :pos, :until_seq)
ON CONFLICT (sub, okey, rep) DO UPDATE SET pos = excluded.pos, until_seq = excluded.until_seq;

-- name: reader_del
-- args: sub int, okey int, rep int
DELETE FROM reader WHERE sub = :sub AND okey = :okey AND rep = :rep;

-- name: replay_end
-- args: sub int, rep int, at int
UPDATE replay SET state = 1, ended_at = :at WHERE sub = :sub AND rep = :rep AND state = 0;

-- name: endpoint_put
-- args: endpoint int, open_until int, not_before int
INSERT INTO endpoint_state (endpoint, open_until, not_before) VALUES (:endpoint, :open_until, :not_before)
ON CONFLICT (endpoint) DO UPDATE SET open_until = excluded.open_until, not_before = excluded.not_before;

-- name: endpoint_del
-- args: endpoint int
DELETE FROM endpoint_state WHERE endpoint = :endpoint;

-- name: stat_add
-- args: sub int, minute int, ok int, fail int, dead int, us int, slow int, h0 int, h1 int, h2 int, h3 int, h4 int, h5 int, h6 int
INSERT INTO stat (sub, minute, ok, fail, dead, us, slow, h0, h1, h2, h3, h4, h5, h6)
VALUES (:sub, :minute, :ok, :fail, :dead, :us, :slow, :h0, :h1, :h2, :h3, :h4, :h5, :h6)
ON CONFLICT (sub, minute) DO UPDATE SET ok = stat.ok + excluded.ok, fail = stat.fail + excluded.fail,
  dead = stat.dead + excluded.dead, us = stat.us + excluded.us,
  slow = CASE WHEN excluded.slow > stat.slow THEN excluded.slow ELSE stat.slow END,
  h0 = stat.h0 + excluded.h0, h1 = stat.h1 + excluded.h1, h2 = stat.h2 + excluded.h2, h3 = stat.h3 + excluded.h3,
  h4 = stat.h4 + excluded.h4, h5 = stat.h5 + excluded.h5, h6 = stat.h6 + excluded.h6;

-- name: stat_reason_add
-- args: minute int, reason int, n int
INSERT INTO stat_reason (minute, reason, n) VALUES (:minute, :reason, :n)
ON CONFLICT (minute, reason) DO UPDATE SET n = stat_reason.n + excluded.n;

-- name: load_endpoints
-- rows: endpoint int, open_until int, not_before int
SELECT endpoint, open_until, not_before FROM endpoint_state;

-- name: load_rows
-- args: sub int, seq int, rep int, most int
-- rows: sub int, seq int, rep int, okey int, skey int, state int, tries int, n int, crashes int, next_at int, last_status int, last_reason int, rec_a int, rec_b int, rv int, asked int
-- In pages, by the key.
SELECT sub, seq, rep, okey, skey, state, tries, n, crashes, next_at, last_status, last_reason, rec_a, rec_b, rv, asked
  FROM delivery WHERE (sub, seq, rep) > (:sub, :seq, :rep) ORDER BY sub, seq, rep LIMIT :most;

-- name: load_readers
-- rows: sub int, okey int, rep int, pos int, until_seq int, rate int, stopped int, types text?, exclusive int, pkey text?, tenant bytes?
SELECT r.sub, r.okey, r.rep, r.pos, r.until_seq, coalesce(p.rate, 0), CASE WHEN p.state = 2 THEN 1 ELSE 0 END, p.types, coalesce(p.exclusive, 0), p.pkey, p.tenant
  FROM reader r LEFT JOIN replay p ON p.sub = r.sub AND p.rep = r.rep AND r.rep > 0 ORDER BY r.sub, r.okey, r.rep;

-- name: load_replays
-- args: sub int
-- rows: as load_readers
SELECT r.sub, r.okey, r.rep, r.pos, r.until_seq, p.rate, CASE WHEN p.state = 2 THEN 1 ELSE 0 END, p.types, p.exclusive, p.pkey, p.tenant
  FROM reader r JOIN replay p ON p.sub = r.sub AND p.rep = r.rep WHERE r.sub = :sub AND r.rep > 0 ORDER BY r.rep;

-- name: load_settled
-- args: cursor int
-- rows: sub int, seq int, rep int
-- Above the cursor, settled already.
SELECT sub, seq, rep FROM attempt WHERE seq > :cursor AND rep = 0 AND verdict IN (0, 6)
UNION SELECT sub, seq, rep FROM dead WHERE seq > :cursor AND rep = 0;

-- name: sub_insert
-- args: uid bytes, name text, url text, preset text, conf text, enabled int, managed_by text?, owner int?, tenants text?, now int
-- rows: id int
INSERT INTO subscription (uid, name, url, preset, conf, enabled, why, version, from_seq, managed_by, owner, tenants, created_at, changed_at)
VALUES (:uid, :name, :url, :preset, :conf, :enabled, '', 1, 0, :managed_by, :owner, :tenants, :now, :now)
RETURNING id;

-- name: sub_from
-- args: id int, seq int
UPDATE subscription SET from_seq = :seq WHERE id = :id;

-- name: sub_update
-- args: id int, name text, url text, preset text, conf text, enabled int, why text, held text?, tenants text?, now int, version int
UPDATE subscription SET name = :name, url = :url, preset = :preset, conf = :conf, enabled = :enabled, why = :why,
       held = :held, tenants = :tenants, changed_at = :now, version = version + 1
 WHERE id = :id AND version = :version AND until_seq IS NULL;

-- name: sub_switch
-- args: id int, enabled int, why text, now int
-- Whoever enables it lets go of what it was held for.
UPDATE subscription SET enabled = :enabled, why = :why, changed_at = :now, version = version + 1,
       held = CASE WHEN :enabled = 1 THEN NULL ELSE held END
 WHERE id = :id AND until_seq IS NULL;

-- name: sub_hold
-- args: id int, held text, now int, version int
-- Only as it was when that was found: who changes it has mended it, maybe.
UPDATE subscription SET held = :held, changed_at = :now, version = version + 1
 WHERE id = :id AND version = :version AND held IS NULL AND until_seq IS NULL;

-- name: sub_until
-- args: id int, seq int, now int
UPDATE subscription SET until_seq = :seq, changed_at = :now, version = version + 1
 WHERE id = :id AND until_seq IS NULL;
