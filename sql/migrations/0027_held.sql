-- Why nothing is sent to a subscription though it is enabled: its filter or
-- template overran or failed too often. NULL: it is not held.
ALTER TABLE subscription ADD COLUMN held TEXT;
CREATE INDEX subscription_held ON subscription (id) WHERE held IS NOT NULL;
-- What went wrong, in words, when there was no attempt that could tell it.
ALTER TABLE dead ADD COLUMN error TEXT;
