-- Search: a document for each record that can be found.
CREATE TABLE IF NOT EXISTS documents(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, version_us INTEGER NOT NULL,
    owner_id TEXT NOT NULL, text TEXT NOT NULL, stage TEXT, hidden INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id)) WITHOUT ROWID;
-- Labels outlive documents: a submission may come before its record does.
CREATE TABLE IF NOT EXISTS labels(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, label TEXT NOT NULL, at_us INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id)) WITHOUT ROWID;
-- Which share model a record ('' for the whole object) was last seen by.
CREATE TABLE IF NOT EXISTS visibility(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, version INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS found_members(
    campaign_id TEXT NOT NULL, member_id TEXT NOT NULL, status TEXT NOT NULL,
    PRIMARY KEY (campaign_id, member_id)) WITHOUT ROWID;

-- name: doc_put
-- args: object text, record text, version int, owner text, text text, stage text?, hidden int
-- The same version may overwrite; what Core told of a newer one stays.
INSERT INTO documents VALUES (:object, :record, :version, :owner, :text, :stage, :hidden)
ON CONFLICT DO UPDATE SET version_us = excluded.version_us, owner_id = excluded.owner_id,
    text = excluded.text, stage = excluded.stage, hidden = max(hidden, excluded.hidden)
 WHERE excluded.version_us >= version_us;

-- name: doc_stage
-- args: record text, stage text, version int
UPDATE documents SET stage = :stage, version_us = :version
 WHERE object_name = 'Opportunity' AND record_id = :record AND :version >= version_us;

-- name: doc_drop
-- args: object text, record text
DELETE FROM documents WHERE object_name = :object AND record_id = :record;

-- name: label_put
-- args: object text, record text, label text, at int
INSERT INTO labels VALUES (:object, :record, :label, :at)
ON CONFLICT DO UPDATE SET label = excluded.label, at_us = excluded.at_us
 WHERE excluded.at_us >= at_us;

-- name: label_drop
-- args: object text, record text
DELETE FROM labels WHERE object_name = :object AND record_id = :record;

-- name: visibility_put
-- args: object text, record text, version int
INSERT INTO visibility VALUES (:object, :record, :version)
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);

-- name: found_member_put
-- args: campaign text, member text, status text
INSERT OR REPLACE INTO found_members VALUES (:campaign, :member, :status);

-- name: found_member_drop
-- args: campaign text, member text
DELETE FROM found_members WHERE campaign_id = :campaign AND member_id = :member;

-- name: search_size
-- rows: docs int, hidden int, members int
SELECT count(*), coalesce(sum(hidden), 0), (SELECT count(*) FROM found_members) FROM documents;
