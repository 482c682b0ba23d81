-- Counts of Hatena bookmarks: reader/fetch/hatebu.h.

-- name: hatebu_take
-- args: me bytes, now int, until int, day int
-- The turn, when it is time and nobody else's.
UPDATE hatebu_turn SET owner = :me, until = :until, calls = CASE WHEN day = :day THEN calls ELSE 0 END, day = :day
 WHERE id = 1 AND next_at <= :now AND (owner IS NULL OR owner = :me OR until < :now);

-- name: hatebu_state
-- rows: failures int, calls int
SELECT failures, calls FROM hatebu_turn WHERE id = 1;

-- name: hatebu_called
-- args: me bytes, until int, next int, failures int
UPDATE hatebu_turn SET until = :until, next_at = :next, failures = :failures, calls = calls + 1
 WHERE id = 1 AND owner = :me;

-- name: hatebu_leave
-- args: me bytes, next int
UPDATE hatebu_turn SET owner = NULL, until = 0, next_at = :next WHERE id = 1 AND owner = :me;

-- name: hatebu_new
-- args: most int
-- rows: id int, link text?
-- Never asked for: the newest first. Of what is in a private feed nobody is told the link.
SELECT i.id, CASE WHEN (SELECT f.private FROM feed f WHERE f.id = i.feed_id) = 1 THEN NULL ELSE i.link END
  FROM feed_item i WHERE i.hatebu_fetched_at IS NULL ORDER BY i.id DESC LIMIT :most;

-- name: hatebu_old
-- args: before int, most int
-- rows: as hatebu_new
SELECT i.id, CASE WHEN (SELECT f.private FROM feed f WHERE f.id = i.feed_id) = 1 THEN NULL ELSE i.link END
  FROM feed_item i WHERE i.hatebu_fetched_at IS NOT NULL AND i.hatebu_fetched_at < :before
 ORDER BY i.hatebu_fetched_at LIMIT :most;

-- name: hatebu_put
-- args: id int, n int, now int
-- rows: many
UPDATE feed_item SET hatebu_count = :n, hatebu_fetched_at = :now WHERE id = :id;
