-- Approval: what waits for a decision, and who may take it. Each quote whose
-- discount is large is submitted once there is a process for it. The discount is
-- asked of Core.
CREATE TABLE IF NOT EXISTS instances(
    instance_id TEXT PRIMARY KEY, object_name TEXT NOT NULL, record_id TEXT NOT NULL,
    submitted_us INTEGER NOT NULL, decision TEXT) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS one_open ON instances(object_name, record_id) WHERE decision IS NULL;
CREATE TABLE IF NOT EXISTS quotes(
    record_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, discount INTEGER NOT NULL,
    status TEXT NOT NULL, version_us INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS approvers(
    process_id TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (process_id, user_id)) WITHOUT ROWID;
-- Discounts that need a decision and have none, when a process is there for it.
CREATE VIEW IF NOT EXISTS due AS
SELECT q.record_id, q.owner_id FROM quotes q
 WHERE q.discount >= 20 AND q.status = ''
   AND EXISTS (SELECT 1 FROM settings WHERE kind = 'process' AND object_name = 'Quote' AND active = 1)
   AND NOT EXISTS (SELECT 1 FROM instances i WHERE i.object_name = 'Quote' AND i.record_id = q.record_id);

CREATE VIEW IF NOT EXISTS submission AS SELECT '' AS instance_id, '' AS record_id, '' AS by_id;
CREATE TRIGGER IF NOT EXISTS submitted INSTEAD OF INSERT ON submission BEGIN
    INSERT INTO saving VALUES (0);
    INSERT INTO instances SELECT NEW.instance_id, 'Quote', NEW.record_id, at_us, NULL FROM save;
    INSERT INTO tell SELECT 'ApprovalSubmitted', 'Quote', NEW.record_id, NULL, json_object(
        'approvalInstanceId', NEW.instance_id,
        'target', json_object('objectName', 'Quote', 'recordId', NEW.record_id),
        'submittedBy', NEW.by_id, 'submittedAt', at,
        'lockedFields', json_array('DiscountPercent', 'GrandTotal'), 'currentStageIndex', 0) FROM save;
END;

CREATE VIEW IF NOT EXISTS decide AS SELECT '' AS instance_id, '' AS decision;
CREATE TRIGGER IF NOT EXISTS decided INSTEAD OF INSERT ON decide BEGIN
    INSERT INTO saving VALUES (0);
    UPDATE instances SET decision = NEW.decision WHERE instance_id = NEW.instance_id;
    INSERT INTO tell SELECT 'ApprovalDecided', i.object_name, i.record_id, NULL, json_object(
        'approvalInstanceId', i.instance_id,
        'target', json_object('objectName', i.object_name, 'recordId', i.record_id), 'decision', NEW.decision,
        'decidedBy', coalesce((SELECT user_id FROM approvers ORDER BY process_id, user_id LIMIT 1), uuid()),
        'decidedAt', s.at, 'finalStageIndex', 0)
      FROM instances i, save s WHERE i.instance_id = NEW.instance_id;
END;

-- on: RecordCreated RecordUpdated of Quote
INSERT INTO quotes
SELECT :record, :core ->> 'ownerId', coalesce(:core ->> '$.fields.DiscountPercent', 0),
       coalesce(:core ->> '$.fields.ApprovalStatus', ''), :core_us WHERE :core IS NOT NULL
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, discount = excluded.discount,
                          status = excluded.status, version_us = excluded.version_us
 WHERE excluded.version_us >= version_us;
INSERT INTO submission SELECT uuid(), record_id, owner_id FROM due;

-- on: PermissionChanged RoleHierarchyChanged ApprovalConfigChanged
-- Whoever was given the right may decide, for each process that is on.
INSERT INTO setting_told VALUES (:type, :payload, :at);
DELETE FROM approvers;
INSERT INTO approvers SELECT p.id, u.id FROM settings p, settings u
 WHERE p.kind = 'process' AND p.active = 1 AND u.kind = 'permission' AND u.active = 1 AND u.value = 'User';
INSERT INTO submission SELECT uuid(), record_id, owner_id FROM due;

-- name: decide
-- All that waits, the oldest first; every third is rejected.
SELECT count(*) FROM instances WHERE decision IS NULL;
INSERT INTO decide
SELECT instance_id, iif(row_number() OVER (ORDER BY submitted_us, instance_id) % 3 = 0, 'REJECTED', 'APPROVED')
  FROM instances WHERE decision IS NULL ORDER BY submitted_us, instance_id;

-- name: size
SELECT printf('%d open, %d decided, %d approvers', coalesce(sum(decision IS NULL), 0),
              coalesce(sum(decision IS NOT NULL), 0), (SELECT count(*) FROM approvers)) FROM instances;
