DROP FUNCTION IF EXISTS email_of(uuid, uuid);

-- Returns an email by its key, for joins with lists. Only the index by key has this order: with a plan that was made
-- while there were few emails, a plain join reads all of them.
CREATE FUNCTION email_of(account uuid, email_id uuid) RETURNS SETOF emails LANGUAGE sql STABLE AS $$
  SELECT * FROM emails e WHERE e.account_id = account AND e.id >= email_id AND e.id <= email_id ORDER BY e.id LIMIT 1
$$;

DROP FUNCTION IF EXISTS deliveries_by_key(uuid[], uuid[]);

-- Returns these deliveries, each found by its key in the same way.
CREATE FUNCTION deliveries_by_key(accounts uuid[], ids uuid[]) RETURNS SETOF deliveries LANGUAGE sql STABLE AS $$
  SELECT d.* FROM unnest(accounts, ids) AS w(account_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM deliveries d WHERE d.account_id = w.account_id AND d.id >= w.id AND d.id <= w.id ORDER BY d.id LIMIT 1
  ) d
$$;
