-- Sessions get a number, so that what is sealed in them can be paged through
-- when the keys rotate, and data is text, as every sealed value (seal/keyring.h).
-- id is the SHA-256 of what the cookie holds.
DROP TABLE sessions;
CREATE TABLE sessions (
    seq        {{id}},
    id         {{bytes}} NOT NULL UNIQUE,
    user_id    BIGINT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    data       TEXT      NOT NULL,
    expires_at BIGINT    NOT NULL,
    created_at BIGINT    NOT NULL
);
CREATE INDEX sessions_expires ON sessions (expires_at);
CREATE INDEX sessions_user ON sessions (user_id);
