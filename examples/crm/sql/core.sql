-- Core, where records are saved. version_us is the record's system_modstamp.
--
-- A save is one INSERT into creation, change, deletion, conversion, team_change
-- or campaign_change: it checks, changes the record and tells of it, all or
-- nothing. All events of a save have one recordVersion and one correlationId.
CREATE TABLE IF NOT EXISTS records(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, owner_id TEXT NOT NULL,
    fields TEXT NOT NULL, version_us INTEGER NOT NULL, deleted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (object_name, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS team_members(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, user_id TEXT NOT NULL,
    team_role TEXT NOT NULL, access_level TEXT NOT NULL,
    PRIMARY KEY (object_name, record_id, user_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS campaign_members(
    campaign_id TEXT NOT NULL, member_id TEXT NOT NULL, member_type TEXT NOT NULL,
    status TEXT NOT NULL, responded INTEGER NOT NULL, version_us INTEGER NOT NULL,
    removed INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, member_id)) WITHOUT ROWID;
-- What Core keeps as a consumer: locks of approvals, caches that were dropped,
-- and which share model counts.
CREATE TABLE IF NOT EXISTS locks(
    instance_id TEXT PRIMARY KEY, object_name TEXT NOT NULL, record_id TEXT NOT NULL,
    fields TEXT NOT NULL, released INTEGER NOT NULL, decision TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS caches(
    kind TEXT NOT NULL, name TEXT NOT NULL, generation INTEGER NOT NULL,
    PRIMARY KEY (kind, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS share_versions(
    object_name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;

-- Fields whose values no event shows; that they changed, it does.
CREATE VIEW IF NOT EXISTS secret(field) AS
VALUES ('Amount'), ('DiscountPercent'), ('Email'), ('GrandTotal'), ('Phone');

-- A record is created. `born` is the same inside of a save that has begun.
CREATE VIEW IF NOT EXISTS born AS
SELECT '' AS object_name, '' AS record_id, '' AS owner_id, '' AS fields;
CREATE TRIGGER IF NOT EXISTS born_saved INSTEAD OF INSERT ON born BEGIN
    SELECT RAISE(ABORT, 'fields must be a JSON object') WHERE json_type(NEW.fields) <> 'object';
    INSERT INTO records SELECT NEW.object_name, NEW.record_id, NEW.owner_id, NEW.fields, version_us, 0 FROM save;
    INSERT INTO tell SELECT 'RecordCreated', NEW.object_name, NEW.record_id, s.version, json_object(
        'objectName', NEW.object_name, 'recordId', NEW.record_id, 'ownerId', NEW.owner_id,
        'fields', json((SELECT json_group_object(key, json(NEW.fields -> key))
                          FROM json_each(NEW.fields) WHERE key NOT IN secret)),
        'changedFields', json((SELECT json_group_array(key) FROM json_each(NEW.fields))),
        'recordVersion', s.version) FROM save s;
END;
CREATE VIEW IF NOT EXISTS creation AS SELECT * FROM born;
CREATE TRIGGER IF NOT EXISTS creation_saved INSTEAD OF INSERT ON creation BEGIN
    INSERT INTO saving VALUES (0);
    INSERT INTO born VALUES (NEW.object_name, NEW.record_id, NEW.owner_id, NEW.fields);
END;

-- A record is changed, by a patch of its fields and perhaps another owner. The
-- events come first, while the record is as it was.
CREATE VIEW IF NOT EXISTS changed AS
SELECT '' AS object_name, '' AS record_id, '' AS changes, '' AS owner_id;
CREATE TRIGGER IF NOT EXISTS changed_saved INSTEAD OF INSERT ON changed BEGIN
    INSERT INTO tell SELECT 'RecordUpdated', r.object_name, r.record_id, s.version, json_object(
        'objectName', r.object_name, 'recordId', r.record_id, 'ownerId', coalesce(NEW.owner_id, r.owner_id),
        'changedFields', json((SELECT json_group_array(key) FROM json_each(NEW.changes))),
        'fieldChanges', json((SELECT json_group_object(key, json_object(
                                'old', json(coalesce(r.fields -> key, 'null')), 'new', json(NEW.changes -> key)))
                                FROM json_each(NEW.changes) WHERE key NOT IN secret)),
        'recordVersion', s.version)
      FROM records r, save s WHERE r.object_name = NEW.object_name AND r.record_id = NEW.record_id;
    INSERT INTO tell SELECT 'OwnerChanged', r.object_name, r.record_id, s.version, json_object(
        'objectName', r.object_name, 'recordId', r.record_id,
        'oldOwnerId', r.owner_id, 'newOwnerId', NEW.owner_id, 'recordVersion', s.version)
      FROM records r, save s WHERE r.object_name = NEW.object_name AND r.record_id = NEW.record_id
       AND NEW.owner_id <> r.owner_id;
    INSERT INTO tell SELECT 'StageChanged', 'Opportunity', o.record_id, s.version, json_object(
        'opportunityId', o.record_id, 'accountId', o.account, 'closeDate', o.closes,
        'oldStageName', o.old, 'oldIsClosed', json(iif(o.old LIKE 'Closed %', 'true', 'false')),
        'oldIsWon', json(iif(o.old = 'Closed Won', 'true', 'false')),
        'newStageName', o.new, 'newIsClosed', json(iif(o.new LIKE 'Closed %', 'true', 'false')),
        'newIsWon', json(iif(o.new = 'Closed Won', 'true', 'false')), 'recordVersion', s.version)
      FROM save s, (SELECT record_id, fields ->> 'AccountId' AS account, fields ->> 'CloseDate' AS closes,
                           fields ->> 'StageName' AS old, NEW.changes ->> 'StageName' AS new
                      FROM records WHERE object_name = 'Opportunity' AND record_id = NEW.record_id) o
     WHERE NEW.object_name = 'Opportunity' AND o.new <> o.old;
    UPDATE records SET owner_id = coalesce(NEW.owner_id, owner_id), fields = json_patch(fields, NEW.changes),
                       version_us = (SELECT version_us FROM save)
     WHERE object_name = NEW.object_name AND record_id = NEW.record_id;
END;
CREATE VIEW IF NOT EXISTS change AS SELECT * FROM changed;
CREATE TRIGGER IF NOT EXISTS change_saved INSTEAD OF INSERT ON change BEGIN
    SELECT RAISE(ABORT, 'changes must be a JSON object') WHERE json_type(NEW.changes) <> 'object';
    SELECT RAISE(ABORT, 'there is no such record') WHERE NOT EXISTS (
        SELECT 1 FROM records WHERE object_name = NEW.object_name AND record_id = NEW.record_id AND deleted = 0);
    SELECT RAISE(ABORT, 'a field is locked by an approval until it is decided') WHERE EXISTS (
        SELECT 1 FROM locks l, json_each(l.fields) f JOIN json_each(NEW.changes) c ON c.key = f.value
         WHERE l.object_name = NEW.object_name AND l.record_id = NEW.record_id AND l.released = 0);
    INSERT INTO saving SELECT version_us FROM records
     WHERE object_name = NEW.object_name AND record_id = NEW.record_id;
    INSERT INTO changed VALUES (NEW.object_name, NEW.record_id, NEW.changes, NEW.owner_id);
END;

CREATE VIEW IF NOT EXISTS deletion AS SELECT '' AS object_name, '' AS record_id;
CREATE TRIGGER IF NOT EXISTS deletion_saved INSTEAD OF INSERT ON deletion BEGIN
    SELECT RAISE(ABORT, 'there is no such record') WHERE NOT EXISTS (
        SELECT 1 FROM records WHERE object_name = NEW.object_name AND record_id = NEW.record_id AND deleted = 0);
    INSERT INTO saving SELECT version_us FROM records
     WHERE object_name = NEW.object_name AND record_id = NEW.record_id;
    UPDATE records SET deleted = 1, version_us = (SELECT version_us FROM save)
     WHERE object_name = NEW.object_name AND record_id = NEW.record_id;
    DELETE FROM team_members WHERE object_name = NEW.object_name AND record_id = NEW.record_id;
    INSERT INTO tell SELECT 'RecordDeleted', NEW.object_name, NEW.record_id, version, json_object(
        'objectName', NEW.object_name, 'recordId', NEW.record_id, 'deleted', json('true'),
        'recordVersion', version) FROM save;
END;

-- A lead becomes an account, a contact and an opportunity.
CREATE VIEW IF NOT EXISTS conversion AS
SELECT '' AS lead_id, '' AS by_id, '' AS account_id, '' AS contact_id, '' AS opportunity_id;
CREATE TRIGGER IF NOT EXISTS conversion_saved INSTEAD OF INSERT ON conversion BEGIN
    INSERT INTO saving SELECT version_us FROM records WHERE object_name = 'Lead' AND record_id = NEW.lead_id;
    INSERT INTO born SELECT 'Account', NEW.account_id, owner_id, json_object('Name', fields ->> 'Name')
      FROM records WHERE object_name = 'Lead' AND record_id = NEW.lead_id;
    INSERT INTO born SELECT 'Contact', NEW.contact_id, owner_id, json_object(
        'Name', fields ->> 'Name', 'Email', fields ->> 'Email', 'AccountId', NEW.account_id)
      FROM records WHERE object_name = 'Lead' AND record_id = NEW.lead_id;
    INSERT INTO born SELECT 'Opportunity', NEW.opportunity_id, owner_id, json_object(
        'Name', fields ->> 'Name', 'StageName', 'Qualification', 'Amount', 1000,
        'CloseDate', '2026-12-31', 'AccountId', NEW.account_id)
      FROM records WHERE object_name = 'Lead' AND record_id = NEW.lead_id;
    INSERT INTO changed VALUES ('Lead', NEW.lead_id, '{"IsConverted":true}', NULL);
    INSERT INTO tell SELECT 'LeadConverted', 'Lead', NEW.lead_id, version, json_object(
        'leadId', NEW.lead_id, 'convertedAt', version, 'convertedBy', NEW.by_id, 'accountId', NEW.account_id,
        'contactId', NEW.contact_id, 'opportunityId', NEW.opportunity_id, 'recordVersion', version) FROM save;
END;

-- Teams of records; `change` is MemberAdded, MemberUpdated or MemberRemoved.
CREATE VIEW IF NOT EXISTS team_change AS
SELECT '' AS object_name, '' AS record_id, '' AS user_id, '' AS change;
CREATE TRIGGER IF NOT EXISTS team_changed INSTEAD OF INSERT ON team_change BEGIN
    INSERT INTO saving VALUES (0);
    INSERT OR REPLACE INTO team_members
    SELECT NEW.object_name, NEW.record_id, NEW.user_id, 'Sales Rep',
           iif(NEW.change = 'MemberUpdated', 'Edit', 'Read') WHERE NEW.change <> 'MemberRemoved';
    DELETE FROM team_members WHERE NEW.change = 'MemberRemoved' AND object_name = NEW.object_name
       AND record_id = NEW.record_id AND user_id = NEW.user_id;
    INSERT INTO tell SELECT 'TeamMemberChanged', NEW.object_name, NEW.record_id, NULL, json_object(
        'changeType', NEW.change, 'objectName', NEW.object_name, 'recordId', NEW.record_id,
        'userId', NEW.user_id, 'teamRole', 'Sales Rep',
        'accessLevel', iif(NEW.change = 'MemberUpdated', 'Edit', 'Read'), 'effectiveAt', at) FROM save;
END;

-- Members of campaigns; `change` is MemberAdded, MemberRemoved or Responded.
CREATE VIEW IF NOT EXISTS campaign_change AS SELECT '' AS campaign_id, '' AS member_id, '' AS change;
CREATE TRIGGER IF NOT EXISTS campaign_changed INSTEAD OF INSERT ON campaign_change BEGIN
    INSERT INTO saving SELECT coalesce(max(version_us), 0) FROM campaign_members
     WHERE campaign_id = NEW.campaign_id AND member_id = NEW.member_id;
    INSERT OR REPLACE INTO campaign_members
    SELECT NEW.campaign_id, NEW.member_id, 'Lead', iif(NEW.change = 'Responded', 'Responded', 'Registered'),
           NEW.change = 'Responded', version_us, NEW.change = 'MemberRemoved' FROM save;
    INSERT INTO tell SELECT 'CampaignMemberChanged', 'Campaign', NEW.campaign_id || '/' || NEW.member_id,
        version, json_object('changeType', NEW.change, 'campaignId', NEW.campaign_id, 'campaignName', 'Spring',
        'memberType', 'Lead', 'memberId', NEW.member_id,
        'memberStatus', iif(NEW.change = 'Responded', 'Responded', 'Registered'),
        'hasResponded', json(iif(NEW.change = 'Responded', 'true', 'false')), 'recordVersion', version) FROM save;
END;

-- on: ApprovalSubmitted
-- Nothing when the decision came first.
INSERT INTO locks VALUES (:payload ->> 'approvalInstanceId', :object, :record, :payload -> 'lockedFields', 0, NULL)
ON CONFLICT DO NOTHING;

-- on: ApprovalDecided
-- The decision becomes a field of the record, if that is still there: a save.
INSERT INTO locks
VALUES (:payload ->> 'approvalInstanceId', :object, :record, '[]', 1, :payload ->> 'decision')
ON CONFLICT DO UPDATE SET released = 1, decision = excluded.decision;
INSERT INTO change
SELECT object_name, record_id, json_object('ApprovalStatus', :payload ->> 'decision'), NULL FROM records
 WHERE object_name = :object AND record_id = :record AND deleted = 0;

-- on: MetadataChanged PermissionChanged RoleHierarchyChanged GroupMemberChanged TerritoryAssignmentChanged SharingConfigChanged AutomationConfigChanged ApprovalConfigChanged
INSERT INTO caches
VALUES (CASE :type WHEN 'MetadataChanged' THEN 'describe' WHEN 'AutomationConfigChanged' THEN 'validation'
                   WHEN 'ApprovalConfigChanged' THEN 'approval' ELSE 'permission' END,
        coalesce(:payload ->> '$.subject.id', :payload ->> 'roleId', :payload ->> 'groupId',
                 :payload ->> 'territoryId', :payload ->> 'objectName'), 1)
ON CONFLICT DO UPDATE SET generation = generation + 1;

-- on: SharingRebuildCompleted
-- Never back to an older model.
INSERT INTO share_versions VALUES (:payload ->> 'objectName', :payload ->> 'newVersion')
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);

-- name: read
-- A record whole, with what no event shows.
SELECT json_object('objectName', object_name, 'recordId', record_id, 'ownerId', owner_id,
                   'recordVersion', strftime('%Y-%m-%dT%H:%M:%fZ', version_us / 1000000.0, 'unixepoch'),
                   'fields', json(fields))
  FROM records WHERE object_name = :object AND record_id = :record AND deleted = 0;

-- name: size
SELECT printf('%d records, %d deleted', coalesce(sum(deleted = 0), 0), coalesce(sum(deleted), 0)) FROM records;
