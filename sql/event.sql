-- name: log_insert
-- args: seq int, kind int, tenant bytes, event_id bytes, h int, hash bytes, type text, pkey text, rv int?, received_at int, to_sub int?, attrs text?, body bytes
-- rows: many
-- only: sqlite
-- times: 8
-- OR FAIL: no journal of the statement is kept, since a commit that fails is taken back whole.
INSERT OR FAIL INTO log (seq, kind, tenant, event_id, h, hash, type, pkey, rv, received_at, to_sub, attrs, body)
VALUES (:seq, :kind, :tenant, :event_id, :h, :hash, :type, :pkey, :rv, :received_at, :to_sub, :attrs, :body);

-- name: log_append
-- args: kinds int[], tenants bytes[], event_ids bytes[], hs int[], hashes bytes[], types text[], pkeys text[], rvs text[], now int, to_subs int[], attrss text[], bodies bytes[]
-- rows: ord int, seq int, old_hash bytes?
-- only: postgres
-- A null among whole numbers can't be told in an int array: rvs come as text,
-- and a to_sub of 0 is none.
SELECT ret_ord, ret_seq, ret_old_hash
  FROM hk_append(:kinds, :tenants, :event_ids, :hs, :hashes, :types, :pkeys, :rvs::text[]::bigint[], :now, :to_subs, :attrss, :bodies);

-- name: log_last
-- rows: seq int
-- The newest seq that a reader may see; 0 in an empty log.
SELECT coalesce(max(seq), 0) FROM log;

-- name: log_first
-- rows: seq int?, received_at int?
SELECT seq, received_at FROM log ORDER BY seq LIMIT 1;

-- name: log_page
-- args: after int, upto int, type text?, prefix text?, pkey text?, tenant bytes?, low bytes?, up bytes?, most int
-- rows: seq int, kind int, tenant bytes, event_id bytes, type text, received_at int, body bytes
-- A page is bounded by `upto` as well as by `most`: what it may look at. low and
-- up are a text that a plain body has somewhere, in either case.
-- What is for one subscription alone (a batch, an edited requeue) is a matter
-- of the deliveries: nobody published it.
SELECT seq, kind, tenant, event_id, type, received_at, body
  FROM log
 WHERE seq > :after AND seq <= :upto AND kind = 0 AND to_sub IS NULL
   AND (:type IS NULL OR type = :type)
   AND (:prefix IS NULL OR substr(type, 1, length(:prefix)) = :prefix)
   AND (:pkey IS NULL OR pkey = :pkey)
   AND (:tenant IS NULL OR tenant = :tenant)
--sqlite: AND (:low IS NULL OR instr(body, :low) > 0 OR instr(body, :up) > 0 OR substr(body, 1, 1) <> x'7b')
--postgres: AND (:low::bytea IS NULL OR position(:low IN body) > 0 OR position(:up IN body) > 0 OR substr(body, 1, 1) <> '\x7b')
 ORDER BY seq
 LIMIT :most;

-- name: log_other
-- args: after int, upto int
-- rows: seq int
-- The first entry of these that is no event.
SELECT seq FROM log WHERE seq > :after AND seq <= :upto AND kind <> 0 ORDER BY seq LIMIT 1;

-- name: log_get
-- args: seq int
-- rows: seq int, tenant bytes, event_id bytes, hash bytes, received_at int, body bytes
SELECT seq, tenant, event_id, hash, received_at, body FROM log WHERE seq = :seq;

-- name: ids_find
-- args: h int
-- rows: seq int
-- only: postgres
SELECT seq FROM ids WHERE h = :h;

-- name: id_put
-- args: piece int, least int, pairs bytes
-- rows: many
-- only: sqlite
-- times: 8
INSERT OR REPLACE INTO id (piece, least, pairs) VALUES (:piece, :least, :pairs);

-- name: id_find
-- args: piece int, least int, most int
-- rows: pairs bytes
-- only: sqlite
SELECT pairs FROM id WHERE piece = :piece AND least BETWEEN :least AND :most;

-- name: id_from
-- args: piece int, least int, most int
-- rows: piece int, least int, pairs bytes
-- only: sqlite
SELECT piece, least, pairs FROM id WHERE (piece, least) > (:piece, :least) ORDER BY piece, least LIMIT :most;

-- name: id_retain
-- args: piece int, most int
-- only: sqlite
DELETE FROM id WHERE (piece, least) IN
 (SELECT piece, least FROM id WHERE piece < :piece ORDER BY piece, least LIMIT :most);

-- name: log_ids_above
-- args: after int, most int
-- rows: seq int, h int
SELECT seq, h FROM log WHERE seq > :after ORDER BY seq LIMIT :most;

-- name: meta_get
-- args: name text
-- rows: value text
SELECT value FROM meta WHERE name = :name;

-- name: meta_put
-- args: name text, value text
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: meta_add
-- args: name text, value text
INSERT INTO meta (name, value) VALUES (:name, :value) ON CONFLICT (name) DO NOTHING;

-- name: meta_delete
-- args: name text
DELETE FROM meta WHERE name = :name;

-- name: mark_put
-- args: minute int, seq int
INSERT INTO mark (minute, seq) VALUES (:minute, :seq) ON CONFLICT (minute) DO NOTHING;

-- name: mark_first_from
-- args: minute int
-- rows: minute int, seq int
-- The first seq at or after a minute.
SELECT minute, seq FROM mark WHERE minute >= :minute ORDER BY minute LIMIT 1;

-- name: log_needed
-- args: first int
-- rows: pos int?
-- Behind this something of a log that begins with `first` is still needed: by
-- readers that are not stopped, rows, gatherings; behind the cursor by all.
SELECT min(pos) FROM (
  SELECT min(r.pos) AS pos FROM reader r JOIN subscription s ON s.id = r.sub
   WHERE s.until_seq IS NULL AND (r.rep = 0 OR NOT EXISTS (
         SELECT 1 FROM replay p WHERE p.sub = r.sub AND p.rep = r.rep AND p.state = 2))
  UNION ALL SELECT min(seq) - 1 FROM delivery WHERE seq >= :first
  UNION ALL SELECT min(b.pos) FROM batch b JOIN subscription s ON s.id = b.sub WHERE b.idle = 0 AND s.until_seq IS NULL
  UNION ALL SELECT (SELECT CASE WHEN g.cursor > min(s.from_seq) THEN g.cursor ELSE min(s.from_seq) END
                      FROM subscription s WHERE s.until_seq IS NULL)
              FROM grp g WHERE g.g = 0) needed;

-- name: log_sample
-- args: lo int, hi int, gap int
-- rows: n int, bytes int
-- One entry in each `gap`.
WITH RECURSIVE at (seq) AS (SELECT CAST(:lo AS BIGINT) UNION ALL SELECT seq + :gap FROM at WHERE seq + :gap <= :hi)
SELECT count(l.seq), CAST(coalesce(sum(length(l.body)), 0) AS BIGINT) FROM at JOIN log l ON l.seq = at.seq;

-- name: retain_ids
-- args: upto int, cut int
-- only: postgres
-- The ids of the oldest entries; the entries themselves go next.
DELETE FROM ids WHERE (h, seq) IN
 (SELECT h, seq FROM log WHERE seq <= :upto AND received_at < :cut);

-- name: retain_log
-- args: upto int, cut int
DELETE FROM log WHERE seq <= :upto AND received_at < :cut;

-- name: log_key_put
-- args: kid text, hour int, seq int
INSERT INTO log_key (kid, hour, seq) VALUES (:kid, :hour, :seq) ON CONFLICT (kid, hour) DO NOTHING;

-- name: log_keys
-- args: hour int, seq int
-- rows: kid text, first_seq int, first_hour int, last_hour int
-- Of a log that begins with this seq in this hour. Either tells that a note
-- still counts: a clock may have been set back.
SELECT kid, min(seq), min(hour), max(hour) FROM log_key
 WHERE hour >= :hour OR seq >= :seq
 GROUP BY kid ORDER BY 3, 1;

-- name: retain_log_key
-- args: hour int, seq int
DELETE FROM log_key WHERE hour < :hour AND seq < :seq;

-- name: retain_mark
-- args: minute int, most int
DELETE FROM mark WHERE minute IN
 (SELECT minute FROM mark WHERE minute < :minute ORDER BY minute LIMIT :most);

-- name: pieces_make
-- args: upto int
-- rows: made int
-- only: postgres
SELECT hk_pieces(:upto);

-- name: pieces_detach
-- args: cut int
-- rows: n int
-- only: postgres
SELECT hk_detach(:cut);

-- name: pieces_drop
-- rows: n int
-- only: postgres
SELECT hk_drop();
