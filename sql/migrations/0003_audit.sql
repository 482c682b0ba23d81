-- Who did what (audit/audit.h). n has no gaps; hash chains each row to the one
-- before it. row is a JSON object, at and category stand in it too.
CREATE TABLE audit (
    n        {{seq}},
    at       BIGINT    NOT NULL,
    category TEXT      NOT NULL,
    row      TEXT      NOT NULL,
    hash     {{bytes}} NOT NULL
    --postgres: , PRIMARY KEY (n)
);
-- Both grow at one end: newest rows share their pages.
CREATE INDEX audit_at ON audit (at, n);
CREATE INDEX audit_category ON audit (category, at, n);

-- One row: the newest number and hash, and those before the oldest row kept.
CREATE TABLE audit_head (
    id       BIGINT    NOT NULL PRIMARY KEY,
    n        BIGINT    NOT NULL,
    hash     {{bytes}} NOT NULL,
    cut_n    BIGINT    NOT NULL,
    cut_hash {{bytes}} NOT NULL
);
--sqlite: INSERT INTO audit_head VALUES (1, 0, zeroblob(32), 0, zeroblob(32));
--postgres: INSERT INTO audit_head VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0, decode(repeat('00', 32), 'hex'));
