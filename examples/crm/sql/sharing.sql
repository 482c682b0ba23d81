-- Sharing: who may see a record, and why: by its owner, its team, a group, a
-- role, a territory, or what the object is open to.
CREATE TABLE IF NOT EXISTS known_records(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, owner_id TEXT NOT NULL,
    version_us INTEGER NOT NULL, active INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS team(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, user_id TEXT NOT NULL,
    access_level TEXT NOT NULL, active INTEGER NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id, user_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS shares(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, cause TEXT NOT NULL,
    subject_type TEXT NOT NULL, subject_id TEXT NOT NULL, access TEXT NOT NULL,
    version_us INTEGER NOT NULL, active INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id, cause, subject_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS share_models(
    object_name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
-- The demo's policy: the owner has all, the team what it was given; groups see
-- opportunities, roles and territories see accounts, and an object that is not
-- private is seen by everyone.
CREATE VIEW IF NOT EXISTS wanted AS
SELECT object_name, record_id, 'owner' AS cause, 'User' AS subject_type, owner_id AS subject_id,
       'All' AS access
  FROM known_records WHERE active = 1
UNION ALL
SELECT t.object_name, t.record_id, 'team', 'User', t.user_id, t.access_level
  FROM team t JOIN known_records r
    ON r.object_name = t.object_name AND r.record_id = t.record_id
 WHERE t.active = 1 AND r.active = 1
UNION ALL
SELECT r.object_name, r.record_id, s.kind,
       CASE s.kind WHEN 'role' THEN 'Role' WHEN 'config' THEN 'Everyone' ELSE s.value END, s.id, 'Read'
  FROM settings s JOIN known_records r ON r.active = 1
   AND ((s.kind = 'group' AND r.object_name = 'Opportunity')
        OR (s.kind IN ('role', 'territory') AND r.object_name = 'Account')
        OR (s.kind = 'config' AND r.object_name = s.object_name AND s.value NOT IN ('', 'Private')))
 WHERE s.active = 1;
-- The shares that a setting is a reason to make anew: those of the object (NULL:
-- its own) for the cause. The rights of a user open no record.
CREATE VIEW IF NOT EXISTS opens(kind, value, object_name, cause) AS VALUES
    ('group', NULL, 'Opportunity', 'group'), ('role', NULL, 'Account', 'role'),
    ('territory', NULL, 'Account', 'territory'), ('config', NULL, NULL, 'config'),
    ('permission', 'Role', 'Account', 'role'), ('permission', 'Group', 'Opportunity', 'group');

-- Shares are made anew once for each version and cause: by a row here. Those of
-- a record, all of them or the team's, are told by SharingUpdated; those of an
-- object, where record_id is the setting, by SharingRebuildCompleted.
CREATE TABLE IF NOT EXISTS generations(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, cause TEXT NOT NULL,
    version_us INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id, cause, version_us)) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS share_record AFTER INSERT ON generations
WHEN NEW.cause NOT IN (SELECT cause FROM opens) BEGIN
    DELETE FROM shares WHERE object_name = NEW.object_name AND record_id = NEW.record_id
       AND (NEW.cause = 'owner' OR cause = 'team');
    INSERT INTO shares SELECT w.*, NEW.version_us, 1 FROM wanted w
     WHERE w.object_name = NEW.object_name AND w.record_id = NEW.record_id
       AND (NEW.cause = 'owner' OR w.cause = 'team');
    INSERT INTO saving VALUES (0);
    INSERT INTO tell SELECT 'SharingUpdated', NEW.object_name, NEW.record_id, NULL, json_object(
        'objectName', NEW.object_name, 'recordId', NEW.record_id, 'shareModelVersion',
        coalesce((SELECT version FROM share_models WHERE object_name = NEW.object_name), 0), 'updatedAt', at)
      FROM save;
END;
CREATE TRIGGER IF NOT EXISTS share_object AFTER INSERT ON generations
WHEN NEW.cause IN (SELECT cause FROM opens) BEGIN
    DELETE FROM shares WHERE object_name = NEW.object_name AND cause = NEW.cause;
    INSERT INTO shares SELECT w.*, NEW.version_us, 1 FROM wanted w
     WHERE w.object_name = NEW.object_name AND w.cause = NEW.cause;
    INSERT INTO share_models VALUES (NEW.object_name, 1) ON CONFLICT DO UPDATE SET version = version + 1;
    INSERT INTO saving VALUES (0);
    INSERT INTO tell SELECT 'SharingRebuildCompleted', NEW.object_name || '#config', 'sharing', NULL, json_object(
        'rebuildJobId', uuid(), 'objectName', NEW.object_name, 'scope', 'full',
        'oldVersion', m.version - 1, 'newVersion', m.version,
        'recordsProcessed', (SELECT count(*) FROM known_records WHERE object_name = NEW.object_name AND active = 1),
        'completedAt', s.at) FROM share_models m, save s WHERE m.object_name = NEW.object_name;
END;

-- on: RecordCreated RecordUpdated OwnerChanged
-- The events of one save say the same: the first that comes makes the shares,
-- of all causes, since it may be the first word of the record that is heard.
INSERT INTO known_records
VALUES (:object, :record, coalesce(:payload ->> 'newOwnerId', :payload ->> 'ownerId'), :version, 1)
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, version_us = excluded.version_us, active = 1
 WHERE excluded.version_us >= version_us + (active = 0);
INSERT INTO generations VALUES (:object, :record, 'owner', :version) ON CONFLICT DO NOTHING;

-- on: RecordDeleted
INSERT INTO known_records VALUES (:object, :record, '', :version, 0)
ON CONFLICT DO UPDATE SET active = 0, version_us = excluded.version_us;
UPDATE shares SET active = 0 WHERE object_name = :object AND record_id = :record;

-- on: TeamMemberChanged
INSERT INTO team VALUES (:object, :record, :payload ->> 'userId', :payload ->> 'accessLevel',
                         :payload ->> 'changeType' <> 'MemberRemoved', :at)
ON CONFLICT DO UPDATE SET access_level = excluded.access_level, active = excluded.active,
                          at_us = excluded.at_us
 WHERE excluded.at_us >= at_us;
INSERT INTO generations VALUES (:object, :record, 'team:' || (:payload ->> 'userId'), :at) ON CONFLICT DO NOTHING;

-- on: GroupMemberChanged RoleHierarchyChanged TerritoryAssignmentChanged SharingConfigChanged PermissionChanged MetadataChanged
-- No two settings of a kind have one time. One that is older than what is known
-- was not taken, and is no reason.
INSERT INTO setting_told VALUES (:type, :payload, :at);
INSERT INTO generations
SELECT coalesce(o.object_name, s.object_name), s.id, o.cause, :at
  FROM setting_kinds k JOIN settings s ON s.kind = k.kind AND s.at_us = :at
  JOIN opens o ON o.kind = s.kind AND coalesce(o.value, s.value) = s.value
 WHERE k.type = :type
ON CONFLICT DO NOTHING;

-- name: size
SELECT printf('%d shares, %d off', coalesce(sum(active), 0), coalesce(sum(active = 0), 0)) FROM shares;
