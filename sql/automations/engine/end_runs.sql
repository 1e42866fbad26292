DROP FUNCTION IF EXISTS end_runs(uuid, uuid[]);
DROP FUNCTION IF EXISTS skip_runs(uuid, uuid[], text);

-- Ends runs and the steps that they wait in; the caller must have locked the runs. Returns how many.
CREATE FUNCTION skip_runs(account uuid, ids uuid[], reason text) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
  UPDATE automation_run_steps s SET status = 'skipped', completed_at = now()
  WHERE s.account_id = account AND s.run_id = ANY (ids) AND s.status = 'waiting';
  UPDATE automation_runs r SET status = 'skipped', due_at = NULL, wait_event = NULL, wait_until = NULL, refused_since = NULL,
    error = reason, completed_at = now()
  WHERE r.account_id = account AND r.id = ANY (ids);
  RETURN cardinality(ids);
END
$$;

-- Ends the runs of contacts that are deleted in this transaction.
CREATE FUNCTION end_runs(account uuid, contact_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ended uuid[];
BEGIN
  -- Locked in the order of ids, as an event that wakes several runs of one contact does.
  ended := ARRAY(
    SELECT l.id FROM (
      SELECT r.id FROM unnest(contact_ids) AS c(id) CROSS JOIN LATERAL runs_of(account, c.id) AS r
      WHERE r.status = 'running' ORDER BY r.id
    ) w
    CROSS JOIN LATERAL (
      SELECT r.id FROM automation_runs r
      WHERE r.account_id = account AND r.id = w.id AND r.status = 'running' FOR NO KEY UPDATE
    ) l
  );
  IF ended <> '{}' THEN
    PERFORM skip_runs(account, ended, 'The contact was deleted.');
  END IF;
END
$$;
