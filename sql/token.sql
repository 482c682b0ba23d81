-- name: token_login
-- args: user_id int
-- rows: login text
-- What a person types as the name: that of the account, or the address.
SELECT coalesce(
         (SELECT i.provider_user_id FROM identities i
           WHERE i.user_id = u.id AND i.provider = 'local' ORDER BY i.id LIMIT 1),
         nullif(u.email, ''), u.name)
  FROM users u WHERE u.id = :user_id;

-- name: token_add
-- args: uid bytes, user_id int, name text, login text, shown text, hash bytes, fever_hash bytes, now int
INSERT INTO user_token (uid, user_id, name, login, shown, hash, fever_hash, created_at)
VALUES (:uid, :user_id, :name, :login, :shown, :hash, :fever_hash, :now);

-- name: token_count
-- args: user_id int
-- rows: n int
SELECT count(*) FROM user_token WHERE user_id = :user_id;

-- name: token_by_hash
-- args: hash bytes
-- rows: id int, uid bytes, user_id int, user_uid bytes, name text, login text, shown text, created_at int, last_used_at int?
SELECT t.id, t.uid, t.user_id, u.uid, t.name, t.login, t.shown, t.created_at, t.last_used_at
  FROM user_token t JOIN users u ON u.id = t.user_id WHERE t.hash = :hash;

-- name: token_by_fever
-- args: as token_by_hash
-- rows: as token_by_hash
SELECT t.id, t.uid, t.user_id, u.uid, t.name, t.login, t.shown, t.created_at, t.last_used_at
  FROM user_token t JOIN users u ON u.id = t.user_id WHERE t.fever_hash = :hash;

-- name: token_list
-- args: user_id int, most int
-- rows: as token_by_hash
SELECT t.id, t.uid, t.user_id, u.uid, t.name, t.login, t.shown, t.created_at, t.last_used_at
  FROM user_token t JOIN users u ON u.id = t.user_id
 WHERE t.user_id = :user_id ORDER BY t.id LIMIT :most;

-- name: token_remove
-- args: user_id int, uid bytes
DELETE FROM user_token WHERE user_id = :user_id AND uid = :uid;

-- name: token_remove_account
-- args: name text
-- All of an account's.
DELETE FROM user_token WHERE user_id IN
 (SELECT user_id FROM identities WHERE provider = 'local' AND provider_user_id = :name);

-- name: token_touch
-- args: id int, now int
UPDATE user_token SET last_used_at = :now
 WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :now);

-- name: token_user
-- args: login text
-- rows: id int
-- The person whose login that is.
SELECT u.id FROM users u
  LEFT JOIN identities i ON i.user_id = u.id AND i.provider = 'local' AND i.provider_user_id = :login
 WHERE i.id IS NOT NULL OR (u.email = :login AND u.email <> '')
 ORDER BY CASE WHEN i.id IS NULL THEN 1 ELSE 0 END, u.id LIMIT 1;
