-- Subscriptions as people see them; delivery.sql has what the engine needs.

-- name: sub_seen
-- args: uid bytes
-- rows: id int, uid bytes, conf text, enabled int, why text, version int, created_at int, changed_at int, managed_by text?, tenants text?, pos int?, held text?
-- pos: where its reader stands; NULL: it is not behind.
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos, s.held
  FROM subscription s LEFT JOIN reader r ON r.sub = s.id AND r.okey = 0 AND r.rep = 0
 WHERE s.uid = :uid AND s.until_seq IS NULL;

-- name: subs_seen
-- args: after int, most int
-- rows: as sub_seen
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos, s.held
  FROM subscription s LEFT JOIN reader r ON r.sub = s.id AND r.okey = 0 AND r.rep = 0
 WHERE s.id > :after AND s.until_seq IS NULL ORDER BY s.id LIMIT :most;

-- name: sub_row_of
-- args: uid bytes
-- rows: id int
-- Also of one that has ended: it may be a cursor of the list.
SELECT id FROM subscription WHERE uid = :uid;

-- name: endpoint_seen
-- args: endpoint int
-- rows: open_until int, not_before int
SELECT open_until, not_before FROM endpoint_state WHERE endpoint = :endpoint;

-- name: stat_seen
-- args: sub int, since int, upto int, most int
-- rows: minute int, ok int, fail int, dead int, us int, slow int, dropped int
SELECT minute, ok, fail, dead, us, slow, dropped FROM stat
 WHERE sub = :sub AND minute >= :since AND minute < :upto ORDER BY minute LIMIT :most;

-- name: preset_put
-- args: name text, conf text, now int
INSERT INTO preset (name, conf, changed_at) VALUES (:name, :conf, :now)
ON CONFLICT (name) DO UPDATE SET conf = excluded.conf, changed_at = excluded.changed_at;

-- name: preset_del
-- args: name text
DELETE FROM preset WHERE name = :name;

-- name: preset_there
-- args: name text
-- rows: there int
SELECT 1 FROM preset WHERE name = :name;

-- name: preset_user
-- args: name text
-- rows: name text
-- One subscription that uses it.
SELECT name FROM subscription WHERE preset = :name AND until_seq IS NULL LIMIT 1;

-- name: subs_of_preset
-- args: preset text, after int, most int
-- rows: id int, uid bytes, conf text, enabled int, from_seq int, version int, held int, until_seq int?
-- As subs_page.
SELECT id, uid, conf, enabled, from_seq, version, CASE WHEN held IS NULL THEN 0 ELSE 1 END, until_seq FROM subscription
 WHERE preset = :preset AND id > :after AND until_seq IS NULL ORDER BY id LIMIT :most;

-- name: ended_next
-- rows: id int, uid bytes, name text
-- One that has ended and whose rows are still there. Once the cursor is past
-- its end the engine writes no more of them.
SELECT id, uid, name FROM subscription
 WHERE until_seq IS NOT NULL AND dropped = 0 AND until_seq <= (SELECT min(cursor) FROM grp)
 ORDER BY until_seq LIMIT 1;

-- name: ended_delivery
-- args: sub int, most int
DELETE FROM delivery WHERE (sub, seq, rep) IN (
       SELECT sub, seq, rep FROM delivery WHERE sub = :sub LIMIT :most);

-- name: ended_reader
-- args: as ended_delivery
DELETE FROM reader WHERE (sub, okey, rep) IN (
       SELECT sub, okey, rep FROM reader WHERE sub = :sub LIMIT :most);

-- name: ended_dead
-- args: as ended_delivery
-- What somebody decided on stays, as attempts do: until their time.
DELETE FROM dead WHERE (sub, seq, rep) IN (
       SELECT sub, seq, rep FROM dead WHERE sub = :sub AND state = 0 LIMIT :most);

-- name: ended_stat
-- args: as ended_delivery
DELETE FROM stat WHERE (sub, minute) IN (
       SELECT sub, minute FROM stat WHERE sub = :sub LIMIT :most);

-- name: ended_version
-- args: as ended_delivery
DELETE FROM version WHERE (sub, rec_a, rec_b) IN (
       SELECT sub, rec_a, rec_b FROM version WHERE sub = :sub LIMIT :most);

-- name: ended_done
-- args: sub int
-- With it go its secrets; name and URL stay for the history.
UPDATE subscription SET dropped = 1, conf = '{}' WHERE id = :sub AND until_seq IS NOT NULL;
