-- Whether a callback URL of a key has a task that is not done, or was done of late.
CREATE INDEX task_by_callback ON task (owner, callback_url, completed_at) WHERE callback_url IS NOT NULL;
