-- name: audit_head_get
-- rows: n int, hash bytes, cut_n int, cut_hash bytes
SELECT n, hash, cut_n, cut_hash FROM audit_head WHERE id = 1;

-- name: audit_head_lock
-- rows: as audit_head_get
-- Inside a transaction that adds rows: the next one waits for its end.
SELECT n, hash, cut_n, cut_hash FROM audit_head WHERE id = 1
--postgres: FOR UPDATE
;

-- name: audit_head_put
-- args: n int, hash bytes
UPDATE audit_head SET n = :n, hash = :hash WHERE id = 1;

-- name: audit_cut_put
-- args: n int, hash bytes
UPDATE audit_head SET cut_n = :n, cut_hash = :hash WHERE id = 1;

-- name: audit_add
-- args: n int, at int, category text, row text, hash bytes
-- rows: many
INSERT INTO audit (n, at, category, row, hash) VALUES (:n, :at, :category, :row, :hash);

-- name: audit_page
-- args: from_at int, at int, n int, most int
-- rows: n int, at int, row text
-- Newest first, from behind (at, n) on.
SELECT n, at, row FROM audit
 WHERE at >= :from_at AND (at, n) < (:at, :n)
 ORDER BY at DESC, n DESC LIMIT :most;

-- name: audit_page_category
-- args: category text, from_at int, at int, n int, most int
-- rows: n int, at int, row text
SELECT n, at, row FROM audit
 WHERE category = :category AND at >= :from_at AND (at, n) < (:at, :n)
 ORDER BY at DESC, n DESC LIMIT :most;

-- name: audit_walk
-- args: after int, upto int, most int
-- rows: n int, at int, category text, row text, hash bytes
SELECT n, at, category, row, hash FROM audit
 WHERE n > :after AND n <= :upto ORDER BY n LIMIT :most;

-- name: audit_oldest
-- args: most int
-- rows: n int, at int, hash bytes
SELECT n, at, hash FROM audit ORDER BY n LIMIT :most;

-- name: audit_remove
-- args: upto int
DELETE FROM audit WHERE n <= :upto;
