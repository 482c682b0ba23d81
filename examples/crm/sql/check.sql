-- How far a projection is from what it is made of. A check is two queries, whose
-- rows must be the same, or one that counts the rows that should not be. They run
-- in a consumer's database, beside those of the producers: core, sharing,
-- approval, metadata. They make sense when all events were taken.

-- check: Search settings
SELECT kind, id, value, active FROM metadata.settings WHERE kind IN ('metadata');
SELECT kind, id, value, active FROM main.settings WHERE kind IN ('metadata');

-- check: Reporting settings
SELECT kind, id, value, active FROM metadata.settings WHERE kind IN ('metadata');
SELECT kind, id, value, active FROM main.settings WHERE kind IN ('metadata');

-- check: Sharing settings
SELECT kind, id, value, active FROM metadata.settings WHERE kind IN ('metadata', 'permission', 'group', 'role', 'config');
SELECT kind, id, value, active FROM main.settings WHERE kind IN ('metadata', 'permission', 'group', 'role', 'config');

-- check: Automation settings
SELECT kind, id, value, active FROM metadata.settings WHERE kind IN ('metadata', 'automation');
SELECT kind, id, value, active FROM main.settings WHERE kind IN ('metadata', 'automation');

-- check: Approval settings
SELECT kind, id, value, active FROM metadata.settings WHERE kind IN ('permission', 'role', 'process');
SELECT kind, id, value, active FROM main.settings WHERE kind IN ('permission', 'role', 'process');

-- check: Search documents
-- A document for each live record, as it is now.
SELECT object_name, record_id, version_us, owner_id, json_extract(fields, '$.StageName'),
       coalesce(json_extract(fields, '$.IsConverted'), 0)
  FROM core.records WHERE deleted = 0;
SELECT object_name, record_id, version_us, owner_id, stage, hidden FROM documents;

-- check: Search approval labels
-- What waits for a decision, and what was decided.
SELECT r.record_id, coalesce(json_extract(r.fields, '$.ApprovalStatus'), 'PENDING')
  FROM core.records r WHERE r.object_name = 'Quote' AND r.deleted = 0
   AND EXISTS (SELECT 1 FROM approval.instances i WHERE i.record_id = r.record_id);
SELECT l.record_id, l.label FROM labels l JOIN documents d
    ON d.object_name = l.object_name AND d.record_id = l.record_id;

-- check: Search campaign members
-- The members of campaigns.
SELECT campaign_id, member_id, status FROM core.campaign_members WHERE removed = 0;
SELECT campaign_id, member_id, status FROM found_members;

-- check: Search visibility
-- The newest share model of each object.
SELECT object_name, version FROM sharing.share_models;
SELECT object_name, version FROM visibility WHERE record_id = '';

-- check: Sharing shares
-- Who may see what, worked out from Core and the settings.
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
 WHERE s.active = 1;
SELECT object_name, record_id, cause, subject_id, access FROM shares WHERE active = 1;

-- check: Sharing shares that are off
-- Shares that are off belong to deleted records.
SELECT count(*) FROM shares s WHERE s.active = 0
   AND NOT EXISTS (SELECT 1 FROM core.records r WHERE r.deleted = 1
                      AND r.object_name = s.object_name AND r.record_id = s.record_id);

-- check: Reporting pipeline
-- Each live opportunity with its stage and amount.
SELECT record_id, owner_id, json_extract(fields, '$.StageName'),
       coalesce(json_extract(fields, '$.Amount'), 0)
  FROM core.records WHERE object_name = 'Opportunity' AND deleted = 0;
SELECT record_id, owner_id, stage, amount FROM opportunities WHERE deleted = 0;

-- check: Reporting conversions
-- Leads that were converted and are still there.
SELECT record_id FROM core.records WHERE object_name = 'Lead' AND deleted = 0
   AND json_extract(fields, '$.IsConverted') = 1;
SELECT lead_id FROM conversions WHERE deleted = 0;

-- check: Reporting approvals
-- Approvals and their decisions.
SELECT instance_id, object_name, decision FROM approval.instances;
SELECT instance_id, object_name, decision FROM approvals;

-- check: Reporting campaigns
-- What campaigns brought.
SELECT campaign_id, member_id, status, responded, removed FROM core.campaign_members;
SELECT campaign_id, member_id, status, responded, removed FROM campaign_figures;

-- check: Reporting snapshots
-- The share model that a snapshot must be taken anew for.
SELECT object_name, version FROM sharing.share_models;
SELECT object_name, version FROM snapshots WHERE version > 0;

-- check: Automation messages
-- Events of a record's newest version that nobody was told of.
SELECT count(*) FROM core.outbox_events o
  JOIN core.records r ON r.record_id IN (json_extract(o.payload, '$.recordId'),
                                         json_extract(o.payload, '$.opportunityId'),
                                         json_extract(o.payload, '$.leadId'))
 WHERE o.event_type IN ('RecordDeleted', 'OwnerChanged', 'StageChanged', 'LeadConverted')
   AND CAST(strftime('%s', o.record_version) AS INTEGER) * 1000000
       + CAST(substr(o.record_version, 21, 3) AS INTEGER) * 1000 = r.version_us
   AND NOT EXISTS (SELECT 1 FROM notifications n WHERE n.event_id = o.event_id);

-- check: Automation approval messages
-- Submissions and decisions that nobody was told of.
SELECT count(*) FROM approval.outbox_events o
 WHERE NOT EXISTS (SELECT 1 FROM notifications n WHERE n.event_id = o.event_id);

-- check: Automation messages without event
-- Messages for events that were never taken.
SELECT count(*) FROM notifications n
 WHERE NOT EXISTS (SELECT 1 FROM processed_events p WHERE p.event_id = n.event_id);

-- check: Approval submissions
-- Large discounts of live quotes were submitted, and no others.
SELECT record_id FROM core.records WHERE object_name = 'Quote' AND deleted = 0
   AND json_extract(fields, '$.DiscountPercent') >= 20
   AND EXISTS (SELECT 1 FROM metadata.settings
                WHERE kind = 'process' AND object_name = 'Quote' AND active = 1);
SELECT i.record_id FROM instances i JOIN core.records r
    ON r.object_name = i.object_name AND r.record_id = i.record_id AND r.deleted = 0;

-- check: Approval approvers
-- Who may decide.
SELECT p.id, u.id FROM metadata.settings p, metadata.settings u
 WHERE p.kind = 'process' AND p.active = 1 AND u.kind = 'permission' AND u.active = 1
   AND u.value = 'User';
SELECT process_id, user_id FROM approvers;

-- check: Core locks
-- A lock for each approval, released by its decision.
SELECT instance_id, decision IS NOT NULL, decision FROM approval.instances;
SELECT instance_id, released, decision FROM main.locks;

-- check: Core decisions
-- Decisions are written to the records.
SELECT r.record_id, i.decision FROM approval.instances i JOIN main.records r
    ON r.object_name = i.object_name AND r.record_id = i.record_id AND r.deleted = 0
 WHERE i.decision IS NOT NULL;
SELECT record_id, json_extract(fields, '$.ApprovalStatus') FROM main.records
 WHERE deleted = 0 AND json_extract(fields, '$.ApprovalStatus') IS NOT NULL;

-- check: Core share models
-- The share model in use is the newest.
SELECT object_name, version FROM sharing.share_models;
SELECT object_name, version FROM main.share_versions;

-- check: Core caches
-- Each change of a setting dropped its cache once.
SELECT CASE event_type WHEN 'MetadataChanged' THEN 'describe'
            WHEN 'AutomationConfigChanged' THEN 'validation'
            WHEN 'ApprovalConfigChanged' THEN 'approval' ELSE 'permission' END,
       coalesce(json_extract(payload, '$.subject.id'), json_extract(payload, '$.roleId'),
                json_extract(payload, '$.groupId'), json_extract(payload, '$.territoryId'),
                json_extract(payload, '$.objectName')), count(*)
  FROM (SELECT event_type, payload FROM metadata.outbox_events
        UNION ALL SELECT event_type, payload FROM sharing.outbox_events
         WHERE event_type = 'TerritoryAssignmentChanged') GROUP BY 1, 2;
SELECT kind, name, generation FROM main.caches;

-- name: missing
-- Events of these types, each between blanks, that wait in an outbox, in the log
-- or with the server: for a consumer that has not processed them.
SELECT count(*) FROM (SELECT tenant_id, event_id, event_type FROM core.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM metadata.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM sharing.outbox_events
                      UNION ALL SELECT tenant_id, event_id, event_type FROM approval.outbox_events) o
 WHERE instr(:types, ' ' || o.event_type || ' ') > 0
   AND NOT EXISTS (SELECT 1 FROM main.processed_events p
                    WHERE p.tenant_id = o.tenant_id AND p.event_id = o.event_id);
