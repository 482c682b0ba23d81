-- Which keys have sealed bodies of the log, and in which hours (event/sealed.h):
-- seq is that of the first such entry of the hour, or below it. A key is noted
-- before the first body is there, so a key that is not here is not needed.
CREATE TABLE log_key (
    kid  TEXT   NOT NULL,
    hour BIGINT NOT NULL,
    seq  BIGINT NOT NULL,
    PRIMARY KEY (kid, hour)
);
