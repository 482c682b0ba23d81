-- What every database of the company has, beside the tables of libhikyaku
-- (lib/sql/sqlite.sql), which know what was processed and how new a record is.
--
-- SQLite has no procedures. What another database would do by one is here a
-- view that is inserted into, with a trigger that does it: INSERT INTO tell …

-- tenant, and the name of the service as a producer.
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

-- How often which verdict came, counted in the transaction of the event.
CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, n INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER IF NOT EXISTS count_verdict AFTER UPDATE OF verdict ON hikyaku_verdict BEGIN
    INSERT INTO counters
    VALUES (CASE NEW.verdict WHEN 'apply' THEN 'applied' WHEN 'seen' THEN 'repeated' ELSE NEW.verdict END, 1)
    ON CONFLICT DO UPDATE SET n = n + 1;
END;

-- The outbox: a row is written in the transaction of what it tells of, and
-- published_at is set when the log has it. The server's relay reads the same
-- table (outbox/sqlite.sql).
CREATE TABLE IF NOT EXISTS outbox_events(
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    event_id TEXT NOT NULL UNIQUE,
    tenant_id TEXT NOT NULL,
    event_type TEXT NOT NULL,
    schema_version INTEGER NOT NULL DEFAULT 1,
    partition_key TEXT NOT NULL,
    record_version TEXT,
    correlation_id TEXT,
    producer TEXT NOT NULL,
    payload TEXT NOT NULL,
    occurred_at TEXT NOT NULL,
    created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
    published_at TEXT);
CREATE INDEX IF NOT EXISTS outbox_unpublished ON outbox_events(id) WHERE published_at IS NULL;

-- The save that is being made: a time that no save of this database had before,
-- so that what is told to have happened later did; the version of what is saved,
-- which never stands still, whatever the clock does; and one correlationId.
CREATE TABLE IF NOT EXISTS save(
    one INTEGER PRIMARY KEY CHECK (one = 1),
    at_us INTEGER NOT NULL, version_us INTEGER NOT NULL, correlation_id TEXT NOT NULL,
    at TEXT AS (strftime('%Y-%m-%dT%H:%M:%fZ', at_us / 1000000.0, 'unixepoch')),
    version TEXT AS (strftime('%Y-%m-%dT%H:%M:%fZ', version_us / 1000000.0, 'unixepoch')));
CREATE VIEW IF NOT EXISTS saving AS SELECT 0 AS last_us;
CREATE TRIGGER IF NOT EXISTS saving_begins INSTEAD OF INSERT ON saving BEGIN
    INSERT OR REPLACE INTO save(one, at_us, version_us, correlation_id)
    SELECT 1, t.at_us, max(t.at_us, NEW.last_us + 1000), uuid()
      FROM (SELECT max(CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000,
                       coalesce((SELECT at_us FROM save), 0) + 1000) AS at_us) t;
END;

-- An event of the save, about a record (or a setting) of that name.
CREATE VIEW IF NOT EXISTS tell AS SELECT '' AS type, '' AS object, '' AS record, '' AS version, '' AS payload;
CREATE TRIGGER IF NOT EXISTS tell_event INSTEAD OF INSERT ON tell BEGIN
    INSERT INTO outbox_events(event_id, tenant_id, event_type, partition_key, record_version,
                              correlation_id, producer, payload, occurred_at)
    SELECT uuid(), t.value, NEW.type, NEW.object || ':' || t.value || ':' || NEW.record, NEW.version,
           s.correlation_id, json_object('service', p.value, 'instanceId', 'demo'), NEW.payload, s.at
      FROM save s, meta t, meta p WHERE t.name = 'tenant' AND p.name = 'service';
END;

-- A setting of the whole: a role, a member of a group, a rule, a process. The
-- newest effectiveAt counts, in whatever order they come.
CREATE TABLE IF NOT EXISTS settings(
    kind TEXT NOT NULL, id TEXT NOT NULL, object_name TEXT NOT NULL, value TEXT NOT NULL,
    active INTEGER NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (kind, id)) WITHOUT ROWID;
-- Where an event has it; `about` is the first part of its key, else the object's;
-- `last` is the last one, where it is not the id.
CREATE VIEW IF NOT EXISTS setting_kinds(type, kind, about, id, second, object, value, last) AS VALUES
    ('MetadataChanged', 'metadata', NULL, '$.objectName', '$.resourceId', '$.objectName', '$.changeType', '$.resourceId'),
    ('PermissionChanged', 'permission', 'Permission', '$.subject.id', NULL, NULL, '$.subject.type', NULL),
    ('RoleHierarchyChanged', 'role', 'Role', '$.roleId', NULL, NULL, '$.parentRoleId', NULL),
    ('GroupMemberChanged', 'group', 'Group', '$.groupId', '$.memberId', NULL, '$.memberType', NULL),
    ('TerritoryAssignmentChanged', 'territory', 'Territory', '$.territoryId', '$.assignedId', NULL, '$.assignmentType', NULL),
    ('SharingConfigChanged', 'config', NULL, '$.objectName', NULL, '$.objectName', '$.newOWD', 'sharing'),
    ('AutomationConfigChanged', 'automation', NULL, '$.automationId', NULL, '$.objectName', '$.automationName', NULL),
    ('ApprovalConfigChanged', 'process', NULL, '$.processId', NULL, '$.objectName', '$.processName', NULL);

-- What an event says of a setting. Types that are none change nothing.
CREATE VIEW IF NOT EXISTS setting_told AS SELECT '' AS type, '' AS payload, 0 AS at_us;
CREATE TRIGGER IF NOT EXISTS setting_taken INSTEAD OF INSERT ON setting_told BEGIN
    INSERT INTO settings
    SELECT k.kind, json_extract(NEW.payload, k.id) ||
           iif(k.second IS NULL, '', '/' || coalesce(json_extract(NEW.payload, k.second), '')),
           coalesce(json_extract(NEW.payload, k.object), ''), coalesce(json_extract(NEW.payload, k.value), ''),
           coalesce(NEW.payload ->> 'isActive', 1) AND NOT (
               c LIKE '%Removed' OR c LIKE '%Deleted' OR c LIKE '%Unassigned' OR c LIKE '%Deactivated'),
           NEW.at_us
      FROM setting_kinds k, (SELECT coalesce(NEW.payload ->> 'changeType', '') AS c)
     WHERE k.type = NEW.type
    ON CONFLICT DO UPDATE SET object_name = excluded.object_name, value = excluded.value,
                              active = excluded.active, at_us = excluded.at_us
     WHERE excluded.at_us >= at_us;
END;

-- A setting that is changed here: kept, and told.
CREATE VIEW IF NOT EXISTS setting_change AS SELECT '' AS type, '' AS payload;
CREATE TRIGGER IF NOT EXISTS setting_changed INSTEAD OF INSERT ON setting_change BEGIN
    INSERT INTO saving VALUES (0);
    INSERT INTO setting_told SELECT NEW.type, NEW.payload, at_us FROM save;
    INSERT INTO tell SELECT NEW.type, coalesce(k.about, (NEW.payload ->> 'objectName') || '#config'),
                            CASE WHEN k.last LIKE '$%' THEN json_extract(NEW.payload, k.last)
                                 ELSE coalesce(k.last, json_extract(NEW.payload, k.id)) END, NULL, json_set(NEW.payload, '$.effectiveAt', s.at)
      FROM setting_kinds k, save s WHERE k.type = NEW.type;
END;

-- What must be in an event for us to use it; `time` is a text that is a time.
CREATE VIEW IF NOT EXISTS shapes(type, members) AS VALUES
    ('RecordCreated', '{"objectName":"text","recordId":"text","ownerId":"text","fields":"object","changedFields":"array","recordVersion":"time"}'),
    ('RecordUpdated', '{"objectName":"text","recordId":"text","ownerId":"text","changedFields":"array","recordVersion":"time"}'),
    ('RecordDeleted', '{"objectName":"text","recordId":"text","deleted":"true","recordVersion":"time"}'),
    ('OwnerChanged', '{"objectName":"text","recordId":"text","oldOwnerId":"text","newOwnerId":"text","recordVersion":"time"}'),
    ('StageChanged', '{"opportunityId":"text","newStageName":"text","recordVersion":"time"}'),
    ('LeadConverted', '{"leadId":"text","convertedBy":"text","recordVersion":"time"}'),
    ('ApprovalSubmitted', '{"approvalInstanceId":"text","target":"object","submittedAt":"time","lockedFields":"array"}'),
    ('ApprovalDecided', '{"approvalInstanceId":"text","target":"object","decision":"text","decidedBy":"text","decidedAt":"time"}'),
    ('MetadataChanged', '{"changeType":"text","objectName":"text","resourceId":"text","effectiveAt":"time"}'),
    ('PermissionChanged', '{"changeType":"text","subject":"object","effectiveAt":"time"}'),
    ('SharingUpdated', '{"objectName":"text","recordId":"text","shareModelVersion":"integer","updatedAt":"time"}'),
    ('RoleHierarchyChanged', '{"changeType":"text","roleId":"text","effectiveAt":"time"}'),
    ('GroupMemberChanged', '{"changeType":"text","groupId":"text","memberId":"text","effectiveAt":"time"}'),
    ('TeamMemberChanged', '{"changeType":"text","objectName":"text","recordId":"text","userId":"text","accessLevel":"text","effectiveAt":"time"}'),
    ('TerritoryAssignmentChanged', '{"changeType":"text","territoryId":"text","effectiveAt":"time"}'),
    ('SharingConfigChanged', '{"changeType":"text","objectName":"text","effectiveAt":"time"}'),
    ('AutomationConfigChanged', '{"changeType":"text","objectName":"text","automationId":"text","effectiveAt":"time"}'),
    ('ApprovalConfigChanged', '{"changeType":"text","objectName":"text","processId":"text","effectiveAt":"time"}'),
    ('SharingRebuildCompleted', '{"objectName":"text","newVersion":"integer","completedAt":"time"}'),
    ('CampaignMemberChanged', '{"changeType":"text","campaignId":"text","memberId":"text","memberStatus":"text","recordVersion":"time"}');

-- name: wrong
-- The first member that the event lacks, or that is something else.
SELECT '/payload/' || m.key || ' must be a ' || m.value FROM shapes s, json_each(s.members) m
 WHERE s.type = :type
   AND (coalesce(json_type(:payload, '$.' || m.key), '') <> iif(m.value = 'time', 'text', m.value)
        OR (m.value = 'time' AND julianday(:payload ->> m.key) IS NULL)) LIMIT 1;

-- name: at
-- Since when it is so, as the event tells; else when it happened. All times are
-- microseconds since 1970.
SELECT CAST(round((julianday(coalesce(
           :payload ->> 'recordVersion', :payload ->> 'effectiveAt', :payload ->> 'submittedAt',
           :payload ->> 'decidedAt', :payload ->> 'updatedAt', :payload ->> 'completedAt', :occurred))
           - 2440587.5) * 86400000) AS INTEGER) * 1000;

-- name: version of Core
SELECT CAST(round((julianday(:core ->> 'recordVersion') - 2440587.5) * 86400000) AS INTEGER) * 1000;

-- name: keep
-- A word that is made up once.
INSERT INTO meta VALUES (:name, coalesce(:value, uuid())) ON CONFLICT DO NOTHING;
SELECT value FROM meta WHERE name = :name;

-- name: count
INSERT INTO counters VALUES (:name, 1) ON CONFLICT DO UPDATE SET n = n + 1;

-- name: counted
SELECT n FROM counters WHERE name = :name;

-- name: unpublished
-- Each as the envelope that it is; what it has not is left out.
SELECT id, json_set(json_patch('{}', json_object(
           'eventId', event_id, 'schemaVersion', schema_version, 'eventType', event_type,
           'occurredAt', occurred_at, 'tenantId', tenant_id, 'producer', json(producer),
           'correlationId', correlation_id,
           'sequence', json_object('partitionKey', partition_key, 'recordVersion', record_version))),
           '$.payload', json(payload))
  FROM outbox_events WHERE published_at IS NULL ORDER BY id LIMIT 200;

-- name: published
UPDATE outbox_events SET published_at = strftime('%Y-%m-%dT%H:%M:%fZ', 'now') WHERE id = :id;

-- name: told
SELECT count(*) FROM outbox_events;

-- name: waiting
SELECT count(*) FROM outbox_events WHERE published_at IS NULL;
