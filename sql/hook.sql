-- Incoming webhooks: source/hook_store.c.

-- name: hook_get
-- args: name text
-- rows: id int, uid bytes, name text, conf text, secrets text?, version int, created_at int, changed_at int
SELECT id, uid, name, conf, secrets, version, created_at, changed_at FROM hook_source WHERE name = :name;

-- name: hook_page
-- args: after text, most int
-- rows: as hook_get
SELECT id, uid, name, conf, secrets, version, created_at, changed_at FROM hook_source
 WHERE name > :after ORDER BY name LIMIT :most;

-- name: hook_stamp
-- rows: n int, versions int, newest int
-- Another one after each change: ids are never used again, versions grow.
SELECT COUNT(*), CAST(COALESCE(SUM(version), 0) AS BIGINT), COALESCE(MAX(id), 0) FROM hook_source;

-- name: hook_add
-- args: uid bytes, name text, conf text, secrets text?, now int
INSERT INTO hook_source (uid, name, conf, secrets, version, created_at, changed_at)
VALUES (:uid, :name, :conf, :secrets, 1, :now, :now)
ON CONFLICT (name) DO NOTHING;

-- name: hook_change
-- args: name text, was int, conf text, secrets text?, now int
-- Nothing is changed when somebody else changed it meanwhile.
UPDATE hook_source SET conf = :conf, secrets = :secrets, version = version + 1, changed_at = :now
 WHERE name = :name AND version = :was;

-- name: hook_del
-- args: name text
DELETE FROM hook_source WHERE name = :name;
