-- A feed that is asked for with a person's user name and password is that
-- person's own: address is what is asked for, and feed_url is the person's id, a
-- blank and this, so that nobody shares it. Null: feed_url is the address.
ALTER TABLE feed ADD COLUMN address TEXT;
-- "name:password", sealed (seal/keyring.h). Only in a subscription to such a
-- feed, so that it goes with the subscription and with the person.
ALTER TABLE feed_subscription ADD COLUMN login TEXT;

-- What changed for people who read (reader/changes.h), the newest alone. n grows
-- in the order of commits. user_id null: for all who have the feed. what: the
-- members of a JSON object, without its braces.
CREATE TABLE reader_change (
--sqlite:     n INTEGER PRIMARY KEY AUTOINCREMENT,
--postgres:     n BIGINT PRIMARY KEY,
    user_id BIGINT REFERENCES users (id) ON DELETE CASCADE,
    feed_id BIGINT,
    kind    TEXT NOT NULL,
    what    TEXT NOT NULL
);
-- Where nodes share a store, whoever writes a change holds this row until it is
-- committed.
--postgres: CREATE TABLE reader_change_last (one INTEGER NOT NULL PRIMARY KEY, n BIGINT NOT NULL);
--postgres: INSERT INTO reader_change_last (one, n) VALUES (1, 0);
