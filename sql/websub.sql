-- Hubs of feeds: reader/websub.h.

-- name: hub_of
-- args: feed int
-- rows: hub text, topic text
SELECT hub, topic FROM feed_hub WHERE feed_id = :feed;

-- name: hub_put
-- args: feed int, uid bytes, hub text, topic text, secret text, now int
-- A feed that names another hub begins anew, at another address of ours.
INSERT INTO feed_hub (uid, feed_id, hub, topic, secret, state, lease_until, next_at, failures, created_at, updated_at)
VALUES (:uid, :feed, :hub, :topic, :secret, 'new', 0, :now, 0, :now, :now)
ON CONFLICT (feed_id) DO UPDATE SET uid = excluded.uid, hub = excluded.hub, topic = excluded.topic,
       secret = excluded.secret, state = 'new', lease_until = 0, next_at = excluded.next_at, failures = 0, error = NULL,
       pushed_at = NULL, updated_at = excluded.updated_at
 WHERE feed_hub.hub <> excluded.hub OR feed_hub.topic <> excluded.topic;

-- name: hub_claim
-- args: now int, until int, most int
-- rows: id int, uid bytes, hub text, topic text, secret text, state text, failures int
-- Those with something to do, for whoever asks first. Who leaves is counted
-- from the start.
UPDATE feed_hub SET next_at = :until, updated_at = :now,
       failures = CASE WHEN state <> 'leaving' AND EXISTS
         (SELECT 1 FROM feed f WHERE f.id = feed_hub.feed_id AND f.subscribers = 0) THEN 1 ELSE failures + 1 END,
       state = CASE WHEN EXISTS (SELECT 1 FROM feed f WHERE f.id = feed_hub.feed_id AND f.subscribers = 0) THEN 'leaving'
         WHEN state = 'verified' THEN 'verified' ELSE 'asked' END
 WHERE id IN (SELECT h.id FROM feed_hub h JOIN feed f ON f.id = h.feed_id
               WHERE h.next_at <= :now OR (f.subscribers = 0 AND h.state <> 'leaving')
                  OR (f.subscribers > 0 AND h.state = 'leaving')
               ORDER BY h.next_at LIMIT :most
--postgres:               FOR UPDATE OF h SKIP LOCKED
             )
RETURNING id, uid, hub, topic, secret, state, failures;

-- name: hub_waits
-- args: id int, failures int, next int, now int
-- It was asked and will call back. Nothing, when it did so already.
UPDATE feed_hub SET next_at = :next, error = NULL, updated_at = :now WHERE id = :id AND failures = :failures;

-- name: hub_failed
-- args: id int, failures int, error text, next int, now int
UPDATE feed_hub SET next_at = :next, error = :error, updated_at = :now,
       state = CASE WHEN state = 'leaving' OR (state = 'verified' AND lease_until > :now) THEN state ELSE 'failed' END
 WHERE id = :id AND failures = :failures;

-- name: hub_find
-- args: uid bytes
-- rows: id int, topic text, secret text, state text, feed int, feed_uid bytes, feed_url text
SELECT h.id, h.topic, h.secret, h.state, f.id, f.uid, coalesce(f.address, f.feed_url)
  FROM feed_hub h JOIN feed f ON f.id = h.feed_id WHERE h.uid = :uid;

-- name: hub_verified
-- args: id int, until int, next int, now int
UPDATE feed_hub SET state = 'verified', lease_until = :until, next_at = :next, failures = 0, error = NULL, updated_at = :now
 WHERE id = :id AND state IN ('asked', 'verified', 'failed');

-- name: hub_denied
-- args: id int, error text, next int, now int
UPDATE feed_hub SET state = 'denied', lease_until = 0, next_at = :next, failures = 0, error = :error, updated_at = :now
 WHERE id = :id AND state IN ('asked', 'verified', 'failed');

-- name: hub_left
-- args: id int
DELETE FROM feed_hub WHERE id = :id AND state = 'leaving';

-- name: hub_pushed
-- args: id int, now int
UPDATE feed_hub SET pushed_at = :now WHERE id = :id;

-- name: hub_fetched
-- args: feed int, at int, took int, outcome text, bytes int, inserted int, updated int, error text?, why text
-- What came of a push, beside the fetches. The next one is when it was.
INSERT INTO feed_fetch (feed_id, at, took_us, outcome, http_status, bytes, inserted, updated, error, next_at, why_next)
SELECT id, :at, :took, :outcome, 0, :bytes, :inserted, :updated, :error, next_fetch_at, :why FROM feed WHERE id = :feed;
