-- name: batch_all
-- rows: sub int, pos int, idle int, step int, state text
SELECT sub, pos, idle, step, state FROM batch ORDER BY sub;

-- name: batch_one
-- args: sub int
-- rows: sub int, pos int, idle int, step int, state text
SELECT sub, pos, idle, step, state FROM batch WHERE sub = :sub;

-- name: batch_engage
-- args: sub int, pos int
-- From here on something waits to be gathered.
INSERT INTO batch (sub, pos, idle, step, state) VALUES (:sub, :pos, 0, 0, '')
ON CONFLICT (sub) DO UPDATE SET pos = excluded.pos, idle = 0;

-- name: batch_step
-- args: sub int, pos int, idle int, step int, state text
-- Changes nothing when this step was written before.
UPDATE batch SET pos = :pos, idle = :idle, step = :step, state = :state
 WHERE sub = :sub AND step < :step;

-- name: batch_end
-- args: sub int
DELETE FROM batch WHERE sub = :sub;

-- name: batch_kinds
-- args: sub int
-- rows: sub int, until_seq int, kind int
-- Of one subscription, or of all: 0.
SELECT sub, until_seq, kind FROM batch_kind WHERE sub = :sub OR :sub = 0 ORDER BY sub, until_seq;

-- name: batch_kind_put
-- args: sub int, until_seq int, kind int
INSERT INTO batch_kind (sub, until_seq, kind) VALUES (:sub, :until_seq, :kind) ON CONFLICT DO NOTHING;

-- name: batch_kind_old
-- args: sub int
-- Those that no entry of the log asks for any more.
DELETE FROM batch_kind WHERE sub = :sub AND until_seq < (SELECT coalesce(min(seq), 0) FROM log);

-- name: batch_kind_end
-- args: sub int
DELETE FROM batch_kind WHERE sub = :sub;

-- name: stat_drop
-- args: sub int, minute int, dropped int
INSERT INTO stat (sub, minute, ok, fail, dead, us, slow, dropped) VALUES (:sub, :minute, 0, 0, 0, 0, 0, :dropped)
ON CONFLICT (sub, minute) DO UPDATE SET dropped = stat.dropped + excluded.dropped;
