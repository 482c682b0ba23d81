-- Reporting: figures over the newest state of each thing.
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

-- name: opportunity_put
-- args: record text, owner text, stage text, amount int, closed int, won int, version int
INSERT INTO opportunities VALUES (:record, :owner, :stage, :amount, :closed, :won, :version, 0)
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, stage = excluded.stage,
    amount = excluded.amount, closed = excluded.closed, won = excluded.won,
    version_us = excluded.version_us, deleted = 0
 WHERE excluded.version_us >= version_us + deleted;

-- name: opportunity_stage
-- args: record text, stage text, closed int, won int, version int
UPDATE opportunities SET stage = :stage, closed = :closed, won = :won, version_us = :version
 WHERE record_id = :record AND deleted = 0 AND :version >= version_us;

-- name: opportunity_owner
-- args: record text, owner text, version int
UPDATE opportunities SET owner_id = :owner, version_us = :version
 WHERE record_id = :record AND deleted = 0 AND :version >= version_us;

-- name: opportunity_there
-- args: record text
-- rows: n int
SELECT count(*) FROM opportunities WHERE record_id = :record;

-- name: opportunity_drop
-- args: record text, version int
INSERT INTO opportunities VALUES (:record, '', '', 0, 0, 0, :version, 1)
ON CONFLICT DO UPDATE SET deleted = 1, version_us = excluded.version_us;

-- name: conversion_put
-- args: lead text, opportunity text?, at int
INSERT OR IGNORE INTO conversions VALUES (:lead, :opportunity, :at, 0);

-- name: conversion_drop
-- args: lead text
INSERT INTO conversions VALUES (:lead, NULL, 0, 1) ON CONFLICT DO UPDATE SET deleted = 1;

-- name: approval_open
-- args: instance text, object text
INSERT OR IGNORE INTO approvals VALUES (:instance, :object, NULL);

-- name: approval_close
-- args: instance text, object text, decision text
INSERT INTO approvals VALUES (:instance, :object, :decision)
ON CONFLICT DO UPDATE SET decision = excluded.decision;

-- name: figure_put
-- args: campaign text, member text, status text, responded int, removed int
INSERT OR REPLACE INTO campaign_figures VALUES (:campaign, :member, :status, :responded, :removed);

-- name: snapshot_put
-- args: object text, version int
INSERT INTO snapshots VALUES (:object, :version)
ON CONFLICT DO UPDATE SET version = max(version, excluded.version);

-- name: reporting_size
-- rows: deals int, amount int, conversions int, members int
SELECT count(*), coalesce(sum(amount), 0),
       (SELECT count(*) FROM conversions WHERE deleted = 0),
       (SELECT count(*) FROM campaign_figures WHERE removed = 0)
  FROM opportunities WHERE deleted = 0;

-- name: pipeline_list
-- rows: stage text, n int, amount int
SELECT stage, n, amount FROM pipeline ORDER BY stage;
