-- dropStale and coalesce: deliver/stale.h.

-- The newest version of a record that was handed over to a subscription, and
-- the place in the log of the event that had it. rec_a and rec_b are 128 bits
-- of a hash that names the record (event/record.h); rv is microseconds. A row
-- goes when the log has lost that place and nothing older waits.
CREATE TABLE version (
    sub   BIGINT NOT NULL,
    rec_a BIGINT NOT NULL,
    rec_b BIGINT NOT NULL,
    rv    BIGINT NOT NULL,
    seq   BIGINT NOT NULL,
    PRIMARY KEY (sub, rec_a, rec_b)
)
--sqlite: WITHOUT ROWID
;
CREATE INDEX version_seq ON version (seq);

-- What waits, and of which record at which version: 0, 0 for none.
-- asked: by a person, who gets it whatever its age.
ALTER TABLE delivery ADD COLUMN rec_a BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN rec_b BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN rv BIGINT NOT NULL DEFAULT 0;
ALTER TABLE delivery ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;
