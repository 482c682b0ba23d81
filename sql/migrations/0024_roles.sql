-- To take events from a pull consumer is a scope of its own: `consume`. Keys
-- that may read could take them, so they still may.
UPDATE api_key SET scopes = scopes || ' consume'
 WHERE ' ' || scopes || ' ' LIKE '% read %' AND ' ' || scopes || ' ' NOT LIKE '% consume %';
