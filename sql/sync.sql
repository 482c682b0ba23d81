-- What the protocols of apps, and lists of people, read and change
-- (reader/sync.h). Each statement has the person in it. 2147483647 is the
-- category of what has none; 0 and '' ask for all. Many ids come as a JSON
-- array.

-- part: theirs
s.user_id = :user AND (:feed = 0 OR s.feed_id = :feed)
   AND (:category = 0 OR coalesce(s.category_id, 2147483647) = :category)
   AND (:visible = 0 OR (s.hidden = 0 AND NOT EXISTS
         (SELECT 1 FROM feed_category h WHERE h.id = s.category_id AND h.hidden = 1)))

-- part: unread_left
(:is_read <> 0 OR (SELECT f.items FROM feed f WHERE f.id = s.feed_id) > (
        SELECT count(*) FROM item_state c WHERE c.user_id = :user AND c.feed_id = s.feed_id AND c.is_read = 1))

-- part: changed
coalesce((SELECT t.updated_at FROM item_state t WHERE t.user_id = :user AND t.item_id = x.id), x.created_at)

-- part: found
-- Of an article x, whether it is asked for; plain: by nothing but is_read. One
-- CASE, since PostgreSQL takes each condition of many for a rare one, and then
-- reads all and sorts rather than walk along an index. The state of an article
-- is a value that is looked up, not a condition: indexes of what is read or
-- starred would lead to all of the person's, and without statistics PostgreSQL
-- takes them for short.
CASE WHEN (:is_read < 0 OR :is_read = coalesce((
          SELECT r.is_read FROM item_state r WHERE r.user_id = :user AND r.item_id = x.id), 0))
      AND (:plain = 1 OR (
              x.id > :after_id AND x.id < :before_id AND x.published_at >= :since AND x.published_at < :until
          AND x.created_at >= :crawled_since AND x.created_at < :crawled_until
          AND (x.updated_at > :changed_after OR {{changed}} > :changed_after)
          AND x.updated_at < :changed_before AND {{changed}} < :changed_before
          AND (:is_starred < 0 OR :is_starred = coalesce((
               SELECT r.is_starred FROM item_state r WHERE r.user_id = :user AND r.item_id = x.id), 0))
          AND (:flushed = 0 OR 0 = coalesce((
               SELECT CASE WHEN h.is_read = 1 AND h.is_starred = 0 AND h.updated_at <= :flushed THEN 1 ELSE 0 END
                 FROM item_state h WHERE h.user_id = :user AND h.item_id = x.id), 0))
          AND (:uniq = 0 OR NOT EXISTS (
               SELECT 1 FROM feed_item d
                WHERE d.same_as = x.same_as AND CASE WHEN d.id < x.id AND d.feed_id <> x.feed_id THEN EXISTS (
                      SELECT 1 FROM feed_subscription o WHERE o.user_id = :user AND o.feed_id = d.feed_id
                         AND (:category = 0 OR coalesce(o.category_id, 2147483647) = :category)) ELSE false END))
          ))
     THEN true ELSE false END

-- A page of all feeds, by one of four orders, behind the place (at, id).
--
-- First the next articles of anybody are looked at, up to `near`: most of them are
-- this person's where few people read, and `hit` is the page. When it is not
-- enough the feeds are looked at one by one from there on: a page of
-- each would do, along its index; `cut` makes that less: of each feed the
-- article at `deep` is looked at, of these the 20th. 20 feeds have that many
-- before it, which are the page: :deep is (most + skip) / 20, and what is
-- behind it need not be read. Feeds without anything unread are not looked
-- through for it. Of one feed or a category nothing is `near`. What is in
-- another feed too (uniq) is shown where it came first.

-- part: hits
CASE WHEN
--sqlite:      x.feed_id IN (SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}})
--postgres:      x.feed_id = ANY (ARRAY(SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}}))
     THEN {{found}} ELSE false END

-- part: feeds_left
feed_subscription s WHERE {{theirs}} AND (SELECT count(*) FROM hit) < :most + :skip AND {{unread_left}} AND :search = ''

-- name: sync_ids_up
-- args: user int, feed int, category int, at int, id int, plain int, after_id int, before_id int, since int, until int, crawled_since int, crawled_until int, changed_after int, changed_before int, is_read int, is_starred int, uniq int, search text, visible int, flushed int, deep int, most int, skip int
-- rows: id int, created_at int
WITH near (at) AS MATERIALIZED (
  SELECT CASE WHEN :feed + :category > 0 THEN :id ELSE coalesce((
         SELECT x.id FROM feed_item x WHERE x.id > :id AND x.id <= :before_id - 1
          ORDER BY x.id LIMIT 1 OFFSET 4 * (:most + :skip) + 1000), :before_id - 1) END),
hit AS MATERIALIZED (
  SELECT x.id, x.created_at, x.published_at FROM feed_item x
   WHERE x.id > :id AND x.id <= (SELECT at FROM near) AND {{hits}}
   ORDER BY x.id LIMIT :most + :skip),
deep (feed_id, at) AS MATERIALIZED (
  SELECT s.feed_id, (
         SELECT x.id FROM feed_item x
          WHERE x.feed_id = s.feed_id AND x.id > (SELECT at FROM near) AND x.id <= :before_id - 1 AND {{found}}
          ORDER BY x.id LIMIT 1 OFFSET :deep)
    FROM {{feeds_left}} AND :at = :at),
cut (at) AS MATERIALIZED (
  SELECT coalesce((SELECT d.at FROM deep d WHERE d.at IS NOT NULL ORDER BY d.at LIMIT 1 OFFSET 19), :before_id - 1))
SELECT i.id, i.created_at FROM (
  SELECT id, created_at, published_at FROM hit
  UNION ALL
  SELECT k.id, k.created_at, k.published_at FROM cut CROSS JOIN deep s
--sqlite:  CROSS JOIN feed_item k ON k.id IN (
--postgres:  CROSS JOIN LATERAL (
--sqlite:   SELECT x.id
--postgres:   SELECT x.id, x.created_at, x.published_at
    FROM feed_item x WHERE x.feed_id = s.feed_id AND x.id > (SELECT at FROM near) AND x.id <= cut.at AND {{found}}
   ORDER BY x.id LIMIT :most + :skip)
--postgres:  k
  ) AS i ORDER BY i.id LIMIT :most OFFSET :skip;

-- name: sync_ids_down
-- args: as sync_ids_up
-- rows: as sync_ids_up
WITH near (at) AS MATERIALIZED (
  SELECT CASE WHEN :feed + :category > 0 THEN :id ELSE coalesce((
         SELECT x.id FROM feed_item x WHERE x.id < :id AND x.id >= :after_id + 1
          ORDER BY x.id DESC LIMIT 1 OFFSET 4 * (:most + :skip) + 1000), :after_id + 1) END),
hit AS MATERIALIZED (
  SELECT x.id, x.created_at, x.published_at FROM feed_item x
   WHERE x.id < :id AND x.id >= (SELECT at FROM near) AND {{hits}}
   ORDER BY x.id DESC LIMIT :most + :skip),
deep (feed_id, at) AS MATERIALIZED (
  SELECT s.feed_id, (
         SELECT x.id FROM feed_item x
          WHERE x.feed_id = s.feed_id AND x.id < (SELECT at FROM near) AND x.id >= :after_id + 1 AND {{found}}
          ORDER BY x.id DESC LIMIT 1 OFFSET :deep)
    FROM {{feeds_left}} AND :at = :at),
cut (at) AS MATERIALIZED (
  SELECT coalesce((SELECT d.at FROM deep d WHERE d.at IS NOT NULL ORDER BY d.at DESC LIMIT 1 OFFSET 19), :after_id + 1))
SELECT i.id, i.created_at FROM (
  SELECT id, created_at, published_at FROM hit
  UNION ALL
  SELECT k.id, k.created_at, k.published_at FROM cut CROSS JOIN deep s
--sqlite:  CROSS JOIN feed_item k ON k.id IN (
--postgres:  CROSS JOIN LATERAL (
--sqlite:   SELECT x.id
--postgres:   SELECT x.id, x.created_at, x.published_at
    FROM feed_item x WHERE x.feed_id = s.feed_id AND x.id < (SELECT at FROM near) AND x.id >= cut.at AND {{found}}
   ORDER BY x.id DESC LIMIT :most + :skip)
--postgres:  k
  ) AS i ORDER BY i.id DESC LIMIT :most OFFSET :skip;

-- name: sync_dates_up
-- args: as sync_ids_up
-- rows: as sync_ids_up
WITH near (at) AS MATERIALIZED (
  SELECT CASE WHEN :feed + :category > 0 THEN :at ELSE coalesce((
         SELECT x.published_at FROM feed_item x WHERE (x.published_at, x.id) > (:at, :id) AND x.published_at <= :until - 1
          ORDER BY x.published_at, x.id LIMIT 1 OFFSET 4 * (:most + :skip) + 1000), :until - 1) END),
hit AS MATERIALIZED (
  SELECT x.id, x.created_at, x.published_at FROM feed_item x
   WHERE (x.published_at, x.id) > (:at, :id) AND x.published_at <= (SELECT at FROM near) AND {{hits}}
   ORDER BY x.published_at, x.id LIMIT :most + :skip),
deep (feed_id, at) AS MATERIALIZED (
  SELECT s.feed_id, (
         SELECT x.published_at FROM feed_item x
          WHERE x.feed_id = s.feed_id AND x.published_at > (SELECT at FROM near) AND x.published_at <= :until - 1 AND {{found}}
          ORDER BY x.published_at, x.id LIMIT 1 OFFSET :deep)
    FROM {{feeds_left}} AND :at = :at),
cut (at) AS MATERIALIZED (
  SELECT coalesce((SELECT d.at FROM deep d WHERE d.at IS NOT NULL ORDER BY d.at LIMIT 1 OFFSET 19), :until - 1))
SELECT i.id, i.created_at FROM (
  SELECT id, created_at, published_at FROM hit
  UNION ALL
  SELECT k.id, k.created_at, k.published_at FROM cut CROSS JOIN deep s
--sqlite:  CROSS JOIN feed_item k ON k.id IN (
--postgres:  CROSS JOIN LATERAL (
--sqlite:   SELECT x.id
--postgres:   SELECT x.id, x.created_at, x.published_at
    FROM feed_item x WHERE x.feed_id = s.feed_id AND x.published_at > (SELECT at FROM near) AND x.published_at <= cut.at AND {{found}}
   ORDER BY x.published_at, x.id LIMIT :most + :skip)
--postgres:  k
  ) AS i ORDER BY i.published_at, i.id LIMIT :most OFFSET :skip;

-- name: sync_dates_down
-- args: as sync_ids_up
-- rows: as sync_ids_up
WITH near (at) AS MATERIALIZED (
  SELECT CASE WHEN :feed + :category > 0 THEN :at ELSE coalesce((
         SELECT x.published_at FROM feed_item x WHERE (x.published_at, x.id) < (:at, :id) AND x.published_at >= :since
          ORDER BY x.published_at DESC, x.id DESC LIMIT 1 OFFSET 4 * (:most + :skip) + 1000), :since) END),
hit AS MATERIALIZED (
  SELECT x.id, x.created_at, x.published_at FROM feed_item x
   WHERE (x.published_at, x.id) < (:at, :id) AND x.published_at >= (SELECT at FROM near) AND {{hits}}
   ORDER BY x.published_at DESC, x.id DESC LIMIT :most + :skip),
deep (feed_id, at) AS MATERIALIZED (
  SELECT s.feed_id, (
         SELECT x.published_at FROM feed_item x
          WHERE x.feed_id = s.feed_id AND x.published_at < (SELECT at FROM near) AND x.published_at >= :since AND {{found}}
          ORDER BY x.published_at DESC, x.id DESC LIMIT 1 OFFSET :deep)
    FROM {{feeds_left}} AND :at = :at),
cut (at) AS MATERIALIZED (
  SELECT coalesce((SELECT d.at FROM deep d WHERE d.at IS NOT NULL ORDER BY d.at DESC LIMIT 1 OFFSET 19), :since))
SELECT i.id, i.created_at FROM (
  SELECT id, created_at, published_at FROM hit
  UNION ALL
  SELECT k.id, k.created_at, k.published_at FROM cut CROSS JOIN deep s
--sqlite:  CROSS JOIN feed_item k ON k.id IN (
--postgres:  CROSS JOIN LATERAL (
--sqlite:   SELECT x.id
--postgres:   SELECT x.id, x.created_at, x.published_at
    FROM feed_item x WHERE x.feed_id = s.feed_id AND x.published_at < (SELECT at FROM near) AND x.published_at >= cut.at AND {{found}}
   ORDER BY x.published_at DESC, x.id DESC LIMIT :most + :skip)
--postgres:  k
  ) AS i ORDER BY i.published_at DESC, i.id DESC LIMIT :most OFFSET :skip;

-- part: few
-- Of the articles k, which are few: all are read, and sorted.
--sqlite:  CROSS JOIN feed_item x ON x.id = k.item_id
--postgres:  CROSS JOIN LATERAL (SELECT * FROM feed_item y WHERE y.id = k.item_id OFFSET 0) x
 WHERE {{hits}} AND CASE WHEN :search = ''
--sqlite:       OR x.id IN (SELECT q.rowid FROM item_terms q WHERE q.terms MATCH :search)
--postgres:       OR (SELECT q.terms FROM item_terms q WHERE q.item_id = x.id) @@ CAST(:search AS text)::tsquery
     THEN true ELSE false END
   AND CASE :ord WHEN 0 THEN x.id > :id WHEN 1 THEN x.id < :id
            WHEN 2 THEN (x.published_at, x.id) > (:at, :id) ELSE (x.published_at, x.id) < (:at, :id) END
 ORDER BY CASE :ord WHEN 0 THEN x.id WHEN 1 THEN -x.id WHEN 2 THEN x.published_at ELSE -x.published_at END,
       CASE WHEN :ord IN (0, 2) THEN x.id ELSE -x.id END LIMIT :most OFFSET :skip

-- name: sync_starred
-- args: user int, feed int, category int, at int, id int, plain int, after_id int, before_id int, since int, until int, crawled_since int, crawled_until int, changed_after int, changed_before int, is_read int, is_starred int, uniq int, search text, visible int, flushed int, ord int, most int, skip int
-- rows: as sync_ids_up
SELECT x.id, x.created_at FROM (
  SELECT t.item_id FROM item_state t WHERE t.user_id = :user AND t.is_starred = 1) AS k {{few}};

-- name: sync_read_few
-- args: as sync_starred
-- rows: as sync_ids_up
SELECT x.id, x.created_at FROM (
  SELECT t.item_id FROM item_state t WHERE t.user_id = :user AND t.is_read = 1) AS k {{few}};

-- name: sync_changed
-- args: as sync_starred
-- rows: as sync_ids_up
-- Articles that changed, and those whose state did: by that index, which is of all people (+).
WITH k (item_id) AS MATERIALIZED (
  SELECT c.id FROM feed_subscription s CROSS JOIN feed_item c
   WHERE {{theirs}} AND c.feed_id = s.feed_id AND c.updated_at > :changed_after
  UNION
  SELECT t.item_id FROM item_state t WHERE +t.user_id = :user AND t.updated_at > :changed_after)
SELECT x.id, x.created_at FROM k {{few}};

-- name: sync_search_up
-- args: as sync_ids_up
-- rows: as sync_ids_up
-- By arrival. SQLite's index of words is read in that order. PostgreSQL's has none: first the nearest articles
-- are looked at one by one, which is enough when a word is common, and only then its index.
--postgres: WITH near AS MATERIALIZED (
--postgres:   SELECT q.item_id, q.terms FROM item_terms q WHERE q.item_id > :id ORDER BY q.item_id LIMIT :most + :skip + 500),
--postgres: hit AS MATERIALIZED (
--postgres:   SELECT x.id, x.created_at FROM near q JOIN feed_item x ON x.id = q.item_id
--postgres:    WHERE q.terms @@ CAST(:search AS text)::tsquery AND {{found}}
--postgres:      AND x.feed_id = ANY (ARRAY(SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}}))
--postgres:    ORDER BY x.id LIMIT :most + :skip)
--postgres: SELECT id, created_at FROM (
--postgres:   SELECT id, created_at FROM hit UNION ALL
--postgres:   SELECT x.id, x.created_at FROM item_terms q JOIN feed_item x ON x.id = q.item_id
--postgres:    WHERE (SELECT count(*) FROM hit) < :most + :skip AND q.item_id + 0 > (SELECT max(item_id) FROM near)
--postgres:      AND q.terms @@ CAST(:search AS text)::tsquery AND {{found}} AND :deep = :deep AND :at = :at
--postgres:      AND x.feed_id = ANY (ARRAY(SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}}))) AS a
--sqlite: SELECT x.id, x.created_at FROM item_terms q CROSS JOIN feed_item x ON x.id = q.rowid
--sqlite:   JOIN feed_subscription s ON s.feed_id = x.feed_id AND {{theirs}}
--sqlite:  WHERE q.terms MATCH :search AND q.rowid > :id AND {{found}} AND :deep = :deep AND :at = :at
--postgres:  ORDER BY id LIMIT :most OFFSET :skip;
--sqlite:  ORDER BY q.rowid LIMIT :most OFFSET :skip;

-- name: sync_search_down
-- args: as sync_ids_up
-- rows: as sync_ids_up
-- By arrival. SQLite's index of words is read in that order. PostgreSQL's has none: first the nearest articles
-- are looked at one by one, which is enough when a word is common, and only then its index.
--postgres: WITH near AS MATERIALIZED (
--postgres:   SELECT q.item_id, q.terms FROM item_terms q WHERE q.item_id < :id ORDER BY q.item_id DESC LIMIT :most + :skip + 500),
--postgres: hit AS MATERIALIZED (
--postgres:   SELECT x.id, x.created_at FROM near q JOIN feed_item x ON x.id = q.item_id
--postgres:    WHERE q.terms @@ CAST(:search AS text)::tsquery AND {{found}}
--postgres:      AND x.feed_id = ANY (ARRAY(SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}}))
--postgres:    ORDER BY x.id DESC LIMIT :most + :skip)
--postgres: SELECT id, created_at FROM (
--postgres:   SELECT id, created_at FROM hit UNION ALL
--postgres:   SELECT x.id, x.created_at FROM item_terms q JOIN feed_item x ON x.id = q.item_id
--postgres:    WHERE (SELECT count(*) FROM hit) < :most + :skip AND q.item_id + 0 < (SELECT min(item_id) FROM near)
--postgres:      AND q.terms @@ CAST(:search AS text)::tsquery AND {{found}} AND :deep = :deep AND :at = :at
--postgres:      AND x.feed_id = ANY (ARRAY(SELECT s.feed_id FROM feed_subscription s WHERE {{theirs}}))) AS a
--sqlite: SELECT x.id, x.created_at FROM item_terms q CROSS JOIN feed_item x ON x.id = q.rowid
--sqlite:   JOIN feed_subscription s ON s.feed_id = x.feed_id AND {{theirs}}
--sqlite:  WHERE q.terms MATCH :search AND q.rowid < :id AND {{found}} AND :deep = :deep AND :at = :at
--postgres:  ORDER BY id DESC LIMIT :most OFFSET :skip;
--sqlite:  ORDER BY q.rowid DESC LIMIT :most OFFSET :skip;

-- name: sync_totals
-- args: user int, feed int, category int, visible int
-- rows: items int, read int, starred int, starred_read int
-- From counters and indexes of what was read and starred.
SELECT CAST(coalesce(sum(f.items), 0) AS BIGINT),
       CAST(coalesce(sum((SELECT count(*) FROM item_state c WHERE c.user_id = :user AND c.feed_id = f.id AND c.is_read = 1)), 0) AS BIGINT),
       (SELECT count(*) FROM item_state k JOIN feed_subscription s ON s.user_id = k.user_id AND s.feed_id = k.feed_id
         WHERE k.user_id = :user AND k.is_starred = 1 AND {{theirs}}),
       (SELECT count(*) FROM item_state k JOIN feed_subscription s ON s.user_id = k.user_id AND s.feed_id = k.feed_id
         WHERE k.user_id = :user AND k.is_starred = 1 AND k.is_read = 1 AND {{theirs}})
  FROM feed_subscription s JOIN feed f ON f.id = s.feed_id WHERE {{theirs}};

-- name: sync_read_most
-- args: user int, most int
-- rows: n int
-- How many were read, up to so many.
SELECT count(*) FROM (SELECT 1 FROM item_state c WHERE c.user_id = :user AND c.is_read = 1 LIMIT :most) AS few;

-- name: sync_changed_most
-- args: user int, feed int, category int, visible int, changed_after int, most int
-- rows: n int
-- How many changed, or their states, up to so many of either.
SELECT (SELECT count(*) FROM (
         SELECT 1 FROM feed_subscription s CROSS JOIN feed_item c
          WHERE {{theirs}} AND c.feed_id = s.feed_id AND c.updated_at > :changed_after LIMIT :most) AS a)
     + (SELECT count(*) FROM (
         SELECT 1 FROM item_state t WHERE +t.user_id = :user AND t.updated_at > :changed_after LIMIT :most) AS b);

-- name: sync_bounds
-- args: since int, until int, id int
-- rows: first int?, behind int?, came int?
-- Articles that came at these times, or next; and when this one did, or the next.
SELECT (SELECT i.id FROM feed_item i WHERE i.created_at >= :since ORDER BY i.created_at LIMIT 1),
       (SELECT i.id FROM feed_item i WHERE i.created_at >= :until ORDER BY i.created_at LIMIT 1),
       (SELECT i.created_at FROM feed_item i WHERE i.id >= :id ORDER BY i.id LIMIT 1);

-- name: sync_items
-- args: user int, ids text
-- rows: id int, uid bytes, feed_id int, published_at int, created_at int, updated_at int, is_read int, is_starred int, changed_at int, link text?, title text, author text?, categories text?, enclosures text?, played text?, summary text?, content text?
SELECT i.id, i.uid, i.feed_id, i.published_at, i.created_at, i.updated_at, coalesce(t.is_read, 0), coalesce(t.is_starred, 0),
       coalesce(t.updated_at, i.created_at), i.link, i.title, i.author, i.categories, i.enclosures, t.played, i.summary, i.content
--sqlite:   FROM json_each(:ids) j CROSS JOIN feed_item i ON i.id = j.value
--postgres:   FROM jsonb_array_elements_text(CAST(:ids AS text)::jsonb) AS j (value)
--postgres:  CROSS JOIN LATERAL (SELECT * FROM feed_item k WHERE k.id = CAST(j.value AS bigint) OFFSET 0) i
  JOIN feed_subscription s ON s.user_id = :user AND s.feed_id = i.feed_id
--sqlite:  LEFT JOIN item_state t ON t.user_id = s.user_id AND t.item_id = i.id;
--postgres:  LEFT JOIN LATERAL (SELECT * FROM item_state r WHERE r.user_id = :user AND r.item_id = i.id OFFSET 0) t ON true;

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
-- args: user int, counted int
-- rows: id int, uid bytes, sub_uid bytes, url text, site text?, title text, category_id int?, category text?, status text, errors int, error text?, last_fetch_at int?, next_fetch_at int, icon int, items int, read int, newest int?, created_at int, hidden int, paused int, uncached int, category_hidden int, own int, login int
SELECT f.id, f.uid, s.uid, coalesce(f.address, f.feed_url), f.site_url, coalesce(s.title, f.title),
       c.id, c.title, f.fetch_status, f.consecutive_errors, f.error_message,
       f.last_fetch_at, f.next_fetch_at, CASE WHEN f.favicon_mime IS NULL THEN 0 ELSE 1 END, f.items,
       CASE WHEN :counted = 0 THEN 0 ELSE (
         SELECT count(*) FROM item_state t WHERE t.user_id = s.user_id AND t.feed_id = f.id AND t.is_read = 1) END,
       CASE WHEN :counted = 0 THEN NULL ELSE (SELECT max(i.published_at) FROM feed_item i WHERE i.feed_id = f.id) END, s.created_at,
       s.hidden, s.paused, s.uncached, coalesce(c.hidden, 0), CASE WHEN f.address IS NULL THEN 0 ELSE 1 END,
       CASE WHEN s.login IS NULL THEN 0 ELSE 1 END
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
