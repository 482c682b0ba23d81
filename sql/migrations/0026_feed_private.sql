-- A private feed is its subscribers' and admins' alone: its events carry ids and
-- nothing else (reader/subs.h). Whoever has an address with a secret in it reads
-- the feed, so feeds of such addresses are private.
ALTER TABLE feed ADD COLUMN private INTEGER NOT NULL DEFAULT 0;
UPDATE feed SET private = 1
 WHERE lower(feed_url) LIKE '%?%token=________%'
    OR lower(feed_url) LIKE '%?%auth=________%'
    OR lower(feed_url) LIKE '%?%key=________%'
    OR lower(feed_url) LIKE '%?%secret=________%'
    OR lower(feed_url) LIKE '%?%sig=________%'
    OR lower(feed_url) LIKE '%?%signature=________%'
    OR lower(feed_url) LIKE '%?%password=________%'
    OR lower(feed_url) LIKE '%?%passwd=________%'
    OR lower(feed_url) LIKE '%?%pwd=________%';
