-- Looking at deliveries. A page goes down by (seq, sub, rep), an attempt's n
-- last; the place given is exclusive, lo is the oldest seq that counts. Of one
-- subscription the whole key is compared, also where sub alone would do: with
-- `sub = …` PostgreSQL would walk the primary key, past everybody else's.

-- name: look_attempts
-- args: lo int, seq int, sub int, rep int, n int, most int
-- rows: seq int, sub int, rep int, n int, at int, us int, status int, verdict int, reason int
SELECT seq, sub, rep, n, at, us, status, verdict, reason FROM attempt
 WHERE seq >= :lo AND (seq, sub, rep, n) < (:seq, :sub, :rep, :n)
 ORDER BY seq DESC, sub DESC, rep DESC, n DESC LIMIT :most;

-- name: look_attempts_sub
-- args: as look_attempts
-- rows: as look_attempts
SELECT seq, sub, rep, n, at, us, status, verdict, reason FROM attempt
 WHERE (sub, seq, rep, n) >= (:sub, :lo, 0, 0) AND (sub, seq, rep, n) < (:sub, :seq, :rep, :n)
 ORDER BY sub DESC, seq DESC, rep DESC, n DESC LIMIT :most;

-- name: look_rows
-- args: lo int, seq int, sub int, rep int, most int
-- rows: seq int, sub int, rep int, okey int, skey int, state int, tries int, n int, next_at int, last_status int, last_reason int
SELECT seq, sub, rep, okey, skey, state, tries, n, next_at, last_status, last_reason FROM delivery
 WHERE seq >= :lo AND (seq, sub, rep) < (:seq, :sub, :rep)
 ORDER BY seq DESC, sub DESC, rep DESC LIMIT :most;

-- name: look_rows_sub
-- args: as look_rows
-- rows: as look_rows
SELECT seq, sub, rep, okey, skey, state, tries, n, next_at, last_status, last_reason FROM delivery
 WHERE (sub, seq, rep) >= (:sub, :lo, 0) AND (sub, seq, rep) < (:sub, :seq, :rep)
 ORDER BY sub DESC, seq DESC, rep DESC LIMIT :most;

-- name: look_deads
-- args: as look_rows
-- rows: seq int, sub int, rep int, seq_to int, okey int, skey int, reason int, status int, tries int, n int, at int, state int, requeues int, decided_at int?, decided_by text?, note text?, kept int, error text?, tenant bytes?, event_id bytes?, type text?, pkey text?, source text?
SELECT seq, sub, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, decided_at, decided_by, note,
       CASE WHEN body IS NULL THEN 0 ELSE 1 END, error, tenant, event_id, type, pkey, source
  FROM dead
 WHERE seq >= :lo AND (seq, sub, rep) < (:seq, :sub, :rep)
 ORDER BY seq DESC, sub DESC, rep DESC LIMIT :most;

-- name: look_deads_sub
-- args: as look_rows
-- rows: as look_deads
SELECT seq, sub, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, decided_at, decided_by, note,
       CASE WHEN body IS NULL THEN 0 ELSE 1 END, error, tenant, event_id, type, pkey, source
  FROM dead
 WHERE (sub, seq, rep) >= (:sub, :lo, 0) AND (sub, seq, rep) < (:sub, :seq, :rep)
 ORDER BY sub DESC, seq DESC, rep DESC LIMIT :most;

-- name: attempts_of
-- args: seq int, sub int, rep int, after int, most int
-- rows: n int, at int, us int, status int, verdict int, reason int, detail text?
SELECT n, at, us, status, verdict, reason, detail FROM attempt
 WHERE seq = :seq AND sub = :sub AND rep = :rep AND n > :after ORDER BY n LIMIT :most;

-- name: attempts_last
-- args: seq int, sub int, rep int
-- rows: n int
SELECT coalesce(max(n), 0) FROM attempt WHERE seq = :seq AND sub = :sub AND rep = :rep;

-- name: event_head
-- args: seq int
-- rows: kind int, tenant bytes, event_id bytes, type text, pkey text, received_at int, to_sub int?
SELECT kind, tenant, event_id, type, pkey, received_at, to_sub FROM log WHERE seq = :seq;

-- name: event_shown
-- args: seq int, start int
-- rows: tenant bytes, event_id bytes, type text, pkey text, received_at int, start bytes
-- With the beginning of its body.
SELECT tenant, event_id, type, pkey, received_at, substr(body, 1,
--sqlite: :start
--postgres: :start::integer
  ) FROM log WHERE seq = :seq;

-- name: sub_head
-- args: id int
-- rows: id int, uid bytes, name text, enabled int, why text, from_seq int, until_seq int?, tenants text?, conf text, held text?
SELECT id, uid, name, enabled, why, from_seq, until_seq, tenants, conf, held FROM subscription WHERE id = :id;

-- name: sub_head_uid
-- args: uid bytes
-- rows: as sub_head
SELECT id, uid, name, enabled, why, from_seq, until_seq, tenants, conf, held FROM subscription WHERE uid = :uid;

-- name: reader_over
-- args: sub int, seq int, rep int
-- rows: okey int, pos int, until_seq int
-- Those of a subscription that have this entry before them.
SELECT okey, pos, until_seq FROM reader
 WHERE sub = :sub AND rep = :rep AND pos < :seq AND (until_seq = 0 OR until_seq >= :seq) ORDER BY okey LIMIT 1000;

-- name: readers_before
-- args: seq int, okey int, sub int, most int
-- rows: sub int
-- Whose reader has this entry before it: all keys', or this key's. sub 0: any.
SELECT sub FROM reader
 WHERE rep = 0 AND okey IN (0, :okey) AND pos < :seq AND (until_seq = 0 OR until_seq >= :seq)
   AND (sub = :sub OR :sub = 0)
 ORDER BY sub, okey LIMIT :most;

-- name: cursor_low
-- rows: cursor int, owned int
SELECT coalesce(min(cursor), 0), coalesce(sum(CASE WHEN owner = '' THEN 0 ELSE 1 END), 0) FROM grp;

-- name: seq_from
-- args: seq int
-- rows: seq int, received_at int
SELECT seq, received_at FROM log WHERE seq >= :seq ORDER BY seq LIMIT 1;

-- Dead letters ---------------------------------------------------------------

-- name: dead_page
-- args: state int, lo int, at int, sub int, seq int, rep int, most int
-- rows: sub int, seq int, rep int, seq_to int, okey int, skey int, reason int, status int, tries int, n int, at int, state int, requeues int, kept int, tenant bytes?, type text?, pkey text?, source text?, error text?
-- Newest first; those of one state.
SELECT sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues,
       CASE WHEN body IS NULL THEN 0 ELSE 1 END, tenant, type, pkey, source, error
  FROM dead
 WHERE state = :state AND at >= :lo AND (at, sub, seq, rep) < (:at, :sub, :seq, :rep)
 ORDER BY at DESC, sub DESC, seq DESC, rep DESC LIMIT :most;

-- name: dead_page_sub
-- args: as dead_page
-- rows: as dead_page
SELECT sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues,
       CASE WHEN body IS NULL THEN 0 ELSE 1 END, tenant, type, pkey, source, error
  FROM dead
 WHERE sub = :sub AND state = :state AND at >= :lo AND (at, seq, rep) < (:at, :seq, :rep)
 ORDER BY at DESC, seq DESC, rep DESC LIMIT :most;

-- name: dead_body
-- args: sub int, seq int, rep int
-- rows: body bytes?, state int, tenant bytes?, event_id bytes?
SELECT body, state, tenant, event_id FROM dead WHERE sub = :sub AND seq = :seq AND rep = :rep;

-- name: dead_open
-- args: most int
-- rows: n int, refused int
-- How many wait for a decision, and how many of them a source handed over; of
-- many only that they are many.
SELECT count(*), CAST(coalesce(sum(CASE WHEN sub = 0 THEN 1 ELSE 0 END), 0) AS BIGINT)
  FROM (SELECT sub FROM dead WHERE state = 0 LIMIT :most) x;

-- name: rows_of_sub
-- args: sub int, most int
-- rows: n int
SELECT count(*) FROM (SELECT 1 FROM delivery WHERE sub = :sub LIMIT :most) x;

-- Replays ----------------------------------------------------------------------

-- name: replay_rep
-- args: sub int
-- rows: rep int?, running int, exclusive int
-- The lowest number that nothing is left of.
SELECT CASE WHEN NOT EXISTS (SELECT 1 FROM replay WHERE sub = :sub AND rep = 1) THEN 1
       ELSE (SELECT min(r.rep) + 1 FROM replay r WHERE r.sub = :sub AND r.rep < 65535
              AND NOT EXISTS (SELECT 1 FROM replay x WHERE x.sub = r.sub AND x.rep = r.rep + 1)) END,
       (SELECT count(*) FROM reader WHERE sub = :sub AND rep > 0),
       (SELECT count(*) FROM reader r JOIN replay p ON p.sub = r.sub AND p.rep = r.rep
         WHERE r.sub = :sub AND r.rep > 0 AND p.exclusive = 1);

-- name: replay_add
-- args: uid bytes, sub int, rep int, from_seq int, until_seq int, types text?, rate int, exclusive int, now int, who text, pkey text?, tenant bytes?, total int?
INSERT INTO replay (uid, sub, rep, from_seq, until_seq, types, rate, exclusive, state, created_at, created_by, pkey, tenant, total)
VALUES (:uid, :sub, :rep, :from_seq, :until_seq, :types, :rate, :exclusive, 0, :now, :who, :pkey, :tenant, :total);

-- name: replay_heads
-- args: after int, upto int, sub int
-- rows: type text, tenant bytes, pkey text
-- What a replay passes over.
SELECT type, tenant, pkey FROM log
 WHERE seq > :after AND seq <= :upto AND kind = 0 AND (to_sub IS NULL OR to_sub = :sub);

-- name: replay_get
-- args: uid bytes
-- rows: id int, uid bytes, sub int, rep int, from_seq int, until_seq int, types text?, rate int, state int, created_at int, created_by text, ended_at int?, pos int?, exclusive int, pkey text?, tenant bytes?, total int?
SELECT p.id, p.uid, p.sub, p.rep, p.from_seq, p.until_seq, p.types, p.rate, p.state, p.created_at, p.created_by, p.ended_at, r.pos, p.exclusive, p.pkey, p.tenant, p.total
  FROM replay p LEFT JOIN reader r ON r.sub = p.sub AND r.okey = 0 AND r.rep = p.rep WHERE p.uid = :uid;

-- name: replay_page
-- args: before int, most int
-- rows: as replay_get
SELECT p.id, p.uid, p.sub, p.rep, p.from_seq, p.until_seq, p.types, p.rate, p.state, p.created_at, p.created_by, p.ended_at, r.pos, p.exclusive, p.pkey, p.tenant, p.total
  FROM replay p LEFT JOIN reader r ON r.sub = p.sub AND r.okey = 0 AND r.rep = p.rep
 WHERE p.id < :before ORDER BY p.id DESC LIMIT :most;

-- name: replay_stop
-- args: uid bytes, now int
UPDATE replay SET state = 2, ended_at = :now WHERE uid = :uid AND state = 0;

-- Letting go ---------------------------------------------------------------------

-- name: grp_edge
-- rows: cursor int?
-- How far somebody who delivers has come.
SELECT min(cursor) FROM grp WHERE owner <> '';

-- name: keep_rows
-- args: lo int, hi int, now int
-- What has a row when the log loses it: its body stays.
INSERT INTO dead (sub, seq, rep, seq_to, okey, skey, reason, status, tries, n, at, state, requeues, body, tenant, event_id, type, pkey)
SELECT d.sub, d.seq, d.rep, d.seq, d.okey, d.skey, 15, d.last_status, d.tries, d.n, :now, 3, 0, l.body,
       l.tenant, l.event_id, l.type, l.pkey
  FROM delivery d JOIN log l ON l.seq = d.seq WHERE d.seq >= :lo AND d.seq <= :hi
ON CONFLICT (sub, seq, rep) DO UPDATE SET body = excluded.body WHERE dead.body IS NULL;

-- name: keep_deads
-- args: lo int, hi int
UPDATE dead SET body = (SELECT l.body FROM log l WHERE l.seq = dead.seq)
 WHERE seq >= :lo AND seq <= :hi AND body IS NULL AND state < 2;

-- name: tidy_attempts_end
-- args: seq int, sub int, rep int, n int, edge int, skip int
-- rows: seq int, sub int, rep int, n int
-- Where a step ends.
SELECT seq, sub, rep, n FROM attempt
 WHERE (seq, sub, rep, n) > (:seq, :sub, :rep, :n) AND seq < :edge
 ORDER BY seq, sub, rep, n LIMIT 1 OFFSET :skip;

-- name: tidy_attempts
-- args: seq int, sub int, rep int, n int, to_seq int, to_sub int, to_rep int, to_n int, cut int
DELETE FROM attempt
 WHERE (seq, sub, rep, n) > (:seq, :sub, :rep, :n) AND (seq, sub, rep, n) <= (:to_seq, :to_sub, :to_rep, :to_n)
   AND at < :cut;

-- name: tidy_deads_end
-- args: sub int, seq int, rep int, skip int
-- rows: sub int, seq int, rep int
SELECT sub, seq, rep FROM dead WHERE (sub, seq, rep) > (:sub, :seq, :rep) ORDER BY sub, seq, rep LIMIT 1 OFFSET :skip;

-- name: tidy_deads
-- args: sub int, seq int, rep int, to_sub int, to_seq int, to_rep int, cut int
-- Decided long ago, or kept for a row that is gone.
DELETE FROM dead
 WHERE (sub, seq, rep) > (:sub, :seq, :rep) AND (sub, seq, rep) <= (:to_sub, :to_seq, :to_rep)
   AND ((state IN (1, 2) AND decided_at < :cut)
     OR (state = 3 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.sub = dead.sub AND d.seq = dead.seq AND d.rep = dead.rep)));

-- name: tidy_versions_end
-- args: seq int, edge int, skip int
-- rows: seq int
SELECT seq FROM version WHERE seq > :seq AND seq < :edge ORDER BY seq LIMIT 1 OFFSET :skip;

-- name: tidy_versions
-- args: seq int, to_seq int
-- The log has lost them: only a row can have something older, which it kept.
DELETE FROM version
 WHERE seq > :seq AND seq <= :to_seq
   AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.sub = version.sub AND d.seq < version.seq);

-- name: tidy_stat_next
-- args: from_minute int, to_minute int
-- rows: minute int?
SELECT min(minute) FROM stat WHERE minute >= :from_minute AND minute < :to_minute AND minute % 60 <> 0;

-- name: tidy_stat_fold
-- args: minute int, most int
INSERT INTO stat (sub, minute, ok, fail, dead, us, slow, dropped, h0, h1, h2, h3, h4, h5, h6)
SELECT sub, minute - minute % 60, ok, fail, dead, us, slow, dropped, h0, h1, h2, h3, h4, h5, h6 FROM (
  SELECT * FROM stat WHERE minute = :minute ORDER BY sub LIMIT :most) x WHERE true
ON CONFLICT (sub, minute) DO UPDATE SET ok = stat.ok + excluded.ok, fail = stat.fail + excluded.fail,
  dead = stat.dead + excluded.dead, us = stat.us + excluded.us, dropped = stat.dropped + excluded.dropped,
  h0 = stat.h0 + excluded.h0, h1 = stat.h1 + excluded.h1, h2 = stat.h2 + excluded.h2, h3 = stat.h3 + excluded.h3,
  h4 = stat.h4 + excluded.h4, h5 = stat.h5 + excluded.h5, h6 = stat.h6 + excluded.h6,
  slow = CASE WHEN excluded.slow > stat.slow THEN excluded.slow ELSE stat.slow END;

-- name: tidy_stat_drop
-- args: minute int, most int
DELETE FROM stat WHERE minute = :minute AND sub IN (SELECT sub FROM stat WHERE minute = :minute ORDER BY sub LIMIT :most);

-- name: tidy_stat_old
-- args: before int, most int
DELETE FROM stat WHERE (sub, minute) IN (SELECT sub, minute FROM stat WHERE minute < :before ORDER BY minute LIMIT :most);

-- name: tidy_replays
-- args: cut int, most int
-- Ended long ago, and nothing of them is left: their numbers are free again.
DELETE FROM replay WHERE id IN (
  SELECT id FROM replay p WHERE state > 0 AND ended_at < :cut
     AND NOT EXISTS (SELECT 1 FROM reader r WHERE r.sub = p.sub AND r.rep = p.rep)
     AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.sub = p.sub AND a.rep = p.rep AND a.rep > 0)
     AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.sub = p.sub AND d.rep = p.rep AND d.rep > 0)
     AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.sub = p.sub AND d.rep = p.rep) ORDER BY id LIMIT :most);
