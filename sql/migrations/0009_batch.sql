-- Batches: deliver/batch.h. A subscription whose events are gathered has a row
-- once it had one. idle 0: what stands behind pos in the log is still to be
-- gathered; idle 1: nothing up to pos is, and what follows begins with the
-- cursor. step numbers the commits, so that one whose answer was lost is not
-- written twice. state: what waits under the limits of CHILD_* events, JSON.
CREATE TABLE batch (
    sub   BIGINT  NOT NULL PRIMARY KEY,
    pos   BIGINT  NOT NULL,
    idle  INTEGER NOT NULL,
    step  BIGINT  NOT NULL,
    state TEXT    NOT NULL
);

-- Up to until_seq it was gathered otherwise than now: 0 not at all, 1 CHILD_*
-- events, 2 all (enum wish_kind).
CREATE TABLE batch_kind (
    sub       BIGINT  NOT NULL,
    until_seq BIGINT  NOT NULL,
    kind      INTEGER NOT NULL,
    PRIMARY KEY (sub, until_seq)
)
--sqlite: WITHOUT ROWID
;

-- CHILD_* events that were dropped in that minute.
ALTER TABLE stat ADD COLUMN dropped BIGINT NOT NULL DEFAULT 0;
