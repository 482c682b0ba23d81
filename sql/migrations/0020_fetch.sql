-- Who asks Hatena for counts of bookmarks, and until when (reader/hatebu.h).
-- One row. next_at: when the next call may be; calls of the day that is `day`
-- days since 1970.
CREATE TABLE hatebu_turn (
    id       INTEGER NOT NULL PRIMARY KEY,
    owner    {{bytes}},
    until    BIGINT  NOT NULL,
    next_at  BIGINT  NOT NULL,
    failures INTEGER NOT NULL,
    day      BIGINT  NOT NULL,
    calls    BIGINT  NOT NULL
);
INSERT INTO hatebu_turn (id, until, next_at, failures, day, calls) VALUES (1, 0, 0, 0, 0, 0);
