-- What people took of all nodes (account/rates.h): a bucket for each person and
-- kind. full_at is when it will be full again, by the database's clock; told_at
-- when a node told of it last.
CREATE TABLE rate (
    user_id BIGINT NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    kind    BIGINT NOT NULL,
    full_at BIGINT NOT NULL,
    told_at BIGINT NOT NULL,
    PRIMARY KEY (user_id, kind)
);
