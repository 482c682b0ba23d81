-- What the protocols of apps read and change (reader/sync.h). Each statement
-- has the person in it. 2147483647 is the category of what has none; 0 and ''
-- ask for all. Many ids come as a JSON array.

-- name: sync_ids_up
-- args: user int, feed int, category int, after_id int, before_id int, since int, until int, crawled_since int, crawled_until int, changed_after int, changed_before int, is_read int, is_starred int, search text, visible int, flushed int, most int, skip int
-- rows: id int, created_at int
-- SQLite joins in the order written: along the key, no sorting.
SELECT i.id, i.created_at
  FROM feed_item i CROSS JOIN feed_subscription s
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
 WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND i.id > :after_id AND i.id < :before_id
   AND i.published_at >= :since AND i.published_at < :until
   AND i.created_at >= :crawled_since AND i.created_at < :crawled_until
   AND (i.updated_at > :changed_after OR coalesce(t.updated_at, i.created_at) > :changed_after)
   AND i.updated_at < :changed_before AND coalesce(t.updated_at, i.created_at) < :changed_before
   AND (:is_read < 0 OR coalesce(t.is_read, 0) = :is_read)
   AND (:is_starred < 0 OR coalesce(t.is_starred, 0) = :is_starred)
   AND (coalesce(t.is_read, 0) = 0 OR t.is_starred = 1 OR t.updated_at > :flushed)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))
--sqlite:   AND (:search = '' OR i.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search))
--postgres:   AND (:search = '' OR i.id IN (SELECT q.item_id FROM item_terms q WHERE q.terms @@ CAST(:search AS text)::tsquery))
   AND s.feed_id = i.feed_id
 ORDER BY i.id LIMIT :most OFFSET :skip;

-- name: sync_ids_down
-- args: as sync_ids_up
-- rows: as sync_ids_up
SELECT i.id, i.created_at
  FROM feed_item i CROSS JOIN feed_subscription s
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
 WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND i.id > :after_id AND i.id < :before_id
   AND i.published_at >= :since AND i.published_at < :until
   AND i.created_at >= :crawled_since AND i.created_at < :crawled_until
   AND (i.updated_at > :changed_after OR coalesce(t.updated_at, i.created_at) > :changed_after)
   AND i.updated_at < :changed_before AND coalesce(t.updated_at, i.created_at) < :changed_before
   AND (:is_read < 0 OR coalesce(t.is_read, 0) = :is_read)
   AND (:is_starred < 0 OR coalesce(t.is_starred, 0) = :is_starred)
   AND (coalesce(t.is_read, 0) = 0 OR t.is_starred = 1 OR t.updated_at > :flushed)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))
--sqlite:   AND (:search = '' OR i.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search))
--postgres:   AND (:search = '' OR i.id IN (SELECT q.item_id FROM item_terms q WHERE q.terms @@ CAST(:search AS text)::tsquery))
   AND s.feed_id = i.feed_id
 ORDER BY i.id DESC LIMIT :most OFFSET :skip;

-- name: sync_dates_up
-- args: as sync_ids_up
-- rows: as sync_ids_up
SELECT i.id, i.created_at
  FROM feed_subscription s CROSS JOIN feed_item i
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
 WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND i.id > :after_id AND i.id < :before_id
   AND i.published_at >= :since AND i.published_at < :until
   AND i.created_at >= :crawled_since AND i.created_at < :crawled_until
   AND (i.updated_at > :changed_after OR coalesce(t.updated_at, i.created_at) > :changed_after)
   AND i.updated_at < :changed_before AND coalesce(t.updated_at, i.created_at) < :changed_before
   AND (:is_read < 0 OR coalesce(t.is_read, 0) = :is_read)
   AND (:is_starred < 0 OR coalesce(t.is_starred, 0) = :is_starred)
   AND (coalesce(t.is_read, 0) = 0 OR t.is_starred = 1 OR t.updated_at > :flushed)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))
--sqlite:   AND (:search = '' OR i.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search))
--postgres:   AND (:search = '' OR i.id IN (SELECT q.item_id FROM item_terms q WHERE q.terms @@ CAST(:search AS text)::tsquery))
   AND s.feed_id = i.feed_id
 ORDER BY i.published_at, i.id LIMIT :most OFFSET :skip;

-- name: sync_dates_down
-- args: as sync_ids_up
-- rows: as sync_ids_up
SELECT i.id, i.created_at
  FROM feed_subscription s CROSS JOIN feed_item i
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
 WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND i.id > :after_id AND i.id < :before_id
   AND i.published_at >= :since AND i.published_at < :until
   AND i.created_at >= :crawled_since AND i.created_at < :crawled_until
   AND (i.updated_at > :changed_after OR coalesce(t.updated_at, i.created_at) > :changed_after)
   AND i.updated_at < :changed_before AND coalesce(t.updated_at, i.created_at) < :changed_before
   AND (:is_read < 0 OR coalesce(t.is_read, 0) = :is_read)
   AND (:is_starred < 0 OR coalesce(t.is_starred, 0) = :is_starred)
   AND (coalesce(t.is_read, 0) = 0 OR t.is_starred = 1 OR t.updated_at > :flushed)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))
--sqlite:   AND (:search = '' OR i.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search))
--postgres:   AND (:search = '' OR i.id IN (SELECT q.item_id FROM item_terms q WHERE q.terms @@ CAST(:search AS text)::tsquery))
   AND s.feed_id = i.feed_id
 ORDER BY i.published_at DESC, i.id DESC LIMIT :most OFFSET :skip;

-- name: sync_count
-- args: as sync_ids_up
-- rows: n int
-- All of them, whatever most and skip say.
SELECT count(*)
  FROM feed_subscription s CROSS JOIN feed_item i
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
 WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND i.id > :after_id AND i.id < :before_id
   AND i.published_at >= :since AND i.published_at < :until
   AND i.created_at >= :crawled_since AND i.created_at < :crawled_until
   AND (i.updated_at > :changed_after OR coalesce(t.updated_at, i.created_at) > :changed_after)
   AND i.updated_at < :changed_before AND coalesce(t.updated_at, i.created_at) < :changed_before
   AND (:is_read < 0 OR coalesce(t.is_read, 0) = :is_read)
   AND (:is_starred < 0 OR coalesce(t.is_starred, 0) = :is_starred)
   AND (coalesce(t.is_read, 0) = 0 OR t.is_starred = 1 OR t.updated_at > :flushed)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))
--sqlite:   AND (:search = '' OR i.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search))
--postgres:   AND (:search = '' OR i.id IN (SELECT q.item_id FROM item_terms q WHERE q.terms @@ CAST(:search AS text)::tsquery))
   AND s.feed_id = i.feed_id AND :most >= 0 AND :skip >= 0;

-- name: sync_items
-- args: user int, ids text
-- rows: id int, uid bytes, feed_id int, published_at int, created_at int, updated_at int, is_read int, is_starred int, changed_at int, link text?, title text, author text?, categories text?, enclosures text?, played text?, summary text?, content text?
SELECT i.id, i.uid, i.feed_id, i.published_at, i.created_at, i.updated_at, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       coalesce(t.updated_at, i.created_at), i.link, i.title, i.author, i.categories, i.enclosures, t.played, i.summary, i.content
  FROM feed_item i JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id
--sqlite: WHERE i.id IN (SELECT value FROM json_each(:ids));
--postgres: WHERE i.id IN (SELECT jsonb_array_elements_text(:ids::jsonb)::bigint);

-- name: sync_read
-- args: user int, ids text, value int, now int
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)
SELECT s.user_id, i.id, i.feed_id, :value, 0, :now
  FROM feed_item i JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
--sqlite: WHERE i.id IN (SELECT value FROM json_each(:ids))
--postgres: WHERE i.id IN (SELECT jsonb_array_elements_text(:ids::jsonb)::bigint)
ON CONFLICT (user_id, item_id) DO UPDATE SET is_read = excluded.is_read, updated_at = excluded.updated_at
 WHERE item_state.is_read <> excluded.is_read;

-- name: sync_star
-- args: as sync_read
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)
SELECT s.user_id, i.id, i.feed_id, 0, :value, :now
  FROM feed_item i JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
--sqlite: WHERE i.id IN (SELECT value FROM json_each(:ids))
--postgres: WHERE i.id IN (SELECT jsonb_array_elements_text(:ids::jsonb)::bigint)
ON CONFLICT (user_id, item_id) DO UPDATE SET is_starred = excluded.is_starred, updated_at = excluded.updated_at
 WHERE item_state.is_starred <> excluded.is_starred;

-- name: sync_star_turn
-- args: user int, item int, now int
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at)
SELECT s.user_id, i.id, i.feed_id, 0, 1, :now
  FROM feed_item i JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
 WHERE i.id = :item
ON CONFLICT (user_id, item_id) DO UPDATE SET is_starred = 1 - item_state.is_starred, updated_at = excluded.updated_at;

-- name: sync_play
-- args: user int, item int, played text, now int
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at, played)
SELECT s.user_id, i.id, i.feed_id, 0, 0, :now, :played
  FROM feed_item i JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
 WHERE i.id = :item
ON CONFLICT (user_id, item_id) DO UPDATE SET played = excluded.played;

-- name: sync_options
-- args: user int, feed int, hidden int, paused int, uncached int, now int
-- What is negative stays.
UPDATE feed_subscription SET hidden = CASE WHEN :hidden < 0 THEN hidden ELSE :hidden END,
       paused = CASE WHEN :paused < 0 THEN paused ELSE :paused END,
       uncached = CASE WHEN :uncached < 0 THEN uncached ELSE :uncached END, updated_at = :now
 WHERE user_id = :user AND feed_id = :feed;

-- name: sync_hide_category
-- args: user int, category int, hidden int, now int
UPDATE feed_category SET hidden = :hidden, updated_at = :now WHERE user_id = :user AND id = :category;

-- name: sync_flush
-- args: user int, now int
UPDATE users SET history_at = :now WHERE id = :user;

-- name: sync_flushed
-- args: user int
-- rows: at int
SELECT history_at FROM users WHERE id = :user;

-- name: sync_feeds
-- args: user int
-- rows: id int, uid bytes, sub_uid bytes, url text, site text?, title text, category_id int?, category text?, status text, errors int, error text?, last_fetch_at int?, next_fetch_at int, icon int, items int, read int, newest int?, created_at int, hidden int, paused int, uncached int, category_hidden int
SELECT f.id, f.uid, s.uid, f.feed_url, f.site_url, coalesce(s.title, f.title),
       c.id, c.title, f.fetch_status, f.consecutive_errors, f.error_message,
       f.last_fetch_at, f.next_fetch_at, CASE WHEN f.favicon_mime IS NULL THEN 0 ELSE 1 END, f.items,
       (SELECT count(*) FROM item_state t WHERE t.user_id = s.user_id AND t.feed_id = f.id AND t.is_read = 1),
       (SELECT max(i.published_at) FROM feed_item i WHERE i.feed_id = f.id), s.created_at,
       s.hidden, s.paused, s.uncached, coalesce(c.hidden, 0)
  FROM feed_subscription s JOIN feed f ON f.id = s.feed_id
  LEFT JOIN feed_category c ON c.id = s.category_id AND c.user_id = s.user_id
 WHERE s.user_id = :user ORDER BY CASE WHEN c.title IS NULL THEN 0 ELSE 1 END, c.title, f.id;

-- name: sync_categories
-- args: user int, most int
-- rows: id int, uid bytes, title text, hidden int
SELECT id, uid, title, hidden FROM feed_category WHERE user_id = :user ORDER BY title, id LIMIT :most;

-- name: sync_icon
-- args: user int, feed int
-- rows: mime text?, data bytes?
SELECT f.favicon_mime, f.favicon_data FROM feed f JOIN feed_subscription s ON s.feed_id = f.id AND s.user_id = :user
 WHERE f.id = :feed;

-- name: sync_due
-- args: user int, feed int, now int
-- Fetched soon, if it was not just now. 0: all of the person's.
UPDATE feed SET next_fetch_at = :now
 WHERE id IN (SELECT s.feed_id FROM feed_subscription s WHERE s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed))
   AND fetch_status = 'active' AND next_fetch_at > :now AND (last_fetch_at IS NULL OR last_fetch_at < :now - 60000000);
