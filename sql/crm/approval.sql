-- Approval: what waits for a decision, and who may take it.
CREATE TABLE IF NOT EXISTS instances(
    instance_id TEXT PRIMARY KEY, object_name TEXT NOT NULL, record_id TEXT NOT NULL,
    submitted_us INTEGER NOT NULL, decision TEXT) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS one_open ON instances(object_name, record_id) WHERE decision IS NULL;
CREATE TABLE IF NOT EXISTS quotes(
    record_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, discount INTEGER NOT NULL,
    status TEXT NOT NULL, version_us INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS approvers(
    process_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (process_id, user_id)) WITHOUT ROWID;

-- name: quote_put
-- args: record text, owner text, discount int, status text, version int
INSERT INTO quotes VALUES (:record, :owner, :discount, :status, :version)
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, discount = excluded.discount,
                          status = excluded.status, version_us = excluded.version_us
 WHERE excluded.version_us >= version_us;

-- name: quote_due
-- args: least int
-- rows: record_id text, owner_id text
-- Discounts that need a decision and have none, when a process is there for it.
SELECT q.record_id, q.owner_id FROM quotes q
 WHERE q.discount >= :least AND q.status = ''
   AND EXISTS (SELECT 1 FROM settings WHERE kind = 'process' AND object_name = 'Quote' AND active = 1)
   AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.object_name = 'Quote' AND i.record_id = q.record_id)
 ORDER BY q.record_id LIMIT 1;

-- name: instance_add
-- args: instance text, record text, at int
INSERT INTO instances VALUES (:instance, 'Quote', :record, :at, NULL);

-- name: instance_open
-- rows: instance_id text, object_name text, record_id text
SELECT instance_id, object_name, record_id FROM instances WHERE decision IS NULL
 ORDER BY submitted_us, instance_id LIMIT 1;

-- name: instance_decide
-- args: instance text, decision text
UPDATE instances SET decision = :decision WHERE instance_id = :instance AND decision IS NULL;

-- name: approvers_drop
DELETE FROM approvers;

-- name: approvers_make
-- Whoever was given the right, for each process that is on.
INSERT INTO approvers SELECT p.id, u.id FROM settings p, settings u
 WHERE p.kind = 'process' AND p.active = 1 AND u.kind = 'permission' AND u.active = 1
   AND u.value = 'User';

-- name: approver_first
-- rows: user_id text
SELECT user_id FROM approvers ORDER BY process_id, user_id LIMIT 1;

-- name: approval_size
-- rows: open int, decided int, approvers int
SELECT coalesce(sum(decision IS NULL), 0), coalesce(sum(decision IS NOT NULL), 0),
       (SELECT count(*) FROM approvers) FROM instances;
