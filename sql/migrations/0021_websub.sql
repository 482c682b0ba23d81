-- The hub that a feed names (reader/websub.h), at most one for each. uid is in
-- the callback's address and nowhere else; secret is sealed. state: new, asked,
-- verified, denied, failed, or leaving. next_at: when there is something to do
-- again; whoever takes it moves it on. failures: times asked since the hub last
-- answered as it should. pushed_at: when it last sent something.
CREATE TABLE feed_hub (
    id          {{id}},
    uid         {{bytes}} NOT NULL UNIQUE,
    feed_id     BIGINT  NOT NULL UNIQUE REFERENCES feed (id) ON DELETE CASCADE,
    hub         TEXT    NOT NULL,
    topic       TEXT    NOT NULL,
    secret      TEXT    NOT NULL,
    state       TEXT    NOT NULL,
    lease_until BIGINT  NOT NULL,
    next_at     BIGINT  NOT NULL,
    failures    INTEGER NOT NULL,
    error       TEXT,
    pushed_at   BIGINT,
    created_at  BIGINT  NOT NULL,
    updated_at  BIGINT  NOT NULL
);
CREATE INDEX feed_hub_next ON feed_hub (next_at);
