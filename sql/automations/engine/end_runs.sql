DROP FUNCTION IF EXISTS end_runs(uuid, uuid[]);

-- Ends the runs of contacts that are deleted in this transaction, and the steps that they wait in.
CREATE FUNCTION end_runs(account uuid, contact_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  ended uuid[];
BEGIN
  -- In the order of ids: an event that wakes several runs of one contact locks them so.
  SELECT array_agg(r.id) INTO ended FROM (
    SELECT r.id FROM automation_runs r
    WHERE r.account_id = account AND r.contact_id = ANY (contact_ids) AND r.status = 'running'
    ORDER BY r.id FOR NO KEY UPDATE
  ) r;
  IF ended IS NULL THEN
    RETURN;
  END IF;
  UPDATE automation_runs r SET status = 'skipped', due_at = NULL, wait_event = NULL, wait_until = NULL, refused_since = NULL,
    error = 'The contact was deleted.', completed_at = now()
  WHERE r.account_id = account AND r.id = ANY (ended);
  UPDATE automation_run_steps s SET status = 'skipped', completed_at = now()
  WHERE s.account_id = account AND s.run_id = ANY (ended) AND s.status = 'waiting';
END
$$;
