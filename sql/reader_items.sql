-- Articles of a feed, as a fetch changes them (reader/items.h).

-- name: item_feed
-- args: feed int
-- rows: version int, title text, private int, last_fetch_at int?
SELECT version, title, private, last_fetch_at FROM feed WHERE id = :feed;

-- name: item_known_guids
-- args: feed int, keys text
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- keys: a JSON array.
SELECT id, uid, guid_or_id, link_hash, content_hash, state_hash, published_at, is_date_estimated
  FROM feed_item WHERE feed_id = :feed
--sqlite:   AND guid_or_id IN (SELECT value FROM json_each(:keys));
--postgres:   AND guid_or_id IN (SELECT json_array_elements_text(CAST(:keys AS json)));

-- name: item_known_links
-- args: feed int, keys bytes
-- rows: as item_known_guids
-- keys: hashes of 16 bytes, one after the other. Two of each are enough, as a
-- link that several have names none of them, and there may be thousands.
--sqlite: WITH RECURSIVE l (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM l WHERE i + 1 < length(:keys) / 16)
SELECT k.id, k.uid, k.guid_or_id, k.link_hash, k.content_hash, k.state_hash, k.published_at, k.is_date_estimated
--sqlite:   FROM l CROSS JOIN feed_item k ON k.id IN (
--sqlite:  SELECT i.id
--postgres:   FROM generate_series(0, length(CAST(:keys AS bytea)) / 16 - 1) AS l (i) CROSS JOIN LATERAL (
--postgres:  SELECT *
    FROM feed_item i WHERE i.feed_id = :feed AND i.link_hash = substr(:keys, l.i * 16 + 1, 16) LIMIT 2)
--postgres: k
;

-- name: item_known_hashes
-- args: as item_known_links
-- rows: as item_known_guids
-- The same with content_hash, of 32 bytes.
--sqlite: WITH RECURSIVE l (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM l WHERE i + 1 < length(:keys) / 32)
SELECT k.id, k.uid, k.guid_or_id, k.link_hash, k.content_hash, k.state_hash, k.published_at, k.is_date_estimated
--sqlite:   FROM l CROSS JOIN feed_item k ON k.id IN (
--sqlite:  SELECT i.id
--postgres:   FROM generate_series(0, length(CAST(:keys AS bytea)) / 32 - 1) AS l (i) CROSS JOIN LATERAL (
--postgres:  SELECT *
    FROM feed_item i WHERE i.feed_id = :feed AND i.content_hash = substr(:keys, l.i * 32 + 1, 32) LIMIT 2)
--postgres: k
;

-- name: item_tombs
-- args: feed int, most int
-- rows: identity bytes
SELECT identity FROM feed_tombstone WHERE feed_id = :feed ORDER BY identity LIMIT :most;

-- name: item_version
-- args: feed int, version int, more int, now int
-- Whoever changes a feed's articles moves its version, and fails when somebody
-- else did since.
UPDATE feed SET items = items + :more, version = version + 1, updated_at = :now
 WHERE id = :feed AND version = :version;

-- name: item_insert
-- args: uid bytes, feed int, published_at int, estimated int, now int, content_hash bytes, state_hash bytes, link_hash bytes?, same_as bytes?, guid text?, link text?, title text, author text?, categories text?, enclosures text?, summary text?, content text?, thumbnail text?, excerpt text?
-- rows: many
INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated, fetched_at, created_at, updated_at, content_hash,
       state_hash, link_hash, same_as, guid_or_id, link, title, author, categories, enclosures, summary, content, thumbnail,
       excerpt)
VALUES (:uid, :feed, :published_at, :estimated, :now, :now, :now, :content_hash,
       :state_hash, :link_hash, :same_as, :guid, :link, :title, :author, :categories, :enclosures, :summary, :content, :thumbnail,
       :excerpt);

-- name: item_update
-- args: as item_insert
-- rows: many
-- Overwritten; an id or link that is no longer told is still the article's.
UPDATE feed_item SET published_at = :published_at, is_date_estimated = :estimated, fetched_at = :now, updated_at = :now,
       content_hash = :content_hash, state_hash = :state_hash, link_hash = coalesce(:link_hash, link_hash),
       same_as = coalesce(:same_as, same_as), guid_or_id = coalesce(:guid, guid_or_id), link = coalesce(:link, link),
       title = :title, author = :author, categories = :categories, enclosures = :enclosures, summary = :summary, content = :content,
       thumbnail = :thumbnail, excerpt = :excerpt
 WHERE uid = :uid AND feed_id = :feed;

-- name: item_terms_put
-- args: uid bytes, terms text
-- rows: many
-- On SQLite a row of values: INSERT … SELECT would take a savepoint for each article, at which the full-text
-- index writes out what it has gathered.
--sqlite: INSERT OR REPLACE INTO item_terms (rowid, terms) VALUES ((SELECT id FROM feed_item WHERE uid = :uid), :terms);
--postgres: INSERT INTO item_terms (item_id, terms)
--postgres: SELECT i.id, CAST(:terms AS tsvector) FROM {{each}} JOIN feed_item i ON i.uid = :uid
--postgres: ON CONFLICT (item_id) DO UPDATE SET terms = excluded.terms;

-- name: item_tomb_del
-- args: feed int, identity bytes
-- rows: many
DELETE FROM feed_tombstone WHERE feed_id = :feed AND identity = :identity;

-- Old articles (reader/clean.h) ---------------------------------------------

-- name: clean_any
-- args: cut int
-- rows: id int
SELECT id FROM feed_item WHERE created_at < :cut LIMIT 1;

-- name: clean_old
-- args: cut int, at int, id int, most int
-- rows: id int, feed int, created_at int, guid text?, link text?, content_hash bytes, starred int
-- Locked where another node may be at it too.
SELECT i.id, i.feed_id, i.created_at, i.guid_or_id, i.link, i.content_hash,
       CASE WHEN EXISTS (SELECT 1 FROM item_state s WHERE s.item_id = i.id AND s.is_starred = 1) THEN 1 ELSE 0 END
  FROM feed_item i
 WHERE i.created_at < :cut AND i.created_at >= :at AND (i.created_at, i.id) > (:at, :id)
 ORDER BY i.created_at, i.id LIMIT :most
--postgres:   FOR UPDATE
;

-- name: clean_item
-- args: id int
-- rows: many
DELETE FROM feed_item WHERE id = :id
   AND NOT EXISTS (SELECT 1 FROM item_state s WHERE s.item_id = feed_item.id AND s.is_starred = 1);

-- name: clean_terms
-- args: as clean_item
-- rows: many
-- On PostgreSQL they are gone with their article.
--sqlite: DELETE FROM item_terms WHERE rowid = :id;
--postgres: DELETE FROM item_terms USING {{each}} WHERE item_id = :id;

-- name: clean_tomb
-- args: feed int, identity bytes, now int
-- rows: many
INSERT INTO feed_tombstone (feed_id, identity, at) VALUES (:feed, :identity, :now) ON CONFLICT DO NOTHING;

-- name: clean_count
-- args: feed int
-- rows: many
--sqlite: UPDATE feed SET items = items - 1, version = version + 1 WHERE id = :feed;
--postgres: UPDATE feed SET items = items - gone.n, version = version + 1
--postgres:   FROM (SELECT :feed AS feed, count(*) AS n FROM {{each}} GROUP BY :feed) gone WHERE id = gone.feed;

-- Words that are cut anew (reader/reterm.h) -----------------------------------

-- name: reterm_any
-- rows: upto int
SELECT upto FROM item_reterm WHERE one = 1;

-- name: reterm_take
-- rows: upto int
-- For one server: it is locked where another may be at it too.
UPDATE item_reterm SET upto = upto WHERE one = 1 RETURNING upto;

-- name: reterm_items
-- args: upto int, most int
-- rows: id int, uid bytes, title text, author text?, summary text?, content text?
SELECT id, uid, title, author, summary, content FROM feed_item WHERE id <= :upto ORDER BY id DESC LIMIT :most;

-- name: reterm_put
-- args: upto int
UPDATE item_reterm SET upto = :upto WHERE one = 1;

-- name: reterm_end
DELETE FROM item_reterm WHERE one = 1;
