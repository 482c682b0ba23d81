-- Reporting: figures over the newest state of each thing: the pipeline by stage,
-- leads that were converted, approvals, and what campaigns brought. Amounts are
-- asked of Core. What is deleted counts no more.
CREATE TABLE IF NOT EXISTS opportunities(
    record_id TEXT PRIMARY KEY, owner_id TEXT NOT NULL, stage TEXT NOT NULL, amount INTEGER NOT NULL,
    closed INTEGER NOT NULL, won INTEGER NOT NULL, version_us INTEGER NOT NULL,
    deleted INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conversions(
    lead_id TEXT PRIMARY KEY, opportunity_id TEXT, converted_us INTEGER NOT NULL,
    deleted INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS approvals(
    instance_id TEXT PRIMARY KEY, object_name TEXT NOT NULL, decision TEXT) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS campaign_figures(
    campaign_id TEXT NOT NULL, member_id TEXT NOT NULL, status TEXT NOT NULL,
    responded INTEGER NOT NULL, removed INTEGER NOT NULL,
    PRIMARY KEY (campaign_id, member_id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS snapshots(
    object_name TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS pipeline AS
SELECT stage, count(*) AS n, sum(amount) AS amount FROM opportunities WHERE deleted = 0 GROUP BY stage;

-- on: RecordCreated RecordUpdated OwnerChanged StageChanged of Opportunity
-- Without :core it is gone meanwhile, and its deletion on the way.
INSERT INTO opportunities
SELECT :record, :core ->> 'ownerId', :core ->> '$.fields.StageName', coalesce(:core ->> '$.fields.Amount', 0),
       :core ->> '$.fields.StageName' LIKE 'Closed %', :core ->> '$.fields.StageName' = 'Closed Won', :core_us, 0
 WHERE :core IS NOT NULL
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, stage = excluded.stage,
    amount = excluded.amount, closed = excluded.closed, won = excluded.won,
    version_us = excluded.version_us, deleted = 0
 WHERE excluded.version_us >= version_us + deleted;

-- on: RecordDeleted of Opportunity
INSERT INTO opportunities VALUES (:record, '', '', 0, 0, 0, :version, 1)
ON CONFLICT DO UPDATE SET deleted = 1, version_us = excluded.version_us;

-- on: RecordDeleted of Lead
INSERT INTO conversions VALUES (:record, NULL, 0, 1) ON CONFLICT DO UPDATE SET deleted = 1;

-- on: LeadConverted
INSERT INTO conversions VALUES (:record, :payload ->> 'opportunityId', :at, 0) ON CONFLICT DO NOTHING;

-- on: ApprovalSubmitted
INSERT INTO approvals VALUES (:payload ->> 'approvalInstanceId', :object, NULL) ON CONFLICT DO NOTHING;

-- on: ApprovalDecided
INSERT INTO approvals VALUES (:payload ->> 'approvalInstanceId', :object, :payload ->> 'decision')
ON CONFLICT DO UPDATE SET decision = excluded.decision;

-- on: MetadataChanged
INSERT INTO setting_told VALUES (:type, :payload, :at);

-- on: SharingUpdated SharingRebuildCompleted
INSERT INTO snapshots
VALUES (:payload ->> 'objectName', coalesce(:payload ->> 'shareModelVersion', :payload ->> 'newVersion'))
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);

-- on: CampaignMemberChanged
INSERT OR REPLACE INTO campaign_figures
VALUES (:payload ->> 'campaignId', :payload ->> 'memberId', :payload ->> 'memberStatus',
        coalesce(:payload ->> 'hasResponded', 0), :payload ->> 'changeType' = 'MemberRemoved');

-- name: size
SELECT printf('%d deals of %d, %d conversions, %d members', count(*), coalesce(sum(amount), 0),
              (SELECT count(*) FROM conversions WHERE deleted = 0),
              (SELECT count(*) FROM campaign_figures WHERE removed = 0))
  FROM opportunities WHERE deleted = 0;
