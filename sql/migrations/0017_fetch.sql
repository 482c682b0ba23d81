-- WebSub (reader/websub.h): the hub of a feed that has one, and how far we are
-- with it. state: asked, active, denied. token is the last part of the address
-- that the hub calls; secret is sealed (seal/keyring.h) and signs what it sends.
CREATE TABLE feed_hub (
    feed_id    BIGINT    NOT NULL PRIMARY KEY REFERENCES feed (id) ON DELETE CASCADE,
    token      TEXT      NOT NULL UNIQUE,
    hub        TEXT      NOT NULL,
    topic      TEXT      NOT NULL,
    secret     TEXT      NOT NULL,
    state      TEXT      NOT NULL,
    asked_at   BIGINT    NOT NULL,
    expires_at BIGINT    NOT NULL,
    failures   INTEGER   NOT NULL,
    why        TEXT
);
CREATE INDEX feed_hub_due ON feed_hub (expires_at);

-- Who asks Hatena for counts of bookmarks, until when; one row. calls of the
-- day that began at day.
CREATE TABLE hatebu_turn (
    id       INTEGER NOT NULL PRIMARY KEY,
    owner    {{bytes}},
    until    BIGINT  NOT NULL,
    next_at  BIGINT  NOT NULL,
    failures INTEGER NOT NULL,
    day      BIGINT  NOT NULL,
    calls    BIGINT  NOT NULL
);
INSERT INTO hatebu_turn (id, until, next_at, failures, day, calls) VALUES (1, 0, 0, 0, 0, 0);
