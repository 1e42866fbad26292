DROP FUNCTION IF EXISTS email_of(uuid, uuid);

-- Returns an email by its key, for joins with lists. Only the index by key has this order: with a plan that was made
-- while there were few emails, a plain join reads all of them.
CREATE FUNCTION email_of(account uuid, email_id uuid) RETURNS SETOF emails LANGUAGE sql STABLE AS $$
  SELECT * FROM emails e WHERE e.account_id = account AND e.id >= email_id AND e.id <= email_id ORDER BY e.id LIMIT 1
$$;
