-- Articles as a person sees them (reader/lists.h). A page goes down by
-- (published_at, id), below the place given; a search by id, which grows as
-- articles come in. Nobody sees what is in no feed of theirs.

-- name: list_feed
-- args: user int, feed int, unread int, at int, id int, most int
-- rows: id int, uid bytes, feed bytes, title text, link text?, published_at int, estimated int, is_read int, is_starred int, hatebu int, hatebu_at int?
-- One feed, all of it or what is unread.
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at
  FROM feed_subscription s
  JOIN feed f ON f.id = s.feed_id
  JOIN feed_item i ON i.feed_id = f.id
  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
 WHERE s.user_id = :user AND s.feed_id = :feed AND i.feed_id = :feed AND (i.published_at, i.id) < (:at, :id)
   AND (:unread = 0 OR coalesce(t.is_read, 0) = 0)
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most;

-- name: list_all
-- args: user int, category int?, unread int, uniq int, at int, id int, most int
-- rows: as list_feed
-- All feeds, or those of a category: as many as a page has of each, and of
-- those the newest. What is in another feed too is shown where it came first.
-- Feeds without anything unread are not looked through for it.
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at
  FROM feed_subscription s
  JOIN feed f ON f.id = s.feed_id
--sqlite: JOIN feed_item i ON i.id IN (
--postgres: CROSS JOIN LATERAL (
--sqlite:  SELECT x.id
--postgres:  SELECT x.*
    FROM feed_item x LEFT JOIN item_state r ON r.user_id = :user AND r.item_id = x.id
   WHERE x.feed_id = s.feed_id AND (x.published_at, x.id) < (:at, :id)
     AND (:unread = 0 OR coalesce(r.is_read, 0) = 0)
     AND (:uniq = 0 OR NOT EXISTS (
          SELECT 1 FROM feed_item d JOIN feed_subscription o ON o.user_id = :user AND o.feed_id = d.feed_id
           WHERE d.same_as = x.same_as AND d.id < x.id AND d.feed_id <> x.feed_id
             AND (:category IS NULL OR o.category_id = :category)))
   ORDER BY x.published_at DESC, x.id DESC LIMIT :most)
--postgres: i
  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
 WHERE s.user_id = :user AND (:category IS NULL OR s.category_id = :category)
   AND (:unread = 0 OR f.items > (
        SELECT count(*) FROM item_state c WHERE c.user_id = :user AND c.feed_id = s.feed_id AND c.is_read = 1))
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most;

-- name: list_starred
-- args: user int, feed int?, category int?, at int, id int, most int
-- rows: as list_feed
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, t.is_read, t.is_starred,
       i.hatebu_count, i.hatebu_fetched_at
  FROM item_state t
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = t.feed_id
  JOIN feed f ON f.id = t.feed_id
  JOIN feed_item i ON i.id = t.item_id
 WHERE t.user_id = :user AND t.is_starred = 1 AND (:feed IS NULL OR t.feed_id = :feed)
   AND (:category IS NULL OR s.category_id = :category) AND (i.published_at, i.id) < (:at, :id)
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most;

-- name: list_search
-- args: user int, query text, feed int?, category int?, unread int, starred int, id int, most int
-- rows: as list_feed
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at
  FROM item_terms q
--sqlite:  CROSS JOIN feed_item i ON i.id = q.rowid
--postgres:  JOIN feed_item i ON i.id = q.item_id
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
  JOIN feed f ON f.id = i.feed_id
  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
 WHERE (:feed IS NULL OR i.feed_id = :feed) AND (:category IS NULL OR s.category_id = :category)
   AND (:unread = 0 OR coalesce(t.is_read, 0) = 0) AND (:starred = 0 OR t.is_starred = 1)
--sqlite:   AND q.terms MATCH :query AND q.rowid < :id ORDER BY q.rowid DESC LIMIT :most;
--postgres:   AND q.terms @@ CAST(:query AS text)::tsquery AND q.item_id < :id ORDER BY q.item_id DESC LIMIT :most;

-- name: item_newest
-- rows: id int
SELECT coalesce(max(id), 0) FROM feed_item;

-- name: item_get
-- args: user int, uid bytes
-- rows: id int, uid bytes, feed bytes, title text, link text?, published_at int, estimated int, is_read int, is_starred int, hatebu int, hatebu_at int?, author text?, categories text?, enclosures text?, summary text?, content text?, thumbnail text?
SELECT i.id, i.uid, f.uid, i.title, i.link, i.published_at, i.is_date_estimated, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       i.hatebu_count, i.hatebu_fetched_at, i.author, i.categories, i.enclosures, i.summary, i.content, i.thumbnail
  FROM feed_item i
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
  JOIN feed f ON f.id = i.feed_id
  LEFT JOIN item_state t ON t.user_id = :user AND t.item_id = i.id
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
-- rows: is_read int, is_starred int, updated_at int
SELECT t.is_read, t.is_starred, t.updated_at
  FROM feed_item i JOIN item_state t ON t.user_id = :user AND t.item_id = i.id WHERE i.uid = :uid;

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
   AND NOT EXISTS (SELECT 1 FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id AND r.is_read = 1)
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most
ON CONFLICT (user_id, item_id) DO UPDATE SET is_read = 1, updated_at = excluded.updated_at;

