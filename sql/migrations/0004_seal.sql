-- The secret that signs webhooks of tasks a key submits: sealed text
-- (seal/keyring.h); null in keys that were made before there was one.
ALTER TABLE api_key ADD COLUMN webhook_secret TEXT;
