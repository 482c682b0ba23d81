-- A replay that its subscription waits for: nothing of its own is sent before
-- that is over.
ALTER TABLE replay ADD COLUMN exclusive INTEGER NOT NULL DEFAULT 0;

-- Each list of dead letters has its own index: the one over all of them, which
-- asks for seq > 0, is none that a planner may take for those of one
-- subscription, where it would read everybody's.
DROP INDEX dead_open;
CREATE INDEX dead_open ON dead (at, sub, seq, rep) WHERE state = 0 AND seq > 0;
