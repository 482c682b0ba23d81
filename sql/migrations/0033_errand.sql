-- What one node asks of the node that delivers (node/errand.h). A row is there
-- while its asker waits; answer is NULL until there is one. The clock is the
-- database's where nodes share one.
CREATE TABLE errand (
    id       {{id}},
    asker    TEXT   NOT NULL,
    question TEXT   NOT NULL,
    until_at BIGINT NOT NULL,
    answer   TEXT
);
-- Who works on tasks asks for those of a status.
CREATE INDEX task_status ON task (status, id);
