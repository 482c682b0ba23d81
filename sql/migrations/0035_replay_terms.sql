-- A replay may be of one key and tenant; total is how many events it is of, when
-- that was counted.
ALTER TABLE replay ADD COLUMN pkey TEXT;
ALTER TABLE replay ADD COLUMN tenant {{bytes}};
ALTER TABLE replay ADD COLUMN total BIGINT;
