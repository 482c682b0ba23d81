-- Automation tells people. One row is one message, for one event and action.
CREATE TABLE IF NOT EXISTS notifications(
    event_id TEXT NOT NULL, action_key TEXT NOT NULL, recipient TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (event_id, action_key)) WITHOUT ROWID;
-- What is told when, and to whom: a member of the payload, or a name. Only for
-- this object, or when that member is true.
CREATE VIEW IF NOT EXISTS actions(type, action_key, who, what, object, condition) AS VALUES
    ('RecordCreated', 'task.first-contact', '$.ownerId', 'Call', 'Lead', NULL),
    ('RecordDeleted', 'notify.deleted', 'administrators', 'Deleted:', NULL, NULL),
    ('OwnerChanged', 'notify.new-owner', '$.newOwnerId', 'You now have', NULL, NULL),
    ('OwnerChanged', 'notify.old-owner', '$.oldOwnerId', 'You gave away', NULL, NULL),
    ('StageChanged', 'notify.won', 'sales', 'Won:', NULL, '$.newIsWon'),
    ('StageChanged', 'task.next-step', 'sales', 'Next step for', NULL, NULL),
    ('LeadConverted', 'notify.converted', '$.convertedBy', 'Converted', NULL, NULL),
    ('ApprovalSubmitted', 'notify.approver', 'approvers', 'Please decide on', NULL, NULL),
    ('ApprovalDecided', 'notify.decision', '$.decidedBy', 'Decided:', NULL, NULL),
    ('CampaignMemberChanged', 'task.follow-up', 'marketing', 'Follow up', 'Campaign', '$.hasResponded');

-- on: RecordCreated RecordDeleted OwnerChanged StageChanged LeadConverted ApprovalSubmitted ApprovalDecided CampaignMemberChanged
INSERT INTO notifications
SELECT :id, action_key, iif(who LIKE '$%', json_extract(:payload, who), who),
       what || ' ' || :object || ' ' || coalesce(:core ->> '$.fields.Name', :record) ||
       coalesce(', ' || (:core ->> '$.fields.Email'), '')
  FROM actions WHERE type = :type AND coalesce(object, :object) = :object
   AND (condition IS NULL OR json_extract(:payload, condition) = 1)
ON CONFLICT DO NOTHING;

-- on: RecordUpdated
-- An update runs the workflow rules that are on for its object.
INSERT INTO notifications
SELECT :id, 'rule.' || id, :payload ->> 'ownerId',
       'Changed: ' || :object || ' ' || coalesce(:core ->> '$.fields.Name', :record) ||
       coalesce(', ' || (:core ->> '$.fields.Email'), '')
  FROM settings WHERE kind = 'automation' AND object_name = :object AND active = 1
ON CONFLICT DO NOTHING;

-- on: MetadataChanged AutomationConfigChanged
INSERT INTO setting_told VALUES (:type, :payload, :at);

-- name: size
SELECT count(*) || ' messages' FROM notifications;
