-- Who may do what.
-- password is an argon2id string with its parameters inside; role is one of
-- admin, operator, viewer (account/accounts.h).
CREATE TABLE account (
    id         {{id}},
    name       TEXT   NOT NULL UNIQUE,
    password   TEXT   NOT NULL,
    role       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);

-- Keys of programs. The key itself is shown once and never stored: hash is its
-- SHA-256, shown its first characters. scopes are words with blanks between;
-- tenants is a JSON array of UUIDs, null: not limited. A revoked key keeps its
-- row, so that what it did can still be told.
CREATE TABLE api_key (
    id              {{id}},
    public_id       {{bytes}} NOT NULL UNIQUE,
    name            TEXT      NOT NULL,
    hash            {{bytes}} NOT NULL UNIQUE,
    shown           TEXT      NOT NULL,
    scopes          TEXT      NOT NULL,
    tenants         TEXT,
    rate_per_second BIGINT,
    created_at      BIGINT    NOT NULL,
    created_by      TEXT      NOT NULL,
    last_used_at    BIGINT,
    expires_at      BIGINT,
    revoked_at      BIGINT
);
