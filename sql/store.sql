-- name: version_there
-- rows: there int
-- Whether a store was ever migrated.
--sqlite: SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version';
--postgres: SELECT (to_regclass('schema_version') IS NOT NULL)::int;

-- name: version_get
-- rows: version int
SELECT coalesce(max(version), 0) FROM schema_version;

-- name: version_put
-- args: version int, name text, applied_at int
INSERT INTO schema_version (version, name, applied_at) VALUES (:version, :name, :applied_at);

-- name: echo
-- args: i int?, t text?, b bytes?
-- rows: i int?, t text?, b bytes?
-- Gives back what it got: asks a connection whether it carries everything.
-- SQLite has to look into its file for it.
SELECT :i, :t, :b
--sqlite: FROM (SELECT count(*) FROM sqlite_schema)
;
