-- What apps that sync may ask for, beyond what the reader has by itself.
-- hidden: not among what is shown of all feeds at once. paused: this person
-- does not want it fetched. uncached: it is fetched without validators.
ALTER TABLE feed_subscription ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_subscription ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_subscription ADD COLUMN uncached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE feed_category ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0;

-- How far each file beside the article was played: a JSON array of seconds, in
-- the order of the files. Null: none was.
ALTER TABLE item_state ADD COLUMN played TEXT;

-- When the person last had Miniflux's history emptied; 0: never.
ALTER TABLE users ADD COLUMN history_at BIGINT NOT NULL DEFAULT 0;
