-- name: account_any
-- rows: id int
SELECT id FROM account LIMIT 1;

-- name: account_add
-- args: name text, password text, role text, now int
-- No row changed: the name is taken.
INSERT INTO account (name, password, role, created_at, changed_at)
VALUES (:name, :password, :role, :now, :now) ON CONFLICT (name) DO NOTHING;

-- name: account_find
-- args: name text
-- rows: id int, name text, password text, role text, created_at int, changed_at int, user_id int?, user_uid bytes?
SELECT a.id, a.name, a.password, a.role, a.created_at, a.changed_at, u.id, u.uid
  FROM account a
  LEFT JOIN identities i ON i.provider = 'local' AND i.provider_user_id = a.name
  LEFT JOIN users u ON u.id = i.user_id
 WHERE a.name = :name;

-- name: user_add
-- args: uid bytes, email text, name text, now int
-- rows: id int
INSERT INTO users (uid, email, name, created_at, updated_at)
VALUES (:uid, :email, :name, :now, :now) RETURNING id;

-- name: identity_add
-- args: user_id int, provider text, provider_user_id text, now int
-- No row changed: somebody has it.
INSERT INTO identities (user_id, provider, provider_user_id, created_at)
VALUES (:user_id, :provider, :provider_user_id, :now)
ON CONFLICT (provider, provider_user_id) DO NOTHING;

-- name: user_of
-- args: provider text, provider_user_id text
-- rows: user_id int, email text, name text
SELECT u.id, u.email, u.name FROM identities i JOIN users u ON u.id = i.user_id
 WHERE i.provider = :provider AND i.provider_user_id = :provider_user_id;

-- name: user_change
-- args: id int, provider text, provider_user_id text, email text, name text, now int
-- By the person's oldest identity; what others say is theirs alone.
UPDATE users SET email = :email, name = :name, updated_at = :now
 WHERE id = :id AND (SELECT min(id) FROM identities WHERE user_id = :id) =
       (SELECT id FROM identities WHERE provider = :provider AND provider_user_id = :provider_user_id);

-- name: identity_list
-- args: user_id int, most int
-- rows: id int, provider text, provider_user_id text, created_at int
SELECT id, provider, provider_user_id, created_at FROM identities
 WHERE user_id = :user_id ORDER BY id LIMIT :most;

-- name: identity_lock
-- args: user_id int
-- rows: id int
-- Two that go at the same time would each think that the other stays.
SELECT id FROM users WHERE id = :user_id
--postgres: FOR UPDATE
;

-- name: identity_remove
-- args: user_id int, id int
DELETE FROM identities WHERE user_id = :user_id AND id = :id;

-- name: user_leave_feeds
-- args: id int
-- Feeds know how many read them; whoever goes is counted off.
UPDATE feed SET subscribers = subscribers - 1 WHERE subscribers > 0 AND id IN
 (SELECT feed_id FROM feed_subscription WHERE user_id = :id);

-- name: user_remove
-- args: id int
-- Identities, sessions, settings, categories, subscriptions and what was read
-- or starred go with it; feeds and articles stay.
DELETE FROM users WHERE id = :id;

-- name: user_settings_get
-- args: user_id int
-- rows: theme text
SELECT theme FROM user_settings WHERE user_id = :user_id;

-- name: user_looks_put
-- args: user_id int, looks text, now int
INSERT INTO user_settings (user_id, theme, looks, updated_at) VALUES (:user_id, 'light', :looks, :now)
ON CONFLICT (user_id) DO UPDATE SET looks = excluded.looks, updated_at = excluded.updated_at;

-- name: user_settings_put
-- args: user_id int, theme text, now int
INSERT INTO user_settings (user_id, theme, updated_at) VALUES (:user_id, :theme, :now)
ON CONFLICT (user_id) DO UPDATE SET theme = excluded.theme, updated_at = excluded.updated_at;

-- name: account_list
-- args: after text, most int
-- rows: id int, name text, role text, created_at int, changed_at int
SELECT id, name, role, created_at, changed_at FROM account
 WHERE name > :after ORDER BY name LIMIT :most;

-- name: account_password
-- args: name text, password text, now int
UPDATE account SET password = :password, changed_at = :now WHERE name = :name;

-- name: account_admins
-- rows: name text
-- Locked where others could remove one at the same time.
SELECT name FROM account WHERE role = 'admin' ORDER BY name
--postgres: FOR UPDATE
;

-- name: account_remove
-- args: name text
DELETE FROM account WHERE name = :name;

-- name: key_add
-- args: public_id bytes, name text, hash bytes, shown text, scopes text, tenants text?, rate int?, now int, created_by text, expires_at int?, webhook_secret text?
INSERT INTO api_key (public_id, name, hash, shown, scopes, tenants, rate_per_second, created_at, created_by, expires_at, webhook_secret)
VALUES (:public_id, :name, :hash, :shown, :scopes, :tenants, :rate, :now, :created_by, :expires_at, :webhook_secret);

-- name: key_by_hash
-- args: hash bytes
-- rows: id int, public_id bytes, name text, shown text, scopes text, tenants text?, rate int?, created_at int, created_by text, last_used_at int?, expires_at int?, revoked_at int?
SELECT id, public_id, name, shown, scopes, tenants, rate_per_second, created_at, created_by, last_used_at, expires_at, revoked_at
  FROM api_key WHERE hash = :hash;

-- name: key_get
-- args: public_id bytes
-- rows: as key_by_hash
SELECT id, public_id, name, shown, scopes, tenants, rate_per_second, created_at, created_by, last_used_at, expires_at, revoked_at
  FROM api_key WHERE public_id = :public_id;

-- name: key_list
-- args: after int, most int
-- rows: as key_by_hash
SELECT id, public_id, name, shown, scopes, tenants, rate_per_second, created_at, created_by, last_used_at, expires_at, revoked_at
  FROM api_key WHERE id > :after ORDER BY id LIMIT :most;

-- name: key_revoke
-- args: public_id bytes, now int
-- The first revocation is the one that is remembered.
UPDATE api_key SET revoked_at = coalesce(revoked_at, :now) WHERE public_id = :public_id;

-- name: key_touch
-- args: id int, now int
UPDATE api_key SET last_used_at = :now
 WHERE id = :id AND (last_used_at IS NULL OR last_used_at < :now);

-- name: key_secret_set
-- args: public_id bytes, webhook_secret text
UPDATE api_key SET webhook_secret = :webhook_secret WHERE public_id = :public_id;

-- name: key_secret
-- args: public_id bytes
-- rows: webhook_secret text?
SELECT webhook_secret FROM api_key WHERE public_id = :public_id;

-- name: key_public
-- args: id int
-- rows: public_id bytes
SELECT public_id FROM api_key WHERE id = :id;

-- name: rate_take
-- args: user_id int, kind int, spent int, now int
-- rows: ahead int
-- The clock is the database's where nodes share one. No row: there is no such person.
INSERT INTO rate (user_id, kind, full_at, told_at)
SELECT u.id, CAST(:kind AS BIGINT), t.at + :spent, t.at FROM users u,
--sqlite: (SELECT :now AS at) t
--postgres: (SELECT CASE WHEN :now::bigint > 0 THEN (extract(epoch FROM now()) * 1000000)::bigint END AS at) t
 WHERE u.id = :user_id
ON CONFLICT (user_id, kind) DO UPDATE SET told_at = excluded.told_at, full_at =
       CASE WHEN rate.full_at > excluded.told_at THEN rate.full_at ELSE excluded.told_at END + :spent
RETURNING full_at - told_at;

-- name: people_list
-- args: id int, name text, most int
-- rows: id int, login text, account text?, role text?, theme text?, looks text?
-- All people, or the one that has this id or this account.
SELECT u.id, coalesce(a.name, nullif(u.email, ''), u.name), a.name, a.role, t.theme, t.looks
  FROM users u
  LEFT JOIN identities i ON i.user_id = u.id AND i.provider = 'local'
  LEFT JOIN account a ON a.name = i.provider_user_id
  LEFT JOIN user_settings t ON t.user_id = u.id
 WHERE (:id = 0 OR u.id = :id) AND (:name = '' OR a.name = :name) ORDER BY 2, 1 LIMIT :most;
