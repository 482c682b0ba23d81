-- The beginning of what an article says, without markup: for lists, which must not read all of it. None where it says
-- nothing, or came in before this.
ALTER TABLE feed_item ADD COLUMN excerpt TEXT;
