-- What is found by its preset, and what of an ended subscription is still to
-- be dropped; 1: nothing is left.
ALTER TABLE subscription ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
CREATE INDEX subscription_preset ON subscription (preset);
CREATE INDEX subscription_left ON subscription (until_seq) WHERE until_seq IS NOT NULL AND dropped = 0;
