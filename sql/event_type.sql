-- name: types_all
-- args: most int
-- rows: type text, version int, schema text, strict int, deprecated int, description text?, example text?, created_at int, changed_at int
SELECT type, version, schema, strict, deprecated, description, example, created_at, changed_at
  FROM event_type ORDER BY type, version LIMIT :most;

-- name: types_size
-- rows: n int, bytes int
SELECT count(*), coalesce(sum(length(schema) + coalesce(length(example), 0)), 0) FROM event_type;

-- name: type_put
-- args: type text, version int, schema text, strict int, deprecated int, description text?, example text?, now int
INSERT INTO event_type (type, version, schema, strict, deprecated, description, example, created_at, changed_at)
VALUES (:type, :version, :schema, :strict, :deprecated, :description, :example, :now, :now)
ON CONFLICT (type, version) DO UPDATE SET schema = excluded.schema, strict = excluded.strict,
       deprecated = excluded.deprecated, description = excluded.description, example = excluded.example,
       changed_at = CASE WHEN excluded.changed_at > event_type.changed_at THEN excluded.changed_at
                         ELSE event_type.changed_at + 1 END;

-- name: type_get
-- args: type text, version int
-- rows: schema text
SELECT schema FROM event_type WHERE type = :type AND version = :version;

-- name: type_delete
-- args: type text, version int
-- Of 0 all versions.
DELETE FROM event_type WHERE type = :type AND (:version = 0 OR version = :version);

-- name: tenant_put
-- args: id bytes, name text
INSERT INTO tenant (id, name) VALUES (:id, :name) ON CONFLICT (id) DO NOTHING;

-- name: tenant_get
-- args: id bytes
-- rows: name text
SELECT name FROM tenant WHERE id = :id;
