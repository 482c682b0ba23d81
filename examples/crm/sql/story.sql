-- What happens in the company: settings are made, records come, change hands,
-- move on, are converted and deleted. What happens is the same for the same
-- numbers; ids and times are new. Each INSERT is a save of its own. Between them
-- all types of events occur but for those that Sharing and Approval make.
--
-- :n is the how-manieth of its kind, :id its id, :owner, :next and :third people.

-- name: settings of Metadata
INSERT INTO setting_change VALUES ('MetadataChanged',
    '{"changeType":"FieldAdded","objectName":"Opportunity","resourceId":"NextStep"}');
INSERT INTO setting_change VALUES ('PermissionChanged',
    '{"changeType":"PermissionSetUpdated","subject":{"type":"User","id":"5a1e5000-0000-4000-8000-000000000001"}}');
INSERT INTO setting_change VALUES ('PermissionChanged',
    '{"changeType":"PermissionSetUpdated","subject":{"type":"User","id":"5a1e5000-0000-4000-8000-000000000002"}}');
INSERT INTO setting_change VALUES ('RoleHierarchyChanged',
    '{"changeType":"RoleCreated","roleId":"201e0000-0000-4000-8000-000000000001","roleName":"Sales Manager"}');
INSERT INTO setting_change VALUES ('RoleHierarchyChanged',
    '{"changeType":"ParentChanged","roleId":"201e0000-0000-4000-8000-000000000001","roleName":"Sales Manager",
      "parentRoleId":"201e0000-0000-4000-8000-000000000002"}');
INSERT INTO setting_change VALUES ('GroupMemberChanged',
    '{"changeType":"MemberAdded","groupId":"9b011100-0000-4000-8000-000000000001","groupName":"Sales Team",
      "groupType":"public","memberType":"User","memberId":"5a1e5000-0000-4000-8000-000000000001"}');
INSERT INTO setting_change VALUES ('GroupMemberChanged',
    '{"changeType":"MemberAdded","groupId":"9b011100-0000-4000-8000-000000000001","groupName":"Sales Team",
      "groupType":"public","memberType":"User","memberId":"5a1e5000-0000-4000-8000-000000000002"}');
INSERT INTO setting_change VALUES ('GroupMemberChanged',
    '{"changeType":"MemberRemoved","groupId":"9b011100-0000-4000-8000-000000000001","groupName":"Sales Team",
      "groupType":"public","memberType":"User","memberId":"5a1e5000-0000-4000-8000-000000000002"}');
INSERT INTO setting_change VALUES ('SharingConfigChanged',
    '{"changeType":"OWDChanged","objectName":"Contact","oldOWD":"Private","newOWD":"ReadOnly"}');
INSERT INTO setting_change VALUES ('AutomationConfigChanged',
    '{"changeType":"WorkflowRuleCreated","objectName":"Contact","automationType":"WorkflowRule",
      "automationId":"20130000-0000-4000-8000-000000000001","automationName":"WF-CON-01","isActive":true}');
INSERT INTO setting_change VALUES ('ApprovalConfigChanged',
    '{"changeType":"ProcessCreated","objectName":"Quote","processId":"920ce550-0000-4000-8000-000000000001",
      "processName":"Quote Discount Approval","isActive":true}');

-- name: settings of Sharing
INSERT INTO setting_change VALUES ('TerritoryAssignmentChanged',
    '{"changeType":"UserAssigned","territoryId":"7e221700-0000-4000-8000-000000000001",
      "territoryName":"Japan - West","assignmentType":"User","assignedId":"5a1e5000-0000-4000-8000-000000000003"}');

-- name: an id
SELECT uuid();

-- name: Opportunity
-- Owner and stage in one save: three events with one version.
INSERT INTO creation VALUES ('Opportunity', :id, :owner, json_object(
    'Name', 'Deal ' || :n, 'StageName', 'Qualification', 'CloseDate', '2026-12-31', 'Amount', (:n + 1) * 100,
    'AccountId', '201e0000-0000-4000-8000-000000000002'));
INSERT INTO change VALUES ('Opportunity', :id, json_object('Amount', (:n + 1) * 110), NULL);
INSERT INTO change VALUES ('Opportunity', :id, '{"StageName":"Negotiation"}', :next);
INSERT INTO change SELECT 'Opportunity', :id,
    json_object('StageName', iif(:n % 3 = 1, 'Closed Won', 'Closed Lost')), NULL WHERE :n % 3 > 0;

-- name: Account
-- Two of three teams keep their member.
INSERT INTO creation VALUES ('Account', :id, :owner,
    json_object('Name', 'Company ' || :n, 'Phone', printf('+81-3-%04d', :n)));
INSERT INTO team_change VALUES ('Account', :id, :next, 'MemberAdded');
INSERT INTO team_change SELECT 'Account', :id, :next, 'MemberUpdated' WHERE :n % 3 >= 1;
INSERT INTO team_change SELECT 'Account', :id, :next, 'MemberRemoved' WHERE :n % 3 = 2;
INSERT INTO change SELECT 'Account', :id, '{"Rating":"Hot"}', :third WHERE :n % 2 = 1;

-- name: Lead
INSERT INTO creation VALUES ('Lead', :id, :owner,
    json_object('Name', 'Lead ' || :n, 'Email', printf('lead%d@example.com', :n)));
INSERT INTO campaign_change SELECT value, :id, 'MemberAdded' FROM meta WHERE name = 'campaign';
INSERT INTO campaign_change SELECT value, :id, 'MemberRemoved' FROM meta WHERE name = 'campaign' AND :n % 3 = 1;
INSERT INTO campaign_change SELECT value, :id, 'Responded' FROM meta WHERE name = 'campaign' AND :n % 3 = 2;
INSERT INTO conversion SELECT :id, :owner, uuid(), uuid(), uuid() WHERE :n % 3 = 2;

-- name: Quote
INSERT INTO creation VALUES ('Quote', :id, :owner,
    json_object('Name', 'Quote ' || :n, 'DiscountPercent', :n * 7 % 40, 'GrandTotal', :n * 1000));

-- name: Contact
INSERT INTO creation VALUES ('Contact', :id, :owner,
    json_object('Name', 'Person ' || :n, 'Email', printf('p%d@example.com', :n)));
INSERT INTO change VALUES ('Contact', :id, '{"Title":"Buyer"}', NULL);

-- name: delete one
-- Which one does not matter: live ones by id, going round.
INSERT INTO deletion
SELECT object_name, record_id FROM records
 WHERE object_name = :object AND deleted = 0 AND coalesce(fields ->> 'IsConverted', 0) = 0
 ORDER BY record_id LIMIT 1
OFFSET :n % max(1, (SELECT count(*) FROM records WHERE object_name = :object AND deleted = 0
                       AND coalesce(fields ->> 'IsConverted', 0) = 0));

-- name: old news
-- A slow part of Core writes events of versions long past once more, under new
-- ids, also of a record that is deleted. Nobody may believe them.
BEGIN IMMEDIATE;
INSERT INTO saving VALUES (0);
INSERT INTO tell
SELECT e.type, 'Opportunity', r.record_id, v.version,
       json_patch(json_object('objectName', 'Opportunity', 'recordId', r.record_id, 'recordVersion', v.version), e.more)
  FROM (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0 - 3600, 'unixepoch') AS version FROM save) v,
       (SELECT min(record_id) AS record_id FROM records WHERE object_name = 'Opportunity' GROUP BY deleted) r,
       (SELECT 'RecordUpdated' AS type, '{"ownerId":"201e0000-0000-4000-8000-000000000002","changedFields":["StageName"]}' AS more
        UNION ALL SELECT 'OwnerChanged', '{"oldOwnerId":"201e0000-0000-4000-8000-000000000002","newOwnerId":"201e0000-0000-4000-8000-000000000002"}'
        UNION ALL SELECT 'RecordCreated', '{"ownerId":"201e0000-0000-4000-8000-000000000002","fields":{},"changedFields":[]}') e;
COMMIT;
