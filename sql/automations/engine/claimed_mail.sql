DROP FUNCTION IF EXISTS lock_automations(uuid[], uuid[]);

-- Locks the automations of deliveries that are about to be claimed against being stopped or deleted. Returns the
-- deliveries without those whose automation is being stopped at the moment, and the ids of those that belong to stopped
-- runs.
CREATE FUNCTION lock_automations(INOUT accounts uuid[], INOUT ids uuid[], OUT stopped uuid[])
LANGUAGE plpgsql AS $$
DECLARE
  locked uuid[];
BEGIN
  locked := ARRAY(
    SELECT a.id FROM (
      SELECT DISTINCT d.account_id, d.automation_id FROM deliveries_by_key(accounts, ids) AS d WHERE d.automation_id IS NOT NULL
    ) m
    CROSS JOIN LATERAL (
      SELECT id FROM automations a WHERE a.account_id = m.account_id AND a.id = m.automation_id FOR KEY SHARE SKIP LOCKED
    ) a
  );
  -- A missing automation counts as stopped.
  SELECT array_agg(d.account_id), array_agg(d.id) INTO accounts, ids FROM deliveries_by_key(accounts, ids) AS d
  WHERE d.automation_id IS NULL OR d.automation_id = ANY (locked) OR NOT EXISTS (
    SELECT FROM automations a WHERE a.account_id = d.account_id AND a.id = d.automation_id
  );

  stopped := ARRAY(
    SELECT d.id FROM deliveries_by_key(accounts, ids) AS d
    LEFT JOIN automations a ON a.account_id = d.account_id AND a.id = d.automation_id
    WHERE d.automation_id IS NOT NULL AND (a.id IS NULL OR d.automation_version <= a.stopped_version)
  );
END
$$;
