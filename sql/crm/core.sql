-- Core, where records are saved. version_us is the record's system_modstamp.
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

-- name: record_get
-- args: object text, record text
-- rows: owner_id text, fields text, version_us int, deleted int
SELECT owner_id, fields, version_us, deleted FROM records
 WHERE object_name = :object AND record_id = :record;

-- name: record_add
-- args: object text, record text, owner text, fields text, version int
INSERT INTO records(object_name, record_id, owner_id, fields, version_us)
VALUES (:object, :record, :owner, :fields, :version);

-- name: record_change
-- args: object text, record text, owner text, changes text, version int
UPDATE records SET owner_id = :owner, fields = json_patch(fields, :changes), version_us = :version
 WHERE object_name = :object AND record_id = :record;

-- name: record_delete
-- args: object text, record text, version int
UPDATE records SET deleted = 1, version_us = :version
 WHERE object_name = :object AND record_id = :record;

-- name: record_any
-- args: object text, nth int
-- rows: record_id text, owner_id text
-- Live ones by id, going round.
SELECT record_id, owner_id FROM records r
 WHERE object_name = :object AND deleted = 0
   AND coalesce(json_extract(fields, '$.IsConverted'), 0) = 0
 ORDER BY record_id
 LIMIT 1 OFFSET :nth % max(1, (SELECT count(*) FROM records
                                WHERE object_name = :object AND deleted = 0
                                  AND coalesce(json_extract(fields, '$.IsConverted'), 0) = 0));

-- name: record_two
-- rows: record_id text
-- A live opportunity and a deleted one.
SELECT * FROM (SELECT record_id FROM records WHERE object_name = 'Opportunity' AND deleted = 0 LIMIT 1)
UNION ALL
SELECT * FROM (SELECT record_id FROM records WHERE object_name = 'Opportunity' AND deleted = 1 LIMIT 1);

-- name: record_count
-- rows: live int, deleted int
SELECT coalesce(sum(deleted = 0), 0), coalesce(sum(deleted), 0) FROM records;

-- name: locked_field
-- args: object text, record text, changes text
-- rows: field text, instance_id text
-- The first field of `changes` that an approval has locked.
SELECT c.key, l.instance_id FROM locks l, json_each(:changes) c
 WHERE l.object_name = :object AND l.record_id = :record AND l.released = 0
   AND EXISTS (SELECT 1 FROM json_each(l.fields) f WHERE f.value = c.key) LIMIT 1;

-- name: member_put
-- args: object text, record text, user text, role text, access text
INSERT OR REPLACE INTO team_members VALUES (:object, :record, :user, :role, :access);

-- name: member_drop
-- args: object text, record text, user text
DELETE FROM team_members WHERE object_name = :object AND record_id = :record AND user_id = :user;

-- name: members_drop
-- args: object text, record text
DELETE FROM team_members WHERE object_name = :object AND record_id = :record;

-- name: campaign_version
-- args: campaign text, member text
-- rows: version_us int
SELECT version_us FROM campaign_members WHERE campaign_id = :campaign AND member_id = :member;

-- name: campaign_put
-- args: campaign text, member text, type text, status text, responded int, version int, removed int
INSERT OR REPLACE INTO campaign_members
VALUES (:campaign, :member, :type, :status, :responded, :version, :removed);

-- name: lock_add
-- args: instance text, object text, record text, fields text
-- Nothing when the decision came first.
INSERT OR IGNORE INTO locks(instance_id, object_name, record_id, fields, released)
VALUES (:instance, :object, :record, :fields, 0);

-- name: lock_release
-- args: instance text, object text, record text, decision text
INSERT INTO locks(instance_id, object_name, record_id, fields, released, decision)
VALUES (:instance, :object, :record, '[]', 1, :decision)
ON CONFLICT DO UPDATE SET released = 1, decision = excluded.decision;

-- name: cache_drop
-- args: kind text, name text
INSERT INTO caches VALUES (:kind, :name, 1) ON CONFLICT DO UPDATE SET generation = generation + 1;

-- name: share_switch
-- args: object text, version int
-- Never back to an older model.
INSERT INTO share_versions VALUES (:object, :version)
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);
