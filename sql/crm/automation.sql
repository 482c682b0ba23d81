-- Automation: what was sent. One row is one message, for one event and action.
CREATE TABLE IF NOT EXISTS notifications(
    event_id TEXT NOT NULL, action_key TEXT NOT NULL, recipient TEXT NOT NULL, text TEXT NOT NULL,
    PRIMARY KEY (event_id, action_key)) WITHOUT ROWID;

-- name: notify
-- args: event text, action text, recipient text, text text
-- 0 rows: sent before.
INSERT OR IGNORE INTO notifications VALUES (:event, :action, :recipient, :text);

-- name: workflow_on
-- args: object text
-- rows: id text, value text
SELECT id, value FROM settings
 WHERE kind = 'automation' AND object_name = :object AND active = 1 ORDER BY id;

-- name: automation_size
-- rows: sent int
SELECT count(*) FROM notifications;
