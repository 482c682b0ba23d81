-- begun_by: the run of a server (a UUID of its own at each start) that began to
-- fetch this feed and has written no result yet. Whoever claims a feed that
-- another run began takes it that the run died of it (reader/fetcher.h).
ALTER TABLE feed ADD COLUMN begun_by {{bytes}};
