-- Each column that holds sealed values has a page and a put, with these
-- arguments and rows; ops/reseal.c lists them.

-- name: seal_api_key_page
-- args: after int, most int
-- rows: id int, uid bytes, sealed text
SELECT id, public_id, webhook_secret FROM api_key
 WHERE id > :after AND webhook_secret IS NOT NULL ORDER BY id LIMIT :most;

-- name: seal_api_key_put
-- args: id int, was text, sealed text
-- Nothing is changed when somebody else has changed it meanwhile.
UPDATE api_key SET webhook_secret = :sealed WHERE id = :id AND webhook_secret = :was;

-- name: seal_meta_put
-- args: name text, was text?, value text
-- First and only when nobody else did; then only over what it was.
INSERT INTO meta (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE meta.value = :was;

-- name: seal_sub_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
-- Nobody opens one that has ended; its text goes with its rows.
SELECT id, uid, conf FROM subscription WHERE id > :after AND until_seq IS NULL ORDER BY id LIMIT :most;

-- name: seal_sub_put
-- args: as seal_api_key_put
UPDATE subscription SET conf = :sealed WHERE id = :id AND conf = :was;

-- name: seal_hook_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
SELECT id, uid, secrets FROM hook_source WHERE id > :after AND secrets IS NOT NULL ORDER BY id LIMIT :most;

-- name: seal_hook_put
-- args: as seal_api_key_put
UPDATE hook_source SET secrets = :sealed WHERE id = :id AND secrets = :was;

-- name: seal_session_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
SELECT seq, substr(id, 1, 16), data FROM sessions WHERE seq > :after ORDER BY seq LIMIT :most;

-- name: seal_session_put
-- args: as seal_api_key_put
UPDATE sessions SET data = :sealed WHERE seq = :id AND data = :was;

-- name: seal_session_secret_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
-- The one that was made: it stands in meta.
SELECT 1,
--sqlite: zeroblob(16),
--postgres: decode('00000000000000000000000000000000', 'hex'),
 value FROM meta WHERE name = 'session_secret' AND :after < 1 LIMIT :most;

-- name: seal_session_secret_put
-- args: as seal_api_key_put
UPDATE meta SET value = :sealed WHERE name = 'session_secret' AND value = :was AND :id = 1;

-- name: seal_hub_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
SELECT id, uid, secret FROM feed_hub WHERE id > :after ORDER BY id LIMIT :most;

-- name: seal_hub_put
-- args: as seal_api_key_put
UPDATE feed_hub SET secret = :sealed WHERE id = :id AND secret = :was;

-- name: seal_feed_login_page
-- args: as seal_api_key_page
-- rows: as seal_api_key_page
SELECT id, uid, login FROM feed_subscription WHERE id > :after AND login IS NOT NULL ORDER BY id LIMIT :most;

-- name: seal_feed_login_put
-- args: as seal_api_key_put
UPDATE feed_subscription SET login = :sealed WHERE id = :id AND login = :was;
