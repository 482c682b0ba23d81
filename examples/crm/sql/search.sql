-- Search: a document for each record that can be found: names and addresses,
-- which it asks Core for. Leads that were converted are hidden.
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

-- on: RecordCreated RecordUpdated LeadConverted
-- Without :core it is gone meanwhile, and its deletion on the way. The same
-- version may overwrite; what Core told of a newer one stays. The decision of an
-- approval is a field of the record.
INSERT INTO documents
SELECT :object, :record, :core_us, :core ->> 'ownerId',
       trim((:core ->> '$.fields.Name') || ' ' || coalesce(:core ->> '$.fields.Email', '')),
       :core ->> '$.fields.StageName', coalesce(:core ->> '$.fields.IsConverted', 0) WHERE :core IS NOT NULL
ON CONFLICT DO UPDATE SET version_us = excluded.version_us, owner_id = excluded.owner_id,
    text = excluded.text, stage = excluded.stage, hidden = max(hidden, excluded.hidden)
 WHERE excluded.version_us >= version_us;
INSERT INTO labels SELECT :object, :record, :core ->> '$.fields.ApprovalStatus', :core_us
 WHERE :core ->> '$.fields.ApprovalStatus' IS NOT NULL
ON CONFLICT DO UPDATE SET label = excluded.label, at_us = excluded.at_us WHERE excluded.at_us >= at_us;

-- on: RecordDeleted
DELETE FROM documents WHERE object_name = :object AND record_id = :record;
DELETE FROM labels WHERE object_name = :object AND record_id = :record;

-- on: StageChanged
UPDATE documents SET stage = :payload ->> 'newStageName', version_us = :version
 WHERE object_name = 'Opportunity' AND record_id = :record AND :version >= version_us;

-- on: ApprovalSubmitted
INSERT INTO labels VALUES (:object, :record, 'PENDING', :at)
ON CONFLICT DO UPDATE SET label = excluded.label, at_us = excluded.at_us WHERE excluded.at_us >= at_us;

-- on: MetadataChanged
INSERT INTO setting_told VALUES (:type, :payload, :at);

-- on: SharingUpdated SharingRebuildCompleted
INSERT INTO visibility
VALUES (:payload ->> 'objectName', coalesce(:payload ->> 'recordId', ''),
        coalesce(:payload ->> 'shareModelVersion', :payload ->> 'newVersion'))
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);

-- on: CampaignMemberChanged
INSERT OR REPLACE INTO found_members
VALUES (:payload ->> 'campaignId', :payload ->> 'memberId', :payload ->> 'memberStatus');
DELETE FROM found_members WHERE :payload ->> 'changeType' = 'MemberRemoved'
   AND campaign_id = :payload ->> 'campaignId' AND member_id = :payload ->> 'memberId';

-- name: size
SELECT printf('%d documents (%d hidden), %d members', count(*), coalesce(sum(hidden), 0),
              (SELECT count(*) FROM found_members)) FROM documents;
