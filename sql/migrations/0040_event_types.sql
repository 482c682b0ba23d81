-- Event types of one's own (event/type/types.h): a row for each version.
-- changed_at tells two states of a row apart.
CREATE TABLE event_type (
    type        TEXT   NOT NULL,
    version     BIGINT NOT NULL,
    schema      TEXT   NOT NULL,
    strict      BIGINT NOT NULL,
    deprecated  BIGINT NOT NULL,
    description TEXT,
    example     TEXT,
    created_at  BIGINT NOT NULL,
    changed_at  BIGINT NOT NULL,
    PRIMARY KEY (type, version)
);

-- What tenants are called whose name is no UUID (seal/tenant.h). A name stays:
-- what carries its UUID is shown by it.
CREATE TABLE tenant (
    id   {{bytes}} PRIMARY KEY,
    name TEXT      NOT NULL
);
