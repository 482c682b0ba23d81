-- An article's picture, as its feed names it: an address, http or https.
ALTER TABLE feed_item ADD COLUMN thumbnail TEXT;
