DROP FUNCTION IF EXISTS fence_deliveries(uuid[], uuid[], integer[], uuid[], double precision);

-- The last step before a final dot: only a claim whose lease still runs may go on, and from here on a lost lease is in
-- doubt. Answers the tokens that may; the dot of any other must not be written.
--
-- One by one in the order of ids, so that two statements cannot deadlock, and by their key. The plan is made once:
-- planning it costs twice as much as running it, and it is run for every few messages.
CREATE FUNCTION fence_deliveries(accounts uuid[], ids uuid[], attempts integer[], owners uuid[], lease_seconds double precision)
RETURNS TABLE (account_id uuid, id uuid, attempt integer, lease_owner uuid)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH mine AS MATERIALIZED (
    SELECT d.account_id, d.id
    FROM (SELECT * FROM unnest(accounts, ids, attempts, owners) AS t(account_id, id, attempt, lease_owner) ORDER BY t.id) t
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = t.account_id AND d.id = t.id AND d.attempt = t.attempt AND d.lease_owner = t.lease_owner
      FOR NO KEY UPDATE
    ) d
    WHERE d.phase = 'pre' AND d.lease_until > now()
  )
  UPDATE deliveries d SET phase = 'dot', lease_until = now() + make_interval(secs => lease_seconds)
  FROM mine WHERE d.account_id = mine.account_id AND d.id = mine.id
  RETURNING d.account_id, d.id, d.attempt, d.lease_owner;
END
$$;
