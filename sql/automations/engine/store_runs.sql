DROP FUNCTION IF EXISTS store_runs(json, json);

-- Stores runs that this transaction has claimed, with the steps that they have taken. Returns how many of each were
-- written; if these are not all, another worker has taken one of the steps. A step in which a run waits is written
-- again when it ends.
--
-- given_runs, given_steps: lists of advanced_run and taken_step.
CREATE FUNCTION store_runs(given_runs json, given_steps json, OUT runs integer, OUT steps integer)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
BEGIN
  UPDATE automation_runs r SET
    status = n.status, step = n.step, seq = n.seq, due_at = CASE WHEN n.status = 'running' THEN coalesce(n.due_at, 'infinity') END,
    wait_event = n.wait_event, wait_until = n.wait_until, seen_event = n.seen_event, consumed = n.consumed, event = n.event,
    refused_since = n.refused_since, has_sent = n.has_sent, has_skipped = n.has_skipped, attempt = 0, error = n.error,
    completed_at = CASE WHEN n.status <> 'running' THEN now() END
  FROM json_populate_recordset(NULL::advanced_run, given_runs) AS n
  WHERE r.account_id = n.account_id AND r.id = n.id AND r.seq = n.expected;
  GET DIAGNOSTICS runs = ROW_COUNT;

  INSERT INTO automation_run_steps AS s (account_id, run_id, seq, step, status, output, error, completed_at)
  SELECT n.account_id, n.run_id, n.seq, n.step, n.status, n.output, n.error,
    CASE WHEN n.status <> 'waiting' THEN now() END
  FROM json_populate_recordset(NULL::taken_step, given_steps) AS n
  ON CONFLICT (account_id, run_id, seq) DO UPDATE SET
    status = excluded.status, output = excluded.output, error = excluded.error, completed_at = excluded.completed_at
  WHERE s.status IN ('waiting', 'skipped') AND s.step = excluded.step;
  GET DIAGNOSTICS steps = ROW_COUNT;
END
$$;
