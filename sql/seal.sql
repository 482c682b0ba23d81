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
-- args: after int, most int
-- rows: id int, uid bytes, sealed text
-- Nobody opens one that has ended; its text goes with its rows.
SELECT id, uid, conf FROM subscription WHERE id > :after AND until_seq IS NULL ORDER BY id LIMIT :most;

-- name: seal_sub_put
-- args: id int, was text, sealed text
UPDATE subscription SET conf = :sealed WHERE id = :id AND conf = :was;
