-- name: task_add
-- args: uid bytes, owner int, callback_url text?, document text?, now int
INSERT INTO task (uid, owner, callback_url, status, error_retryable, document, created_at, changed_at)
VALUES (:uid, :owner, :callback_url, 0, 0, :document, :now, :now);

-- name: task_get
-- args: uid bytes
-- rows: id int, owner int, callback_url text?, status int, confidence text?, forwarder_id text?, forwarder_name text?, has_result int, error_code text?, error_message text?, error_retryable int, reason text?, document text?, created_at int, changed_at int, completed_at int?, expires_at int?, uid bytes
SELECT id, owner, callback_url, status, confidence, forwarder_id, forwarder_name,
       CASE WHEN result IS NULL THEN 0 ELSE 1 END, error_code,
       error_message, error_retryable, reason, document, created_at, changed_at, completed_at, expires_at, uid
  FROM task WHERE uid = :uid;

-- name: task_page
-- args: owner int, after int, most int
-- rows: as task_get
-- Of one key, or of all: 0.
SELECT id, owner, callback_url, status, confidence, forwarder_id, forwarder_name,
       CASE WHEN result IS NULL THEN 0 ELSE 1 END, error_code,
       error_message, error_retryable, reason, document, created_at, changed_at, completed_at, expires_at, uid
  FROM task WHERE id > :after AND (:owner = 0 OR owner = :owner) ORDER BY id LIMIT :most;

-- name: task_page_status
-- args: owner int, status int, after int, most int
-- rows: as task_get
SELECT id, owner, callback_url, status, confidence, forwarder_id, forwarder_name,
       CASE WHEN result IS NULL THEN 0 ELSE 1 END, error_code,
       error_message, error_retryable, reason, document, created_at, changed_at, completed_at, expires_at, uid
  FROM task WHERE status = :status AND id > :after AND (:owner = 0 OR owner = :owner) ORDER BY id LIMIT :most;

-- name: task_result
-- args: id int
-- rows: result text?
SELECT result FROM task WHERE id = :id;

-- name: task_change
-- args: id int, was int, was_at int, status int, confidence text?, forwarder_id text?, forwarder_name text?, result text?, error_code text?, error_message text?, error_retryable int, reason text?, now int, completed_at int?, expires_at int?
-- Nothing is changed when somebody else changed it meanwhile.
UPDATE task SET status = :status, confidence = :confidence, forwarder_id = :forwarder_id, forwarder_name = :forwarder_name,
       result = :result, error_code = :error_code, error_message = :error_message, error_retryable = :error_retryable,
       reason = :reason, changed_at = :now, completed_at = :completed_at, expires_at = :expires_at
 WHERE id = :id AND status = :was AND changed_at = :was_at;

-- name: task_expire
-- args: now int, most int
-- Results past their time: nobody can fetch them any more.
UPDATE task SET result = NULL WHERE id IN
 (SELECT id FROM task WHERE result IS NOT NULL AND expires_at < :now ORDER BY expires_at LIMIT :most);

-- name: task_callback_find
-- args: owner int, url text
-- rows: sub int
SELECT s.id FROM task_callback c JOIN subscription s ON s.uid = c.uid
 WHERE c.owner = :owner AND c.url = :url AND s.until_seq IS NULL;

-- name: task_callback_add
-- args: owner int, url text, uid bytes
INSERT INTO task_callback (owner, url, uid) VALUES (:owner, :url, :uid);

-- name: task_callback_idle
-- args: cut int, most int
-- rows: owner int, url text, sub int, uid bytes
-- Those that nobody needs: each task was done before the cut, nothing is under
-- way and no dead letter waits. One that was switched off stays so.
SELECT c.owner, c.url, s.id, s.uid FROM task_callback c JOIN subscription s ON s.uid = c.uid
 WHERE s.until_seq IS NULL AND s.enabled = 1
   AND NOT EXISTS (SELECT 1 FROM task t WHERE t.owner = c.owner AND t.callback_url = c.url AND t.completed_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM task t WHERE t.owner = c.owner AND t.callback_url = c.url AND t.completed_at >= :cut)
   AND NOT EXISTS (SELECT 1 FROM task_event e WHERE e.sub = s.id AND e.state = 0)
   AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.sub = s.id AND d.state = 0)
 LIMIT :most;

-- name: task_callback_del
-- args: owner int, url text, sub int, cut int
-- If it is still so.
DELETE FROM task_callback WHERE owner = :owner AND url = :url
   AND EXISTS (SELECT 1 FROM subscription s WHERE s.id = :sub AND s.uid = task_callback.uid AND s.enabled = 1)
   AND NOT EXISTS (SELECT 1 FROM task t WHERE t.owner = :owner AND t.callback_url = :url AND t.completed_at IS NULL)
   AND NOT EXISTS (SELECT 1 FROM task t WHERE t.owner = :owner AND t.callback_url = :url AND t.completed_at >= :cut)
   AND NOT EXISTS (SELECT 1 FROM task_event e WHERE e.sub = :sub AND e.state = 0)
   AND NOT EXISTS (SELECT 1 FROM dead d WHERE d.sub = :sub AND d.state = 0);

-- name: task_subs
-- args: owner int
-- rows: sub int
-- Callbacks and configurations of a key.
SELECT id FROM subscription WHERE managed_by = 'task' AND owner = :owner AND until_seq IS NULL;

-- name: task_sub_put
-- args: sub int, conf text, now int
UPDATE subscription SET conf = :conf, changed_at = :now, version = version + 1 WHERE id = :sub;

-- name: task_config_subs
-- args: owner int, event int, most int
-- rows: sub int
-- Those of a key that are active and want the event: a bit.
SELECT s.id FROM task_config c JOIN subscription s ON s.uid = c.uid
 WHERE c.owner = :owner AND (c.events & :event) <> 0 AND s.enabled = 1 AND s.until_seq IS NULL
 ORDER BY s.id LIMIT :most;

-- name: task_config_list
-- args: owner int, uid bytes?, after int, most int
-- rows: sub int, version int, uid bytes, url text, events int, retry_enabled int, max_retries int, description text?, created_at int, changed_at int, enabled int, conf text
-- All of a key, or one.
SELECT s.id, s.version, c.uid, c.url, c.events, c.retry_enabled, c.max_retries, c.description, c.created_at, c.changed_at, s.enabled, s.conf
  FROM task_config c JOIN subscription s ON s.uid = c.uid
 WHERE c.owner = :owner AND (:uid IS NULL OR c.uid = :uid) AND s.until_seq IS NULL AND s.id > :after
 ORDER BY s.id LIMIT :most;

-- name: task_config_count
-- args: owner int
-- rows: n int
-- At most TASK_CONFIGS_MAX of them.
SELECT count(*) FROM task_config WHERE owner = :owner;

-- name: task_config_add
-- args: uid bytes, owner int, url text, events int, retry_enabled int, max_retries int, description text?, now int
INSERT INTO task_config (uid, owner, url, events, retry_enabled, max_retries, description, created_at, changed_at)
VALUES (:uid, :owner, :url, :events, :retry_enabled, :max_retries, :description, :now, :now);

-- name: task_config_set
-- args: uid bytes, url text, events int, retry_enabled int, max_retries int, description text?, now int
UPDATE task_config SET url = :url, events = :events, retry_enabled = :retry_enabled, max_retries = :max_retries,
       description = :description, changed_at = :now WHERE uid = :uid;

-- name: task_config_del
-- args: uid bytes
DELETE FROM task_config WHERE uid = :uid;

-- name: task_event_add
-- args: seq int, sub int, task int, owner int, event int, now int
INSERT INTO task_event (seq, sub, task, owner, event, at, state, base)
VALUES (:seq, :sub, :task, :owner, :event, :now, 0, 0);

-- name: task_event_find
-- args: seq int, sub int, owner int
-- rows: n int, okey int, skey int
-- Of this owner; with what was tried so far.
SELECT coalesce((SELECT max(a.n) FROM attempt a WHERE a.seq = e.seq AND a.sub = e.sub AND a.rep = 0), 0),
       coalesce(d.okey, 0), coalesce(d.skey, 0)
  FROM task_event e LEFT JOIN dead d ON d.sub = e.sub AND d.seq = e.seq AND d.rep = 0
 WHERE e.seq = :seq AND e.sub = :sub AND e.owner = :owner;

-- name: task_event_base
-- args: seq int, sub int, base int
UPDATE task_event SET base = :base WHERE seq = :seq AND sub = :sub;

-- name: task_event_list
-- args: task int, most int
-- rows: seq int, sub int, event int, at int, state int, base int, row_state int?, row_n int?, dead_state int?, dead_at int?, dead_reason int?, n int?, tried_at int?, us int?, status int?, verdict int?, detail text?
-- Newest first, with the last attempt of each.
SELECT e.seq, e.sub, e.event, e.at, e.state, e.base, r.state, r.n, d.state, d.at, d.reason, a.n, a.at, a.us, a.status, a.verdict, a.detail
  FROM task_event e
  LEFT JOIN delivery r ON r.sub = e.sub AND r.seq = e.seq AND r.rep = 0
  LEFT JOIN dead d ON d.sub = e.sub AND d.seq = e.seq AND d.rep = 0
  LEFT JOIN attempt a ON a.seq = e.seq AND a.sub = e.sub AND a.rep = 0
        AND a.n = (SELECT max(x.n) FROM attempt x WHERE x.seq = e.seq AND x.sub = e.sub AND x.rep = 0)
 WHERE e.task = :task ORDER BY e.seq DESC, e.sub DESC LIMIT :most;

-- name: task_count_new
-- args: owner int, n int
INSERT INTO task_count (owner, total, delivered, failed) VALUES (:owner, :n, 0, 0)
ON CONFLICT (owner) DO UPDATE SET total = task_count.total + excluded.total;

-- name: task_count_move
-- args: seq int, sub int, state int
-- Before task_event_state, which has to find it in its old one.
UPDATE task_count SET
       delivered = delivered + CASE WHEN :state = 1 THEN 1 ELSE 0 END - (SELECT CASE WHEN e.state = 1 THEN 1 ELSE 0 END FROM task_event e WHERE e.seq = :seq AND e.sub = :sub),
       failed = failed + CASE WHEN :state = 2 THEN 1 ELSE 0 END - (SELECT CASE WHEN e.state = 2 THEN 1 ELSE 0 END FROM task_event e WHERE e.seq = :seq AND e.sub = :sub)
 WHERE owner = (SELECT e.owner FROM task_event e WHERE e.seq = :seq AND e.sub = :sub AND e.state <> :state);

-- name: task_event_state
-- args: seq int, sub int, state int
UPDATE task_event SET state = :state WHERE seq = :seq AND sub = :sub;

-- name: task_count_end
-- args: owner int, sub int
-- A subscription ends: what was under way to it is given up.
UPDATE task_count SET failed = failed + (SELECT count(*) FROM task_event e WHERE e.sub = :sub AND e.state = 0)
 WHERE owner = :owner;

-- name: task_event_end
-- args: sub int
UPDATE task_event SET state = 2 WHERE sub = :sub AND state = 0;

-- name: task_count_get
-- args: owner int
-- rows: total int, delivered int, failed int
SELECT total, delivered, failed FROM task_count WHERE owner = :owner;
