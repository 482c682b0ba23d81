-- A replay that its subscription waits for: nothing of its own is sent before
-- that is over.
ALTER TABLE replay ADD COLUMN exclusive INTEGER NOT NULL DEFAULT 0;
