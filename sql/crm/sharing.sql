-- Sharing: who may see a record, and why. A cause's shares are made anew from
-- the view below, once for each version and cause.
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
CREATE TABLE IF NOT EXISTS generations(
    object_name TEXT NOT NULL, record_id TEXT NOT NULL, cause TEXT NOT NULL,
    version_us INTEGER NOT NULL,
    PRIMARY KEY (object_name, record_id, cause, version_us)) WITHOUT ROWID;
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

-- name: known_put
-- args: object text, record text, owner text, version int
INSERT INTO known_records VALUES (:object, :record, :owner, :version, 1)
ON CONFLICT DO UPDATE SET owner_id = excluded.owner_id, version_us = excluded.version_us, active = 1
 WHERE excluded.version_us >= version_us + (active = 0);

-- name: known_drop
-- args: object text, record text, version int
INSERT INTO known_records VALUES (:object, :record, '', :version, 0)
ON CONFLICT DO UPDATE SET active = 0, version_us = excluded.version_us;

-- name: team_put
-- args: object text, record text, user text, access text, active int, at int
INSERT INTO team VALUES (:object, :record, :user, :access, :active, :at)
ON CONFLICT DO UPDATE SET access_level = excluded.access_level, active = excluded.active,
                          at_us = excluded.at_us
 WHERE excluded.at_us >= at_us;

-- name: generation_put
-- args: object text, record text, cause text, version int
-- 0 rows: made already.
INSERT OR IGNORE INTO generations VALUES (:object, :record, :cause, :version);

-- name: shares_drop_record
-- args: object text, record text, cause text?
DELETE FROM shares WHERE object_name = :object AND record_id = :record
   AND (:cause IS NULL OR cause = :cause);

-- name: shares_make_record
-- args: object text, record text, cause text?, version int
INSERT INTO shares SELECT object_name, record_id, cause, subject_type, subject_id, access, :version, 1
  FROM wanted WHERE object_name = :object AND record_id = :record
   AND (:cause IS NULL OR cause = :cause);

-- name: shares_off
-- args: object text, record text
UPDATE shares SET active = 0 WHERE object_name = :object AND record_id = :record;

-- name: shares_drop_cause
-- args: object text, cause text
DELETE FROM shares WHERE object_name = :object AND cause = :cause;

-- name: shares_make_cause
-- args: object text, cause text, version int
INSERT INTO shares SELECT object_name, record_id, cause, subject_type, subject_id, access, :version, 1
  FROM wanted WHERE object_name = :object AND cause = :cause;

-- name: known_count
-- args: object text
-- rows: n int
SELECT count(*) FROM known_records WHERE object_name = :object AND active = 1;

-- name: model_next
-- args: object text
INSERT INTO share_models VALUES (:object, 1) ON CONFLICT DO UPDATE SET version = version + 1;

-- name: model_get
-- args: object text
-- rows: version int
SELECT version FROM share_models WHERE object_name = :object;

-- name: sharing_size
-- rows: active int, inactive int
SELECT coalesce(sum(active), 0), coalesce(sum(active = 0), 0) FROM shares;
