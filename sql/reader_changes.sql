-- What changed for people who read: reader/changes.h.

-- name: change_add
-- args: user int?, feed int?, kind text, what text
-- A number is somebody's until the commit, so that whoever saw one saw all before it.
--sqlite: INSERT INTO reader_change (user_id, feed_id, kind, what) VALUES (:user, :feed, :kind, :what);
--postgres: WITH last AS (UPDATE reader_change_last SET n = n + 1 WHERE one = 1 RETURNING n)
--postgres: INSERT INTO reader_change (n, user_id, feed_id, kind, what)
--postgres: SELECT last.n, CAST(:user AS bigint), CAST(:feed AS bigint), :kind, :what FROM last;

-- name: change_trim
-- args: keep int
DELETE FROM reader_change WHERE n <= (SELECT max(n) FROM reader_change) - :keep;

-- name: change_last
-- rows: oldest int, n int
-- The oldest that is there, and the newest.
SELECT coalesce((SELECT min(n) FROM reader_change), 0), coalesce((SELECT max(n) FROM reader_change), 0);

-- name: change_page
-- args: user int, after int, upto int, most int
-- rows: n int, kind text, what text, feed_uid bytes?
SELECT c.n, c.kind, c.what, f.uid
  FROM reader_change c LEFT JOIN feed f ON f.id = c.feed_id
 WHERE c.n > :after AND c.n <= :upto
   AND (c.user_id = :user OR (c.user_id IS NULL AND EXISTS
        (SELECT 1 FROM feed_subscription s WHERE s.user_id = :user AND s.feed_id = c.feed_id)))
 ORDER BY c.n LIMIT :most;

-- name: change_states
-- args: user int, ids text
-- rows: uid bytes, feed_uid bytes, is_read int, is_starred int
-- ids: a JSON array. What the person has of them, as it is now.
SELECT i.uid, f.uid, coalesce(t.is_read, 0), coalesce(t.is_starred, 0)
  FROM feed_item i JOIN feed f ON f.id = i.feed_id
  JOIN feed_subscription s ON s.feed_id = i.feed_id AND s.user_id = :user
  LEFT JOIN item_state t ON t.item_id = i.id AND t.user_id = :user
--sqlite:  WHERE i.id IN (SELECT value FROM json_each(:ids))
--postgres:  WHERE i.id IN (SELECT CAST(x AS bigint) FROM json_array_elements_text(CAST(:ids AS json)) AS x)
 ORDER BY i.id;
