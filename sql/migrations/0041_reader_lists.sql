-- Lists of all feeds by date, and what changed of a feed or of a person's
-- states (sql/sync.sql).
CREATE INDEX feed_item_date ON feed_item (published_at, id);
CREATE INDEX feed_item_changed ON feed_item (feed_id, updated_at);
CREATE INDEX item_state_changed ON item_state (updated_at, user_id);

-- What a person's apps keep of how they look: a JSON object of texts
-- (api/apps/miniflux_users.c). Null: nothing.
ALTER TABLE user_settings ADD COLUMN looks TEXT;
