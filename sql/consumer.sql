-- Pull consumers: subscriptions that workers fetch from. Their names are
-- theirs alone while they live.

-- name: consumer_seen
-- args: name text
-- rows: id int, uid bytes, conf text, enabled int, why text, version int, created_at int, changed_at int, managed_by text?, tenants text?, pos int?, held text?
-- As sub_seen.
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos, s.held
  FROM subscription s LEFT JOIN reader r ON r.sub = s.id AND r.okey = 0 AND r.rep = 0
 WHERE s.managed_by = 'consumer' AND s.name = :name AND s.until_seq IS NULL;

-- name: consumers_seen
-- args: after text, most int
-- rows: as consumer_seen
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos, s.held
  FROM subscription s LEFT JOIN reader r ON r.sub = s.id AND r.okey = 0 AND r.rep = 0
 WHERE s.managed_by = 'consumer' AND s.name > :after AND s.until_seq IS NULL ORDER BY s.name LIMIT :most;

-- name: consumer_id
-- args: name text
-- rows: id int, tenants text?
SELECT id, tenants FROM subscription WHERE managed_by = 'consumer' AND name = :name AND until_seq IS NULL;

-- name: consumer_dead
-- args: sub int, most int
-- rows: n int
-- Dead letters that wait for a decision; of many only that they are many.
SELECT count(*) FROM (SELECT 1 FROM dead WHERE sub = :sub AND state = 0 LIMIT :most) waiting;

-- name: consumer_oldest
-- args: sub int
-- rows: row_seq int?, key_pos int?
-- The oldest that was tried or parked, and the position of the hindmost key.
SELECT (SELECT min(seq) FROM delivery WHERE sub = :sub AND rep = 0),
       (SELECT min(pos) FROM reader WHERE sub = :sub AND rep = 0 AND okey <> 0);

-- name: consumer_settled
-- args: seq int, sub int, rep int
-- rows: ok int, dead int
-- What became of one that the engine no longer has.
SELECT (SELECT count(*) FROM attempt WHERE seq = :seq AND sub = :sub AND rep = :rep AND verdict = 0),
       (SELECT count(*) FROM dead WHERE sub = :sub AND seq = :seq AND rep = :rep AND state = 0);

-- name: consumers_expiring
-- args: most int
-- rows: id int, uid bytes, name text, conf text
-- Those that were given an end, in the stored form.
SELECT id, uid, name, conf FROM subscription
 WHERE managed_by = 'consumer' AND until_seq IS NULL AND conf LIKE '%"expiresAt":"%' ORDER BY id LIMIT :most;

-- name: consumer_conf
-- args: id int
-- rows: conf text
SELECT conf FROM subscription WHERE id = :id AND until_seq IS NULL;
