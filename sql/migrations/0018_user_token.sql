-- Passwords that a person made for an app (account/tokens.h). hash: SHA-256 of
-- the password; fever_hash: of what the Fever protocol sends, the MD5 of
-- "login:password" in hex. login is the name that goes with it.
CREATE TABLE user_token (
    id           {{id}},
    uid          {{bytes}} NOT NULL UNIQUE,
    user_id      BIGINT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    name         TEXT      NOT NULL,
    login        TEXT      NOT NULL,
    shown        TEXT      NOT NULL,
    hash         {{bytes}} NOT NULL UNIQUE,
    fever_hash   {{bytes}} NOT NULL UNIQUE,
    created_at   BIGINT    NOT NULL,
    last_used_at BIGINT
);
CREATE INDEX user_token_user ON user_token (user_id);
