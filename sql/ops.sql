-- name: alert_subs
-- args: after int, since int, most int
-- rows: sub int
-- With anything delivered or failed since that minute, by id.
SELECT DISTINCT sub FROM stat WHERE minute >= :since AND sub > :after ORDER BY sub LIMIT :most;

-- name: alert_sums
-- args: sub int, since int, hour int
-- rows: ok int, fail int, dead int, slow int, h0 int, h1 int, h2 int, h3 int, h4 int, h5 int, h6 int, dead_hour int
SELECT CAST(coalesce(sum(CASE WHEN minute >= :since THEN ok ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN fail ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN dead ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(max(CASE WHEN minute >= :since THEN slow ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h0 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h1 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h2 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h3 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h4 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h5 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h6 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(dead), 0) AS BIGINT)
  FROM stat WHERE sub = :sub AND minute >= :hour;

-- name: alert_totals
-- args: since int, hour int
-- rows: as alert_sums
-- The same over all of them.
SELECT CAST(coalesce(sum(CASE WHEN minute >= :since THEN ok ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN fail ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN dead ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(max(CASE WHEN minute >= :since THEN slow ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h0 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h1 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h2 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h3 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h4 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h5 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(CASE WHEN minute >= :since THEN h6 ELSE 0 END), 0) AS BIGINT),
       CAST(coalesce(sum(dead), 0) AS BIGINT)
  FROM stat WHERE minute >= :hour;

-- name: alert_reasons
-- args: since int
-- rows: reason int, n int
SELECT reason, CAST(sum(n) AS BIGINT) FROM stat_reason WHERE minute >= :since GROUP BY reason;

-- name: stat_reason_drop
-- args: before int
DELETE FROM stat_reason WHERE minute < :before;

-- name: alert_dead_since
-- args: sub int, minute int
-- rows: n int
SELECT CAST(coalesce(sum(dead), 0) AS BIGINT) FROM stat WHERE sub = :sub AND minute >= :minute;

-- name: alert_latest
-- args: sub int, most int
-- rows: at int, verdict int
-- The newest attempts, but for drops and those of events of our own.
SELECT a.at, a.verdict FROM attempt a JOIN log l ON l.seq = a.seq
 WHERE a.sub = :sub AND a.verdict <> 6 AND l.type NOT LIKE 'ops.%' ORDER BY a.seq DESC, a.n DESC LIMIT :most;

-- name: alert_behind
-- args: last int
-- rows: n int
-- Entries that readers have before them, as far as anything may be sent.
SELECT CAST(coalesce(sum(CASE WHEN r.until_seq > 0 THEN r.until_seq ELSE :last END - r.pos), 0) AS BIGINT)
  FROM reader r JOIN subscription s ON s.id = r.sub
 WHERE s.enabled = 1 AND s.held IS NULL AND s.until_seq IS NULL AND r.rep = 0;

-- name: alert_held
-- args: after int, most int
-- rows: sub int
-- Those that are held, by id.
SELECT id FROM subscription WHERE id > :after AND held IS NOT NULL AND until_seq IS NULL ORDER BY id LIMIT :most;

-- name: alert_known
-- args: since int, most int
-- rows: sub int, rule int, firing int, changed_at int, minute int, n int
SELECT sub, rule, firing, changed_at, minute, n FROM alert
 WHERE firing = 1 OR changed_at >= :since ORDER BY sub, rule LIMIT :most;

-- name: alert_put
-- args: sub int, rule int, firing int, now int, before int, minute int, n int
-- Nothing changes when it was told since `before`, here or by another node.
INSERT INTO alert (sub, rule, firing, changed_at, minute, n) VALUES (:sub, :rule, :firing, :now, :minute, :n)
ON CONFLICT (sub, rule) DO UPDATE SET firing = excluded.firing, changed_at = excluded.changed_at,
  minute = excluded.minute, n = excluded.n WHERE alert.changed_at <= :before;

-- name: alert_sweep
-- args: before int
DELETE FROM alert WHERE firing = 0 AND changed_at < :before;

-- name: alert_sub
-- args: sub int
-- rows: uid bytes, name text
SELECT uid, name FROM subscription WHERE id = :sub AND until_seq IS NULL;
