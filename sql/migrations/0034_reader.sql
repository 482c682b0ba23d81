-- Lists by id of one feed (sql/sync.sql).
CREATE INDEX feed_item_feed ON feed_item (feed_id, id);

-- Articles up to this id have words of an older cut (doc/terms.h): they are
-- made anew, the newest first (reader/reterm.h). No row: none has.
CREATE TABLE item_reterm (
    one  INTEGER NOT NULL PRIMARY KEY,
    upto BIGINT  NOT NULL
);
INSERT INTO item_reterm (one, upto)
SELECT 1, x.newest FROM (SELECT max(id) AS newest FROM feed_item) AS x WHERE x.newest IS NOT NULL;
