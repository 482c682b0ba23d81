-- People who read (account/users.h). An account of ours is a person too: its
-- identity has the provider 'local' and the account's name. uid is what others
-- see.
CREATE TABLE users (
    id         {{id}},
    uid        {{bytes}} NOT NULL UNIQUE,
    email      TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL
);
CREATE TABLE identities (
    id               {{id}},
    user_id          BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    provider         TEXT   NOT NULL,
    provider_user_id TEXT   NOT NULL,
    created_at       BIGINT NOT NULL,
    UNIQUE (provider, provider_user_id)
);
CREATE INDEX identities_user ON identities (user_id);

-- id is the SHA-256 of what the cookie holds; data is sealed (seal/keyring.h).
CREATE TABLE sessions (
    id         {{bytes}} NOT NULL PRIMARY KEY,
    user_id    BIGINT    NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    data       {{bytes}} NOT NULL,
    expires_at BIGINT    NOT NULL,
    created_at BIGINT    NOT NULL
);
CREATE INDEX sessions_expires ON sessions (expires_at);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE user_settings (
    user_id    BIGINT NOT NULL PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    theme      TEXT   NOT NULL,
    updated_at BIGINT NOT NULL
);

-- Those who have an account already.
INSERT INTO users (uid, email, name, created_at, updated_at)
--sqlite: SELECT randomblob(16), '', name, created_at, created_at FROM account;
--postgres: SELECT uuid_send(gen_random_uuid()), '', name, created_at, created_at FROM account;
INSERT INTO identities (user_id, provider, provider_user_id, created_at)
SELECT id, 'local', name, created_at FROM users;

-- Feeds, shared by all who subscribe. fetch_status: active or stopped.
-- consecutive_errors counts fetches that failed, parse_errors those of them
-- whose body was no feed. claimed_until: a fetcher has it so long. subscribers:
-- how many there are, since a feed without is not fetched. version grows with
-- every change of its items: whoever read them knows if that still holds.
-- body_hash is that of the last body, for servers without validators.
CREATE TABLE feed (
    id                 {{id}},
    uid                {{bytes}} NOT NULL UNIQUE,
    feed_url           TEXT    NOT NULL UNIQUE,
    site_url           TEXT,
    title              TEXT    NOT NULL,
    etag               TEXT,
    last_modified      TEXT,
    body_hash          {{bytes}},
    fetch_status       TEXT    NOT NULL,
    consecutive_errors INTEGER NOT NULL,
    parse_errors       INTEGER NOT NULL,
    error_message      TEXT,
    next_fetch_at      BIGINT  NOT NULL,
    last_fetch_at      BIGINT,
    claimed_by         {{bytes}},
    claimed_until      BIGINT  NOT NULL,
    subscribers        INTEGER NOT NULL,
    items              BIGINT  NOT NULL,
    version            BIGINT  NOT NULL,
    created_at         BIGINT  NOT NULL,
    updated_at         BIGINT  NOT NULL,
    favicon_mime       TEXT,
    favicon_data       {{bytes}}
);
CREATE INDEX feed_due ON feed (next_fetch_at)
 WHERE fetch_status = 'active' AND subscribers > 0;

-- Articles. id is for the protocols that want a number, uid for all others.
-- published_at is always there: without a date that can be believed it is
-- fetched_at, and is_date_estimated is set. content_hash: SHA-256 over title,
-- date and summary, the third step of identity. state_hash covers all that is
-- shown: the same means that nothing changed. categories and enclosures are
-- JSON arrays. What is long stands last, so that lists don't read it. A link
-- may be longer than PostgreSQL takes into an index: link_hash is that of the
-- link, same_as that of what the link means (reader/same.h), by which one
-- article is known in several feeds.
CREATE TABLE feed_item (
    id                {{id}},
    uid               {{bytes}} NOT NULL UNIQUE,
    feed_id           BIGINT  NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    published_at      BIGINT  NOT NULL,
    is_date_estimated INTEGER NOT NULL,
    fetched_at        BIGINT  NOT NULL,
    hatebu_count      INTEGER NOT NULL DEFAULT 0,
    hatebu_fetched_at BIGINT,
    created_at        BIGINT  NOT NULL,
    updated_at        BIGINT  NOT NULL,
    content_hash      {{bytes}} NOT NULL,
    state_hash        {{bytes}} NOT NULL,
    link_hash         {{bytes}},
    same_as           {{bytes}},
    guid_or_id        TEXT,
    link              TEXT,
    title             TEXT    NOT NULL,
    author            TEXT,
    categories        TEXT,
    enclosures        TEXT,
    summary           TEXT,
    content           TEXT
);
CREATE UNIQUE INDEX feed_item_guid ON feed_item (feed_id, guid_or_id)
 WHERE guid_or_id IS NOT NULL;
CREATE INDEX feed_item_link ON feed_item (feed_id, link_hash) WHERE link_hash IS NOT NULL;
CREATE INDEX feed_item_same ON feed_item (same_as) WHERE same_as IS NOT NULL;
CREATE INDEX feed_item_hash ON feed_item (feed_id, content_hash);
CREATE INDEX feed_item_published ON feed_item (feed_id, published_at DESC, id DESC);
CREATE INDEX feed_item_created ON feed_item (created_at);
CREATE INDEX feed_item_hatebu ON feed_item (hatebu_fetched_at)
 WHERE hatebu_fetched_at IS NOT NULL;
CREATE INDEX feed_item_hatebu_new ON feed_item (id) WHERE hatebu_fetched_at IS NULL;

-- What was removed and still stands in its feed: it must not come back as new.
-- identity: SHA-256 of what it was known by.
CREATE TABLE feed_tombstone (
    feed_id  BIGINT    NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    identity {{bytes}} NOT NULL,
    at       BIGINT    NOT NULL,
    PRIMARY KEY (feed_id, identity)
);

CREATE TABLE feed_category (
    id         {{id}},
    uid        {{bytes}} NOT NULL UNIQUE,
    user_id    BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    title      TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    UNIQUE (user_id, title)
);

-- title is the subscriber's own name for the feed, null: the feed's.
CREATE TABLE feed_subscription (
    id                     {{id}},
    uid                    {{bytes}} NOT NULL UNIQUE,
    user_id                BIGINT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    feed_id                BIGINT  NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    category_id            BIGINT  REFERENCES feed_category (id) ON DELETE SET NULL,
    title                  TEXT,
    fetch_interval_minutes INTEGER NOT NULL,
    created_at             BIGINT  NOT NULL,
    updated_at             BIGINT  NOT NULL,
    UNIQUE (user_id, feed_id)
);
CREATE INDEX feed_subscription_feed ON feed_subscription (feed_id);
CREATE INDEX feed_subscription_category ON feed_subscription (category_id)
 WHERE category_id IS NOT NULL;

-- What a person did with an article. No row: unread, no star. feed_id is the
-- article's, so that counting and unsubscribing need no other table.
CREATE TABLE item_state (
    user_id    BIGINT  NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    item_id    BIGINT  NOT NULL REFERENCES feed_item (id) ON DELETE CASCADE,
    feed_id    BIGINT  NOT NULL,
    is_read    INTEGER NOT NULL,
    is_starred INTEGER NOT NULL,
    updated_at BIGINT  NOT NULL,
    PRIMARY KEY (user_id, item_id)
);
CREATE INDEX item_state_item ON item_state (item_id);
CREATE INDEX item_state_read ON item_state (user_id, feed_id) WHERE is_read = 1;
CREATE INDEX item_state_starred ON item_state (user_id, item_id) WHERE is_starred = 1;

-- Every fetch: what came of it, when next and why. outcome is a word of
-- reader/fetch.h; http_status 0: no answer. bytes: of the body as it was sent.
CREATE TABLE feed_fetch (
    id          {{id}},
    feed_id     BIGINT  NOT NULL REFERENCES feed (id) ON DELETE CASCADE,
    at          BIGINT  NOT NULL,
    took_us     BIGINT  NOT NULL,
    outcome     TEXT    NOT NULL,
    http_status INTEGER NOT NULL,
    bytes       BIGINT  NOT NULL,
    inserted    INTEGER NOT NULL,
    updated     INTEGER NOT NULL,
    error       TEXT,
    next_at     BIGINT,
    why_next    TEXT    NOT NULL
);
CREATE INDEX feed_fetch_feed ON feed_fetch (feed_id, id DESC);
