-- How far a projection is from what it is made of: each statement counts the
-- rows that one side has and the other has not. They run in a consumer's
-- database, beside those of the producers: core, sharing, approval, metadata.

-- name: check_settings
-- args: kinds text
-- rows: n int
-- The settings of these kinds, as Metadata has them.
WITH a AS (
    SELECT kind, id, value, active FROM metadata.settings
     WHERE instr(:kinds, ' ' || kind || ' ') > 0),
b AS (
    SELECT kind, id, value, active FROM main.settings
     WHERE instr(:kinds, ' ' || kind || ' ') > 0)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_search_documents
-- rows: n int
-- A document for each live record, as it is now.
WITH a AS (
    SELECT object_name, record_id, version_us, owner_id, json_extract(fields, '$.StageName'),
           coalesce(json_extract(fields, '$.IsConverted'), 0)
      FROM core.records WHERE deleted = 0),
b AS (
    SELECT object_name, record_id, version_us, owner_id, stage, hidden FROM documents)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_search_labels
-- rows: n int
-- What waits for a decision, and what was decided.
WITH a AS (
    SELECT r.record_id, coalesce(json_extract(r.fields, '$.ApprovalStatus'), 'PENDING')
      FROM core.records r WHERE r.object_name = 'Quote' AND r.deleted = 0
       AND EXISTS (SELECT 1 FROM approval.instances i WHERE i.record_id = r.record_id)),
b AS (
    SELECT l.record_id, l.label FROM labels l JOIN documents d
        ON d.object_name = l.object_name AND d.record_id = l.record_id)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_search_members
-- rows: n int
-- The members of campaigns.
WITH a AS (
    SELECT campaign_id, member_id, status FROM core.campaign_members WHERE removed = 0),
b AS (
    SELECT campaign_id, member_id, status FROM found_members)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_search_visibility
-- rows: n int
-- The newest share model of each object.
WITH a AS (
    SELECT object_name, version FROM sharing.share_models),
b AS (
    SELECT object_name, version FROM visibility WHERE record_id = '')
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_sharing_shares
-- rows: n int
-- Who may see what, worked out from Core and the settings.
WITH a AS (
    SELECT object_name, record_id, 'owner', owner_id, 'All' FROM core.records WHERE deleted = 0
    UNION ALL
    SELECT object_name, record_id, 'team', user_id, access_level FROM core.team_members
    UNION ALL
    SELECT r.object_name, r.record_id, s.kind, s.id, 'Read'
      FROM (SELECT * FROM metadata.settings
            UNION ALL SELECT * FROM main.settings WHERE kind = 'territory') s
      JOIN core.records r ON r.deleted = 0
       AND ((s.kind = 'group' AND r.object_name = 'Opportunity')
            OR (s.kind IN ('role', 'territory') AND r.object_name = 'Account')
            OR (s.kind = 'config' AND r.object_name = s.object_name
                AND s.value NOT IN ('', 'Private')))
     WHERE s.active = 1),
b AS (
    SELECT object_name, record_id, cause, subject_id, access FROM shares WHERE active = 1)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_sharing_off
-- rows: n int
-- Shares that are off belong to deleted records.
SELECT count(*) FROM shares s WHERE s.active = 0
   AND NOT EXISTS (SELECT 1 FROM core.records r WHERE r.deleted = 1
                      AND r.object_name = s.object_name AND r.record_id = s.record_id);

-- name: check_reporting_pipeline
-- rows: n int
-- Each live opportunity with its stage and amount.
WITH a AS (
    SELECT record_id, owner_id, json_extract(fields, '$.StageName'),
           coalesce(json_extract(fields, '$.Amount'), 0)
      FROM core.records WHERE object_name = 'Opportunity' AND deleted = 0),
b AS (
    SELECT record_id, owner_id, stage, amount FROM opportunities WHERE deleted = 0)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_reporting_conversions
-- rows: n int
-- Leads that were converted and are still there.
WITH a AS (
    SELECT record_id FROM core.records WHERE object_name = 'Lead' AND deleted = 0
       AND json_extract(fields, '$.IsConverted') = 1),
b AS (
    SELECT lead_id FROM conversions WHERE deleted = 0)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_reporting_approvals
-- rows: n int
-- Approvals and their decisions.
WITH a AS (
    SELECT instance_id, object_name, decision FROM approval.instances),
b AS (
    SELECT instance_id, object_name, decision FROM approvals)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_reporting_campaigns
-- rows: n int
-- What campaigns brought.
WITH a AS (
    SELECT campaign_id, member_id, status, responded, removed FROM core.campaign_members),
b AS (
    SELECT campaign_id, member_id, status, responded, removed FROM campaign_figures)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_reporting_snapshots
-- rows: n int
-- The share model that a snapshot must be taken anew for.
WITH a AS (
    SELECT object_name, version FROM sharing.share_models),
b AS (
    SELECT object_name, version FROM snapshots WHERE version > 0)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_automation_missing
-- rows: n int
-- Events of a record's newest version that nobody was told of.
SELECT count(*) FROM core.outbox_events o
  JOIN core.records r ON r.record_id IN (json_extract(o.payload, '$.recordId'),
                                         json_extract(o.payload, '$.opportunityId'),
                                         json_extract(o.payload, '$.leadId'))
 WHERE o.event_type IN ('RecordDeleted', 'OwnerChanged', 'StageChanged', 'LeadConverted')
   AND CAST(strftime('%s', o.record_version) AS INTEGER) * 1000000
       + CAST(substr(o.record_version, 21, 3) AS INTEGER) * 1000 = r.version_us
   AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.event_id = o.event_id);

-- name: check_automation_approvals
-- rows: n int
-- Submissions and decisions that nobody was told of.
SELECT count(*) FROM approval.outbox_events o
 WHERE NOT EXISTS (SELECT 1 FROM notifications n WHERE n.event_id = o.event_id);

-- name: check_automation_unknown
-- rows: n int
-- Messages for events that were never taken.
SELECT count(*) FROM notifications n
 WHERE NOT EXISTS (SELECT 1 FROM processed_events p WHERE p.event_id = n.event_id);

-- name: check_approval_quotes
-- rows: n int
-- Large discounts of live quotes were submitted, and no others.
WITH a AS (
    SELECT record_id FROM core.records WHERE object_name = 'Quote' AND deleted = 0
       AND json_extract(fields, '$.DiscountPercent') >= 20
       AND EXISTS (SELECT 1 FROM metadata.settings
                    WHERE kind = 'process' AND object_name = 'Quote' AND active = 1)),
b AS (
    SELECT i.record_id FROM instances i JOIN core.records r
        ON r.object_name = i.object_name AND r.record_id = i.record_id AND r.deleted = 0)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_approval_approvers
-- rows: n int
-- Who may decide.
WITH a AS (
    SELECT p.id, u.id FROM metadata.settings p, metadata.settings u
     WHERE p.kind = 'process' AND p.active = 1 AND u.kind = 'permission' AND u.active = 1
       AND u.value = 'User'),
b AS (
    SELECT process_id, user_id FROM approvers)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_core_locks
-- rows: n int
-- A lock for each approval, released by its decision.
WITH a AS (
    SELECT instance_id, decision IS NOT NULL, decision FROM approval.instances),
b AS (
    SELECT instance_id, released, decision FROM main.locks)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_core_decisions
-- rows: n int
-- Decisions are written to the records.
WITH a AS (
    SELECT r.record_id, i.decision FROM approval.instances i JOIN main.records r
        ON r.object_name = i.object_name AND r.record_id = i.record_id AND r.deleted = 0
     WHERE i.decision IS NOT NULL),
b AS (
    SELECT record_id, json_extract(fields, '$.ApprovalStatus') FROM main.records
     WHERE deleted = 0 AND json_extract(fields, '$.ApprovalStatus') IS NOT NULL)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_core_models
-- rows: n int
-- The share model in use is the newest.
WITH a AS (
    SELECT object_name, version FROM sharing.share_models),
b AS (
    SELECT object_name, version FROM main.share_versions)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_core_caches
-- rows: n int
-- Each change of a setting dropped its cache once.
WITH a AS (
    SELECT CASE event_type WHEN 'MetadataChanged' THEN 'describe'
                WHEN 'AutomationConfigChanged' THEN 'validation'
                WHEN 'ApprovalConfigChanged' THEN 'approval' ELSE 'permission' END,
           coalesce(json_extract(payload, '$.subject.id'), json_extract(payload, '$.roleId'),
                    json_extract(payload, '$.groupId'), json_extract(payload, '$.territoryId'),
                    json_extract(payload, '$.objectName')), count(*)
      FROM (SELECT event_type, payload FROM metadata.outbox_events
            UNION ALL SELECT event_type, payload FROM sharing.outbox_events
             WHERE event_type = 'TerritoryAssignmentChanged') GROUP BY 1, 2),
b AS (
    SELECT kind, name, generation FROM main.caches)
SELECT (SELECT count(*) FROM (SELECT * FROM a EXCEPT SELECT * FROM b))
     + (SELECT count(*) FROM (SELECT * FROM b EXCEPT SELECT * FROM a));

-- name: check_missing
-- args: types text
-- rows: n int
-- Events of these types, each between blanks, that wait in an outbox, in the log
-- or with the server: for a consumer that has not processed them.
SELECT count(*) FROM (SELECT tenant_id, event_id, event_type FROM core.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM metadata.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM sharing.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM approval.outbox_events) o
 WHERE instr(:types, ' ' || o.event_type || ' ') > 0
   AND NOT EXISTS (SELECT 1 FROM main.processed_events p
                    WHERE p.tenant_id = o.tenant_id AND p.event_id = o.event_id);
