-- Fetching feeds: reader/fetch/fetcher.h.

-- name: fetch_claim
-- args: now int, until int, by bytes, most int
-- rows: id int, uid bytes, feed_url text, title text, site_url text?, etag text?, last_modified text?, body_hash bytes?, errors int, parse_errors int, interval_min int?, hubs int, begun_by bytes?, own int, login text?, login_of bytes?
-- Those that are due, for whoever asks first: a feed is somebody's until its
-- lease ends. Not what all who have it paused; without validators what one of
-- them wants so.
UPDATE feed SET claimed_by = :by, claimed_until = :until
 WHERE id IN (SELECT id FROM feed WHERE fetch_status = 'active' AND subscribers > 0
                 AND next_fetch_at <= :now AND claimed_until < :now
                 AND EXISTS (SELECT 1 FROM feed_subscription s WHERE s.feed_id = feed.id AND s.paused = 0)
               ORDER BY next_fetch_at LIMIT :most
--postgres:               FOR UPDATE SKIP LOCKED
             )
RETURNING id, uid, coalesce(address, feed_url), title, site_url,
 CASE WHEN EXISTS (SELECT 1 FROM feed_subscription s WHERE s.feed_id = feed.id AND s.uncached = 1) THEN NULL ELSE etag END,
 CASE WHEN EXISTS (SELECT 1 FROM feed_subscription s WHERE s.feed_id = feed.id AND s.uncached = 1) THEN NULL ELSE last_modified END,
 body_hash, consecutive_errors, parse_errors,
 (SELECT MIN(s.fetch_interval_minutes) FROM feed_subscription s WHERE s.feed_id = feed.id),
 (SELECT COUNT(*) FROM feed_hub h WHERE h.feed_id = feed.id AND h.state = 'verified' AND h.lease_until > :now
     AND h.pushed_at IS NOT NULL), begun_by, CASE WHEN address IS NULL THEN 0 ELSE 1 END,
 (SELECT s.login FROM feed_subscription s WHERE s.feed_id = feed.id AND s.login IS NOT NULL),
 (SELECT s.uid FROM feed_subscription s WHERE s.feed_id = feed.id AND s.login IS NOT NULL);

-- name: fetch_begin
-- args: id int, run bytes
-- rows: many
UPDATE feed SET begun_by = :run WHERE id = :id;

-- name: fetch_unbegin
-- args: as fetch_begin
-- rows: many
-- Its result can't be written, which is no fault of the feed's: it is fetched
-- again when its lease ends.
UPDATE feed SET begun_by = NULL WHERE id = :id AND begun_by = :run;

-- name: fetch_release
-- args: by bytes
-- All that a node gives back when it ends.
UPDATE feed SET claimed_by = NULL, claimed_until = 0, begun_by = NULL WHERE claimed_by = :by;

-- name: fetch_release_dead
-- args: by bytes
-- All that a node of this name had when it was killed: what it had begun stays
-- marked.
UPDATE feed SET claimed_by = NULL, claimed_until = 0 WHERE claimed_by = :by;

-- name: fetch_done
-- args: id int, title text?, site_url text?, etag text?, last_modified text?, body_hash bytes?, status text, errors int, parse_errors int, message text?, next int, now int, lease int
-- The validators are those of the last good answer; NULL: it had none. lease: claimed_until of the claim that it is the
-- result of, which may be nobody's any more; 0: of none.
UPDATE feed SET title = COALESCE(:title, title), site_url = COALESCE(:site_url, site_url), etag = :etag,
       last_modified = :last_modified, body_hash = :body_hash, fetch_status = :status, consecutive_errors = :errors,
       parse_errors = :parse_errors, error_message = :message, next_fetch_at = :next, last_fetch_at = :now,
       claimed_by = NULL, claimed_until = 0, begun_by = NULL, updated_at = :now
 WHERE id = :id AND (:lease = 0 OR claimed_until = :lease);

-- name: fetch_move
-- args: id int, url text, private int
-- A feed that moved for good. Not when another feed has that address.
UPDATE feed SET feed_url = :url, private = CASE WHEN :private = 1 THEN 1 ELSE private END
 WHERE id = :id AND NOT EXISTS (SELECT 1 FROM feed WHERE feed_url = :url);

-- name: fetch_add
-- args: feed int, at int, took int, outcome text, status int, bytes int, inserted int, updated int, error text?, next int?, why text
INSERT INTO feed_fetch (feed_id, at, took_us, outcome, http_status, bytes, inserted, updated, error, next_at, why_next)
VALUES (:feed, :at, :took, :outcome, :status, :bytes, :inserted, :updated, :error, :next, :why);

-- name: fetch_forget
-- args: before int, most int
-- Of the oldest, those past their time; ids grow with it.
DELETE FROM feed_fetch WHERE id IN
 (SELECT id FROM (SELECT id, at FROM feed_fetch ORDER BY id LIMIT :most) AS oldest WHERE at < :before);

-- name: fetch_any
-- rows: n int
SELECT COUNT(*) FROM (SELECT 1 FROM feed LIMIT 1) AS one;
