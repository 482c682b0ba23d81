-- name: session_add
-- args: id bytes, user_id int, data text, expires_at int, now int
INSERT INTO sessions (id, user_id, data, expires_at, created_at)
VALUES (:id, :user_id, :data, :expires_at, :now);

-- name: session_trim
-- args: user_id int, keep int
-- The oldest go.
DELETE FROM sessions WHERE user_id = :user_id AND seq NOT IN
 (SELECT seq FROM sessions WHERE user_id = :user_id ORDER BY seq DESC LIMIT :keep);

-- name: session_find
-- args: id bytes, now int
-- rows: seq int, created_at int, user_id int, user_uid bytes, expires_at int, account_id int?, account_name text?, role text?
SELECT s.seq, s.created_at, u.id, u.uid, s.expires_at, a.id, a.name, a.role
  FROM sessions s
  JOIN users u ON u.id = s.user_id
  LEFT JOIN identities i ON i.user_id = u.id AND i.provider = 'local'
  LEFT JOIN account a ON a.name = i.provider_user_id
 WHERE s.id = :id AND s.expires_at > :now
 ORDER BY a.id LIMIT 1;

-- name: session_renew
-- args: seq int, expires_at int
UPDATE sessions SET expires_at = :expires_at WHERE seq = :seq AND expires_at < :expires_at;

-- name: session_data
-- args: id bytes
-- rows: data text, expires_at int
SELECT data, expires_at FROM sessions WHERE id = :id;

-- name: session_remove
-- args: id bytes
DELETE FROM sessions WHERE id = :id;

-- name: session_remove_account
-- args: name text, keep bytes
-- All of an account's but one, which may be none.
DELETE FROM sessions WHERE id <> :keep AND user_id IN
 (SELECT user_id FROM identities WHERE provider = 'local' AND provider_user_id = :name);

-- name: session_remove_user
-- args: user_id int, keep bytes
-- All of a person's but one, which may be none.
DELETE FROM sessions WHERE id <> :keep AND user_id = :user_id;

-- name: session_expired
-- args: now int
-- rows: seq int
SELECT seq FROM sessions WHERE expires_at <= :now LIMIT 1;

-- name: session_expire
-- args: now int, most int
DELETE FROM sessions WHERE seq IN
 (SELECT seq FROM sessions WHERE expires_at <= :now ORDER BY expires_at LIMIT :most);

-- name: user_get
-- args: id int
-- rows: uid bytes, email text, name text, created_at int
SELECT uid, email, name, created_at FROM users WHERE id = :id;
