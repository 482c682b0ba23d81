-- A pull consumer is found by its name, and no two that live have the same.
CREATE UNIQUE INDEX subscription_consumer ON subscription (name)
 WHERE managed_by = 'consumer' AND until_seq IS NULL;
