-- Tasks: documents that another system works on, and whose changes of status
-- are events (task/task.h). status: 0 queued, 1 processing, 2 completed,
-- 3 failed, 4 review required. owner: the API key that submitted it. confidence
-- is a JSON number as it was given, result and document JSON objects.
CREATE TABLE task (
    id              {{id}},
    uid             {{bytes}} NOT NULL UNIQUE,
    owner           BIGINT  NOT NULL,
    callback_url    TEXT,
    status          INTEGER NOT NULL,
    confidence      TEXT,
    forwarder_id    TEXT,
    forwarder_name  TEXT,
    result          TEXT,
    error_code      TEXT,
    error_message   TEXT,
    error_retryable INTEGER NOT NULL,
    reason          TEXT,
    document        TEXT,
    created_at      BIGINT  NOT NULL,
    changed_at      BIGINT  NOT NULL,
    completed_at    BIGINT,
    expires_at      BIGINT
);
CREATE INDEX task_expires ON task (expires_at) WHERE result IS NOT NULL;

-- The subscription behind a callback URL of a key, made when first used.
CREATE TABLE task_callback (
    owner BIGINT    NOT NULL,
    url   TEXT      NOT NULL,
    uid   {{bytes}} NOT NULL,
    PRIMARY KEY (owner, url)
);

-- Configurations of a key, for tasks that name no URL. uid is that of the
-- subscription, which has the rest. events: bits 1 << status.
CREATE TABLE task_config (
    uid           {{bytes}} NOT NULL PRIMARY KEY,
    owner         BIGINT  NOT NULL,
    url           TEXT    NOT NULL,
    events        INTEGER NOT NULL,
    retry_enabled INTEGER NOT NULL,
    max_retries   INTEGER NOT NULL,
    description   TEXT,
    created_at    BIGINT  NOT NULL,
    changed_at    BIGINT  NOT NULL,
    UNIQUE (owner, url)
);

-- Deliveries of a task: the event's place in the log, and who was told. event
-- is the status; state: 0 under way, 1 delivered, 2 failed. base: attempts made
-- before somebody began it anew.
CREATE TABLE task_event (
    seq   BIGINT  NOT NULL,
    sub   BIGINT  NOT NULL,
    task  BIGINT  NOT NULL,
    owner BIGINT  NOT NULL,
    event INTEGER NOT NULL,
    at    BIGINT  NOT NULL,
    state INTEGER NOT NULL,
    base  INTEGER NOT NULL,
    PRIMARY KEY (seq, sub)
);
CREATE INDEX task_event_task ON task_event (task, seq);
CREATE INDEX task_event_open ON task_event (sub) WHERE state = 0;

-- How many deliveries a key has, by what became of them, so that nobody counts.
CREATE TABLE task_count (
    owner     BIGINT NOT NULL PRIMARY KEY,
    total     BIGINT NOT NULL,
    delivered BIGINT NOT NULL,
    failed    BIGINT NOT NULL
);

-- How long attempts took: h0 to h6 count those up to 0.1, 0.5, 1, 2.5, 5, 10
-- and 30 s, each without those below. And failures by reason, of all together.
ALTER TABLE stat ADD COLUMN h0 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h1 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h2 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h3 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h4 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h5 BIGINT NOT NULL DEFAULT 0;
ALTER TABLE stat ADD COLUMN h6 BIGINT NOT NULL DEFAULT 0;
CREATE TABLE stat_reason (
    minute BIGINT  NOT NULL,
    reason INTEGER NOT NULL,
    n      BIGINT  NOT NULL,
    PRIMARY KEY (minute, reason)
);

-- Alerts that were told (ops/alerts.h). sub 0: of all deliveries together. Of
-- dead letters: how many of which minute were told.
CREATE TABLE alert (
    sub        BIGINT  NOT NULL,
    rule       INTEGER NOT NULL,
    firing     INTEGER NOT NULL,
    changed_at BIGINT  NOT NULL,
    minute     BIGINT  NOT NULL,
    n          BIGINT  NOT NULL,
    PRIMARY KEY (sub, rule)
);
