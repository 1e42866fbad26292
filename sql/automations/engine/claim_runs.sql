DROP FUNCTION IF EXISTS claim_runs(integer, uuid[], uuid[]);

-- Locks due runs until the end of the transaction, longest due first. Skips runs that another worker, or an event that
-- wakes them, has locked. run_ids: only these runs of these accounts; null: any.
--
-- Reads the index in order, so that waiting runs are never read, however many there are.
CREATE FUNCTION claim_runs(max_count integer, accounts uuid[], run_ids uuid[]) RETURNS SETOF automation_runs
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  IF run_ids IS NULL THEN
    RETURN QUERY SELECT * FROM automation_runs r
    WHERE r.status = 'running' AND r.due_at <= now()
    ORDER BY r.due_at, r.id LIMIT max_count FOR NO KEY UPDATE SKIP LOCKED;
    RETURN;
  END IF;
  RETURN QUERY SELECT r.* FROM unnest(accounts, run_ids) AS w(account_id, id)
  CROSS JOIN LATERAL (
    SELECT * FROM automation_runs r
    -- Written so that the index of due runs, which has another order, does not match.
    WHERE r.account_id = w.account_id AND r.id = w.id AND (r.status = 'running') IS NOT FALSE AND r.due_at <= now()
    FOR NO KEY UPDATE SKIP LOCKED
  ) r;
END
$$;
