-- Articles as a person sees them (reader/lists.h). A page of one feed goes down
-- by (published_at, id), below the place given; others are ids of sql/sync.sql.
-- Nobody sees what is in no feed of theirs. LATERAL with OFFSET 0 is PostgreSQL's
-- word for looking a row up for each: without statistics it would take what a
-- person has, or a feed, for little, and read all of that instead.

-- name: list_feed
-- args: user int, feed int, unread int, at int, id int, most int
-- rows: id int, uid bytes, feed bytes, title text, link text?, published_at int, estimated int, is_read int, is_starred int, hatebu int, hatebu_at int?, author text?, thumbnail text?, excerpt text?
-- One feed, all of it or what is unread.
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at, i.author, i.thumbnail, i.excerpt
  FROM feed_subscription s
  JOIN feed f ON f.id = s.feed_id
  JOIN feed_item i ON i.feed_id = f.id
--sqlite:  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
--postgres:  LEFT JOIN LATERAL (SELECT * FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id OFFSET 0) t ON true
 WHERE s.user_id = :user AND s.feed_id = :feed AND i.feed_id = :feed AND (i.published_at, i.id) < (:at, :id)
   AND CASE WHEN :unread = 0 OR coalesce(t.is_read, 0) = 0 THEN true ELSE false END
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most;

-- name: list_rows
-- args: user int, ids text
-- rows: as list_feed
-- Those of a JSON array, in its order.
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at, i.author, i.thumbnail, i.excerpt
--sqlite:   FROM json_each(:ids) j CROSS JOIN feed_item i ON i.id = j.value
--postgres:   FROM jsonb_array_elements_text(CAST(:ids AS text)::jsonb) WITH ORDINALITY AS j (value, key)
--postgres:  CROSS JOIN LATERAL (SELECT * FROM feed_item k WHERE k.id = CAST(j.value AS bigint) OFFSET 0) i
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
  JOIN feed f ON f.id = i.feed_id
--sqlite:  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
--postgres:  LEFT JOIN LATERAL (SELECT * FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id OFFSET 0) t ON true
 ORDER BY j.key;

-- name: item_newest
-- rows: id int
SELECT coalesce(max(id), 0) FROM feed_item;

-- name: item_get
-- args: user int, uid bytes
-- rows: id int, uid bytes, feed bytes, title text, link text?, published_at int, estimated int, is_read int, is_starred int, hatebu int, hatebu_at int?, author text?, thumbnail text?, excerpt text?, categories text?, enclosures text?, summary text?, content text?
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at, i.author, i.thumbnail, i.excerpt, i.categories, i.enclosures, i.summary, i.content
  FROM feed_item i
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
  JOIN feed f ON f.id = i.feed_id
--sqlite:  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
--postgres:  LEFT JOIN LATERAL (SELECT * FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id OFFSET 0) t ON true
 WHERE i.uid = :uid;

-- name: state_put
-- args: user int, uid bytes, set_read int, is_read int, set_starred int, is_starred int, now int
-- Its time is that of the last change: the same again changes nothing.
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)
SELECT s.user_id, i.id, i.feed_id, CASE WHEN :set_read = 1 THEN :is_read ELSE 0 END,
       CASE WHEN :set_starred = 1 THEN :is_starred ELSE 0 END, :now
  FROM feed_item i JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
 WHERE i.uid = :uid
ON CONFLICT (user_id, item_id) DO UPDATE SET
       is_read = CASE WHEN :set_read = 1 THEN excluded.is_read ELSE item_state.is_read END,
       is_starred = CASE WHEN :set_starred = 1 THEN excluded.is_starred ELSE item_state.is_starred END,
       updated_at = CASE WHEN (:set_read = 1 AND item_state.is_read <> excluded.is_read)
                           OR (:set_starred = 1 AND item_state.is_starred <> excluded.is_starred)
                         THEN excluded.updated_at ELSE item_state.updated_at END;

-- name: state_get
-- args: user int, uid bytes
-- rows: id int, is_read int, is_starred int, updated_at int
SELECT i.id, t.is_read, t.is_starred, t.updated_at
  FROM feed_item i JOIN item_state t ON t.user_id = :user AND t.item_id = i.id WHERE i.uid = :uid;

-- name: state_items
-- args: user int, uids bytes
-- rows: at int, id int
-- Which of these ids, of 16 bytes each, are articles of theirs.
--sqlite: WITH RECURSIVE l (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM l WHERE i + 1 < length(:uids) / 16)
SELECT CAST(l.i AS BIGINT), k.id
--sqlite:   FROM l CROSS JOIN feed_item k ON k.uid = substr(:uids, l.i * 16 + 1, 16)
--postgres:   FROM generate_series(0, length(CAST(:uids AS bytea)) / 16 - 1) AS l (i)
--postgres:   JOIN feed_item k ON k.uid = substr(:uids, l.i * 16 + 1, 16)
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = k.feed_id;

-- name: read_feeds
-- args: user int, category int
-- rows: feed int
-- Those with something unread; 2147483647 is the category of what has none, 0 asks for all.
SELECT s.feed_id FROM feed_subscription s JOIN feed f ON f.id = s.feed_id
 WHERE s.user_id = :user AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND f.items > (SELECT count(*) FROM item_state c WHERE c.user_id = :user AND c.feed_id = s.feed_id AND c.is_read = 1)
 ORDER BY s.feed_id;

-- name: read_all
-- args: user int, feed int, upto int, before int, now int, most int
-- Of a feed that the person has, a step at a time.
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)
SELECT s.user_id, i.id, i.feed_id, 1, 0, :now
  FROM feed_subscription s JOIN feed_item i ON i.feed_id = s.feed_id
 WHERE s.user_id = :user AND s.feed_id = :feed AND i.feed_id = :feed AND i.id <= :upto AND i.created_at <= :before
   AND CASE coalesce((SELECT r.is_read FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id), 0) WHEN 0 THEN true ELSE false END
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most
ON CONFLICT (user_id, item_id) DO UPDATE SET is_read = 1, updated_at = excluded.updated_at;

