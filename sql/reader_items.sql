-- Articles of a feed, as a fetch changes them (reader/items.h).

-- name: item_feed
-- args: feed int
-- rows: version int, title text, private int
SELECT version, title, private FROM feed WHERE id = :feed;

-- name: item_known_guid
-- args: feed int, guid text
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: sqlite
SELECT id, uid, guid_or_id, link_hash, content_hash, state_hash, published_at, is_date_estimated
  FROM feed_item WHERE feed_id = :feed AND guid_or_id = :guid;

-- name: item_known_link
-- args: feed int, link bytes
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: sqlite
-- Two are enough: a link that several have names none of them.
SELECT id, uid, guid_or_id, link_hash, content_hash, state_hash, published_at, is_date_estimated
  FROM feed_item WHERE feed_id = :feed AND link_hash = :link LIMIT 2;

-- name: item_known_hash
-- args: feed int, hash bytes
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: sqlite
SELECT id, uid, guid_or_id, link_hash, content_hash, state_hash, published_at, is_date_estimated
  FROM feed_item WHERE feed_id = :feed AND content_hash = :hash LIMIT 2;

-- name: item_known_guids
-- args: feed int, guids text[]
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: postgres
SELECT id, uid, guid_or_id, link_hash, content_hash, state_hash, published_at, is_date_estimated
  FROM feed_item WHERE feed_id = :feed AND guid_or_id = ANY (:guids::text[]);

-- name: item_known_links
-- args: feed int, links bytes[]
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: postgres
-- Two of each are enough, and there may be thousands.
SELECT k.id, k.uid, k.guid_or_id, k.link_hash, k.content_hash, k.state_hash, k.published_at, k.is_date_estimated
  FROM unnest(:links::bytea[]) AS l (h)
 CROSS JOIN LATERAL (SELECT * FROM feed_item i WHERE i.feed_id = :feed AND i.link_hash = l.h LIMIT 2) k;

-- name: item_known_hashes
-- args: feed int, hashes bytes[]
-- rows: id int, uid bytes, guid text?, link_hash bytes?, content_hash bytes, state_hash bytes, published_at int, is_date_estimated int
-- only: postgres
SELECT k.id, k.uid, k.guid_or_id, k.link_hash, k.content_hash, k.state_hash, k.published_at, k.is_date_estimated
  FROM unnest(:hashes::bytea[]) AS l (h)
 CROSS JOIN LATERAL (SELECT * FROM feed_item i WHERE i.feed_id = :feed AND i.content_hash = l.h LIMIT 2) k;

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
-- args: uid bytes, feed int, published_at int, estimated int, now int, content_hash bytes, state_hash bytes, link_hash bytes?, same_as bytes?, guid text?, link text?, title text, author text?, categories text?, enclosures text?, summary text?, content text?
-- only: sqlite
INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated, fetched_at, created_at, updated_at, content_hash,
       state_hash, link_hash, same_as, guid_or_id, link, title, author, categories, enclosures, summary, content)
VALUES (:uid, :feed, :published_at, :estimated, :now, :now, :now, :content_hash,
       :state_hash, :link_hash, :same_as, :guid, :link, :title, :author, :categories, :enclosures, :summary, :content);

-- name: item_insert_many
-- args: feed int, now int, uids bytes[], published int[], estimated int[], content_hashes bytes[], state_hashes bytes[], link_hashes bytes[], sames bytes[], guids text[], links text[], titles text[], authors text[], categoriess text[], enclosuress text[], summaries text[], contents text[]
-- only: postgres
INSERT INTO feed_item (uid, feed_id, published_at, is_date_estimated, fetched_at, created_at, updated_at, content_hash,
       state_hash, link_hash, same_as, guid_or_id, link, title, author, categories, enclosures, summary, content)
SELECT u.uid, :feed, u.published_at, u.estimated, :now::bigint, :now::bigint, :now::bigint, u.content_hash,
       u.state_hash, u.link_hash, u.same_as, u.guid, u.link, u.title, u.author, u.categories, u.enclosures, u.summary, u.content
  FROM unnest(:uids::bytea[], :published::bigint[], :estimated::bigint[], :content_hashes::bytea[], :state_hashes::bytea[],
              :link_hashes::bytea[], :sames::bytea[], :guids::text[], :links::text[], :titles::text[], :authors::text[],
              :categoriess::text[], :enclosuress::text[], :summaries::text[], :contents::text[])
    AS u (uid, published_at, estimated, content_hash, state_hash, link_hash, same_as, guid, link, title, author, categories,
          enclosures, summary, content);

-- name: item_update
-- args: id int, published_at int, estimated int, now int, content_hash bytes, state_hash bytes, link_hash bytes?, same_as bytes?, guid text?, link text?, title text, author text?, categories text?, enclosures text?, summary text?, content text?
-- only: sqlite
-- Overwritten; an id or link that is no longer told is still the article's.
UPDATE feed_item SET published_at = :published_at, is_date_estimated = :estimated, fetched_at = :now, updated_at = :now,
       content_hash = :content_hash, state_hash = :state_hash, link_hash = coalesce(:link_hash, link_hash),
       same_as = coalesce(:same_as, same_as), guid_or_id = coalesce(:guid, guid_or_id), link = coalesce(:link, link),
       title = :title, author = :author, categories = :categories, enclosures = :enclosures, summary = :summary, content = :content
 WHERE id = :id;

-- name: item_update_many
-- args: now int, ids int[], published int[], estimated int[], content_hashes bytes[], state_hashes bytes[], link_hashes bytes[], sames bytes[], guids text[], links text[], titles text[], authors text[], categoriess text[], enclosuress text[], summaries text[], contents text[]
-- only: postgres
UPDATE feed_item i SET published_at = u.published_at, is_date_estimated = u.estimated, fetched_at = :now::bigint, updated_at = :now::bigint,
       content_hash = u.content_hash, state_hash = u.state_hash, link_hash = coalesce(u.link_hash, i.link_hash),
       same_as = coalesce(u.same_as, i.same_as), guid_or_id = coalesce(u.guid, i.guid_or_id), link = coalesce(u.link, i.link),
       title = u.title, author = u.author, categories = u.categories, enclosures = u.enclosures, summary = u.summary, content = u.content
  FROM unnest(:ids::bigint[], :published::bigint[], :estimated::bigint[], :content_hashes::bytea[], :state_hashes::bytea[],
              :link_hashes::bytea[], :sames::bytea[], :guids::text[], :links::text[], :titles::text[], :authors::text[],
              :categoriess::text[], :enclosuress::text[], :summaries::text[], :contents::text[])
    AS u (id, published_at, estimated, content_hash, state_hash, link_hash, same_as, guid, link, title, author, categories,
          enclosures, summary, content)
 WHERE i.id = u.id;

-- name: item_terms_add
-- args: terms text
-- only: sqlite
-- Of the article that was inserted just before. A row of values, as below: INSERT … SELECT would take a
-- savepoint for each article, at which the full-text index writes out what it has gathered.
INSERT OR REPLACE INTO item_terms (rowid, terms) VALUES (last_insert_rowid(), :terms);

-- name: item_terms_put
-- args: id int, terms text
-- only: sqlite
INSERT OR REPLACE INTO item_terms (rowid, terms) VALUES (:id, :terms);

-- name: item_terms_put_many
-- args: uids bytes[], terms text[]
-- only: postgres
INSERT INTO item_terms (item_id, terms)
SELECT i.id, u.terms::tsvector FROM unnest(:uids::bytea[], :terms::text[]) AS u (uid, terms) JOIN feed_item i ON i.uid = u.uid
ON CONFLICT (item_id) DO UPDATE SET terms = excluded.terms;

-- name: item_tomb_del
-- args: feed int, identity bytes
-- only: sqlite
DELETE FROM feed_tombstone WHERE feed_id = :feed AND identity = :identity;

-- name: item_tomb_del_many
-- args: feed int, identities bytes[]
-- only: postgres
DELETE FROM feed_tombstone WHERE feed_id = :feed AND identity = ANY (:identities::bytea[]);

-- Old articles (reader/clean.h) ---------------------------------------------

-- name: clean_any
-- args: cut int
-- rows: id int
SELECT id FROM feed_item WHERE created_at < :cut LIMIT 1;

-- name: clean_old
-- args: cut int, at int, id int, most int
-- rows: id int, feed int, created_at int, guid text?, link text?, content_hash bytes, starred int
SELECT i.id, i.feed_id, i.created_at, i.guid_or_id, i.link, i.content_hash,
       CASE WHEN EXISTS (SELECT 1 FROM item_state s WHERE s.item_id = i.id AND s.is_starred = 1) THEN 1 ELSE 0 END
  FROM feed_item i
 WHERE i.created_at < :cut AND i.created_at >= :at AND (i.created_at, i.id) > (:at, :id)
 ORDER BY i.created_at, i.id LIMIT :most;

-- name: clean_item
-- args: id int
-- only: sqlite
DELETE FROM feed_item WHERE id = :id;

-- name: clean_terms
-- args: id int
-- only: sqlite
DELETE FROM item_terms WHERE rowid = :id;

-- name: clean_tomb
-- args: feed int, identity bytes, now int
-- only: sqlite
INSERT INTO feed_tombstone (feed_id, identity, at) VALUES (:feed, :identity, :now) ON CONFLICT DO NOTHING;

-- name: clean_count
-- args: feed int
-- only: sqlite
UPDATE feed SET items = items - 1, version = version + 1 WHERE id = :feed;

-- name: clean_tomb_many
-- args: now int, feeds int[], identities bytes[]
-- only: postgres
INSERT INTO feed_tombstone (feed_id, identity, at)
SELECT DISTINCT u.feed, u.identity, :now::bigint FROM unnest(:feeds::bigint[], :identities::bytea[]) AS u (feed, identity)
ON CONFLICT DO NOTHING;

-- name: clean_items_many
-- args: ids int[]
-- rows: n int
-- only: postgres
-- Counted by what went: another node may be at it too.
WITH gone AS (DELETE FROM feed_item i WHERE i.id = ANY (:ids::bigint[])
                 AND NOT EXISTS (SELECT 1 FROM item_state s WHERE s.item_id = i.id AND s.is_starred = 1) RETURNING i.feed_id),
     each AS (SELECT feed_id, count(*) AS n FROM gone GROUP BY feed_id),
     counted AS (UPDATE feed f SET items = f.items - each.n, version = f.version + 1 FROM each WHERE f.id = each.feed_id RETURNING each.n)
SELECT CAST(coalesce(sum(n), 0) AS BIGINT) FROM counted;
