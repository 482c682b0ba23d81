-- Sources that providers post to (source/hook.h). conf is what a person wrote,
-- without the secrets, which are sealed in one piece: NULL when there are none.
CREATE TABLE hook_source (
    id         {{id}},
    uid        {{bytes}} NOT NULL UNIQUE,
    name       TEXT    NOT NULL UNIQUE,
    conf       TEXT    NOT NULL,
    secrets    TEXT,
    version    BIGINT  NOT NULL,
    created_at BIGINT  NOT NULL,
    changed_at BIGINT  NOT NULL
);
