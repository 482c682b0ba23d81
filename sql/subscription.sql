-- Subscriptions as people see them; delivery.sql has what the engine needs.

-- name: sub_seen
-- args: uid bytes
-- rows: id int, uid bytes, conf text, enabled int, why text, version int, created_at int, changed_at int, managed_by text?, tenants text?, pos int?
-- pos: where its reader stands; NULL: it is not behind.
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos
  FROM subscription s LEFT JOIN reader r ON r.sub = s.id AND r.okey = 0 AND r.rep = 0
 WHERE s.uid = :uid AND s.until_seq IS NULL;

-- name: subs_seen
-- args: after int, most int
-- rows: id int, uid bytes, conf text, enabled int, why text, version int, created_at int, changed_at int, managed_by text?, tenants text?, pos int?
SELECT s.id, s.uid, s.conf, s.enabled, s.why, s.version, s.created_at, s.changed_at, s.managed_by, s.tenants, r.pos
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
-- rows: minute int, ok int, fail int, dead int, us int, slow int
SELECT minute, ok, fail, dead, us, slow FROM stat
 WHERE sub = :sub AND minute >= :since AND minute < :upto ORDER BY minute LIMIT :most;
