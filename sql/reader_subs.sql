-- Feeds, and who reads them (reader/feeds.h, subscription.h, category.h). Whatever is a person's own has
-- user_id in its statement.

-- part: stars
-- A person's, by feed: few, and counted at once.
(SELECT k.feed_id, count(*) AS n FROM item_state k WHERE k.user_id = :user AND k.is_starred = 1 GROUP BY k.feed_id)

-- name: feed_by_url
-- args: url text
-- rows: id int, uid bytes, subscribers int
SELECT id, uid, subscribers FROM feed WHERE feed_url = :url;

-- name: feed_add
-- args: uid bytes, url text, address text?, site_url text?, title text, next_fetch_at int, favicon_mime text?, favicon_data bytes?, private int, now int
INSERT INTO feed (uid, feed_url, address, site_url, title, fetch_status, consecutive_errors, parse_errors,
       next_fetch_at, claimed_until, subscribers, items, version, created_at, updated_at, favicon_mime, favicon_data, private)
VALUES (:uid, :url, :address, :site_url, :title, 'active', 0, 0,
       :next_fetch_at, 0, 0, 0, 1, :now, :now, :favicon_mime, :favicon_data, :private)
ON CONFLICT (feed_url) DO NOTHING;

-- name: feed_mark
-- args: feed int, private int, alone int, now int
-- alone: not while somebody else reads it too. What was planned as if it were
-- not so is planned anew.
UPDATE feed SET private = :private, version = version + 1, updated_at = :now
 WHERE id = :feed AND (:alone = 0 OR subscribers <= 1) AND (:private = 1 OR address IS NULL);

-- name: fsub_count
-- args: user int
-- rows: n int
SELECT count(*) FROM feed_subscription WHERE user_id = :user;

-- name: fsub_add
-- args: uid bytes, user int, feed int, interval int, now int
INSERT INTO feed_subscription (uid, user_id, feed_id, fetch_interval_minutes, created_at, updated_at)
VALUES (:uid, :user, :feed, :interval, :now, :now) ON CONFLICT (user_id, feed_id) DO NOTHING;

-- name: fsub_has
-- args: user int, feed int
-- rows: n int
SELECT count(*) FROM feed_subscription WHERE user_id = :user AND feed_id = :feed;

-- name: feed_subscribers
-- args: feed int
-- Counted anew: two that subscribe at once on PostgreSQL lock the row.
UPDATE feed SET subscribers = (SELECT count(*) FROM feed_subscription s WHERE s.feed_id = feed.id) WHERE id = :feed;

-- name: fsub_del
-- args: user int, feed int
DELETE FROM feed_subscription WHERE user_id = :user AND feed_id = :feed;

-- name: fsub_states_del
-- args: user int, feed int
DELETE FROM item_state WHERE user_id = :user AND feed_id = :feed;

-- name: fsub_states_by_guid
-- args: user int, feed int, to_feed int
-- What the person did with articles of one feed, for those of another: by their ids …
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at, played)
SELECT t.user_id, n.id, n.feed_id, t.is_read, t.is_starred, t.updated_at, t.played
  FROM item_state t JOIN feed_item o ON o.id = t.item_id
  JOIN feed_item n ON n.feed_id = :to_feed AND n.guid_or_id = o.guid_or_id
 WHERE t.user_id = :user AND t.feed_id = :feed
ON CONFLICT (user_id, item_id) DO NOTHING;

-- name: fsub_states_by_link
-- args: as fsub_states_by_guid
-- … and where no id is the same, by what a link means (reader/same.h), when one article of each has it.
INSERT INTO item_state (user_id, item_id, feed_id, is_read, is_starred, updated_at, played)
SELECT t.user_id, n.id, n.feed_id, t.is_read, t.is_starred, t.updated_at, t.played
  FROM (SELECT same_as, max(id) AS id FROM feed_item
         WHERE feed_id = :feed AND same_as IS NOT NULL GROUP BY same_as HAVING count(*) = 1) o
  JOIN (SELECT same_as, max(id) AS id, max(feed_id) AS feed_id FROM feed_item
         WHERE feed_id = :to_feed AND same_as IS NOT NULL GROUP BY same_as HAVING count(*) = 1) n ON n.same_as = o.same_as
  JOIN item_state t ON t.user_id = :user AND t.item_id = o.id
 WHERE NOT EXISTS (SELECT 1 FROM feed_item a JOIN feed_item b ON b.feed_id = :to_feed AND b.guid_or_id = a.guid_or_id
                    WHERE a.id = o.id)
ON CONFLICT (user_id, item_id) DO NOTHING;

-- name: fsub_move
-- args: user int, feed int, to_feed int, now int
-- A user name and password are for the feed that they were given for.
UPDATE feed_subscription SET feed_id = :to_feed, login = NULL, updated_at = :now WHERE user_id = :user AND feed_id = :feed;

-- name: fsub_find
-- args: user int, uid bytes
-- rows: feed int
SELECT feed_id FROM feed_subscription WHERE user_id = :user AND uid = :uid;

-- name: fsub_feed
-- args: user int, uid bytes
-- rows: feed int
-- A feed that the person has.
SELECT f.id FROM feed f JOIN feed_subscription s ON s.feed_id = f.id AND s.user_id = :user WHERE f.uid = :uid;

-- name: fsub_login
-- args: user int, feed int
-- rows: uid bytes, own int, url text, login text?
SELECT s.uid, CASE WHEN f.address IS NULL THEN 0 ELSE 1 END, coalesce(f.address, f.feed_url), s.login
  FROM feed_subscription s JOIN feed f ON f.id = s.feed_id WHERE s.user_id = :user AND s.feed_id = :feed;

-- name: fsub_set_login
-- args: user int, feed int, login text?, now int
UPDATE feed_subscription SET login = :login, updated_at = :now WHERE user_id = :user AND feed_id = :feed;

-- name: fsub_interval
-- args: user int, uid bytes, interval int, now int
UPDATE feed_subscription SET fetch_interval_minutes = :interval, updated_at = :now WHERE user_id = :user AND uid = :uid;

-- name: feed_sooner
-- args: feed int, interval int
-- Somebody wants it more often than anybody did: not later than that. What
-- backs off goes on to do so.
UPDATE feed SET next_fetch_at = last_fetch_at + :interval * 60000000
 WHERE id = :feed AND fetch_status = 'active' AND consecutive_errors = 0 AND last_fetch_at IS NOT NULL
   AND next_fetch_at > last_fetch_at + :interval * 60000000;

-- name: feed_resume
-- args: feed int, now int
-- What was stopped begins anew; what backs off is due, and goes on to do so if it fails again.
UPDATE feed SET consecutive_errors = CASE WHEN fetch_status = 'stopped' THEN 0 ELSE consecutive_errors END,
       parse_errors = CASE WHEN fetch_status = 'stopped' THEN 0 ELSE parse_errors END,
       error_message = CASE WHEN fetch_status = 'stopped' THEN NULL ELSE error_message END,
       fetch_status = 'active', next_fetch_at = :now, updated_at = :now
 WHERE id = :feed AND (fetch_status = 'stopped' OR consecutive_errors > 0);

-- name: feed_afresh
-- args: feed int, now int
-- It is asked for in another way: whatever came of it before says nothing, nor does what is under way.
UPDATE feed SET fetch_status = 'active', consecutive_errors = 0, parse_errors = 0, error_message = NULL, etag = NULL,
       last_modified = NULL, body_hash = NULL, next_fetch_at = :now, claimed_by = NULL, claimed_until = 0, begun_by = NULL,
       updated_at = :now WHERE id = :feed;

-- name: fsub_patch
-- args: user int, uid bytes, set_title int, title text?, set_category int, category int?, now int
UPDATE feed_subscription SET title = CASE WHEN :set_title = 1 THEN :title ELSE title END,
       category_id = CASE WHEN :set_category = 1 THEN :category ELSE category_id END, updated_at = :now
 WHERE user_id = :user AND uid = :uid;

-- name: fsub_list
-- args: user int, uid bytes?
-- rows: uid bytes, feed_uid bytes, title text, url text, icon int, interval int, status text, errors int, error text?, items int, read int, starred int, category bytes?, created_at int, site_url text?, last_fetch_at int?, next_fetch_at int, why_next text?
-- All of a person, or one. What is unread is what the feed has without what was
-- read: both are counted from an index alone.
SELECT s.uid, f.uid, coalesce(s.title, f.title), coalesce(f.address, f.feed_url), CASE WHEN f.favicon_mime IS NULL THEN 0 ELSE 1 END,
       s.fetch_interval_minutes, f.fetch_status, f.consecutive_errors, f.error_message,
       f.items, (SELECT count(*) FROM item_state t WHERE t.user_id = :user AND t.feed_id = f.id AND t.is_read = 1),
       coalesce(st.n, 0), c.uid, s.created_at, f.site_url, f.last_fetch_at, f.next_fetch_at,
       (SELECT x.why_next FROM feed_fetch x WHERE x.feed_id = f.id ORDER BY x.id DESC LIMIT 1)
  FROM feed_subscription s JOIN feed f ON f.id = s.feed_id LEFT JOIN feed_category c ON c.id = s.category_id
  LEFT JOIN {{stars}} AS st ON st.feed_id = f.id
 WHERE s.user_id = :user AND (:uid IS NULL OR s.uid = :uid) ORDER BY s.id;

-- name: feed_show
-- args: user int, uid bytes
-- rows: uid bytes, feed_url text, site_url text?, title text, etag text?, last_modified text?, status text, errors int, error text?, next_fetch_at int, last_fetch_at int?, created_at int, updated_at int, icon int, private int, login int
-- For one who has it.
SELECT f.uid, coalesce(f.address, f.feed_url), f.site_url, f.title, f.etag, f.last_modified, f.fetch_status, f.consecutive_errors, f.error_message,
       f.next_fetch_at, f.last_fetch_at, f.created_at, f.updated_at, CASE WHEN f.favicon_mime IS NULL THEN 0 ELSE 1 END, f.private,
       CASE WHEN s.login IS NULL THEN 0 ELSE 1 END
  FROM feed f JOIN feed_subscription s ON s.feed_id = f.id AND s.user_id = :user WHERE f.uid = :uid;

-- name: feed_icon
-- args: user int, uid bytes
-- rows: mime text?, data bytes?
SELECT f.favicon_mime, f.favicon_data
  FROM feed f JOIN feed_subscription s ON s.feed_id = f.id AND s.user_id = :user WHERE f.uid = :uid;

-- name: feed_fetches
-- args: user int, feed int, before int, most int
-- rows: id int, at int, took_us int, outcome text, http_status int, bytes int, inserted int, updated int, error text?, next_at int?, why_next text
SELECT x.id, x.at, x.took_us, x.outcome, x.http_status, x.bytes, x.inserted, x.updated, x.error, x.next_at, x.why_next
  FROM feed_fetch x
 WHERE x.feed_id = :feed AND x.id < :before
   AND EXISTS (SELECT 1 FROM feed_subscription s WHERE s.user_id = :user AND s.feed_id = :feed)
 ORDER BY x.id DESC LIMIT :most;

-- name: category_list
-- args: user int, uid bytes?
-- rows: uid bytes, title text, created_at int, updated_at int, feeds int, items int, read int, starred int
SELECT c.uid, c.title, c.created_at, c.updated_at, count(f.id), CAST(coalesce(sum(f.items), 0) AS BIGINT),
       CAST(coalesce(sum((SELECT count(*) FROM item_state t WHERE t.user_id = :user AND t.feed_id = f.id AND t.is_read = 1)), 0) AS BIGINT),
       CAST(coalesce(sum(st.n), 0) AS BIGINT)
  FROM feed_category c
  LEFT JOIN feed_subscription s ON s.category_id = c.id AND s.user_id = :user
  LEFT JOIN feed f ON f.id = s.feed_id
  LEFT JOIN {{stars}} AS st ON st.feed_id = f.id
 WHERE c.user_id = :user AND (:uid IS NULL OR c.uid = :uid)
 GROUP BY c.id, c.uid, c.title, c.created_at, c.updated_at ORDER BY c.title, c.id;

-- name: category_row
-- args: user int, uid bytes
-- rows: id int
SELECT id FROM feed_category WHERE user_id = :user AND uid = :uid;

-- name: category_count
-- args: user int
-- rows: n int
SELECT count(*) FROM feed_category WHERE user_id = :user;

-- name: category_add
-- args: uid bytes, user int, title text, now int
INSERT INTO feed_category (uid, user_id, title, created_at, updated_at) VALUES (:uid, :user, :title, :now, :now)
ON CONFLICT (user_id, title) DO NOTHING;

-- name: category_named
-- args: user int, title text
-- rows: uid bytes
SELECT uid FROM feed_category WHERE user_id = :user AND title = :title;

-- name: category_rename
-- args: user int, uid bytes, title text, now int
UPDATE feed_category SET title = :title, updated_at = :now WHERE user_id = :user AND uid = :uid;

-- name: category_del
-- args: user int, uid bytes
DELETE FROM feed_category WHERE user_id = :user AND uid = :uid;
