DROP FUNCTION IF EXISTS lock_run_quotas(uuid[]);
DROP FUNCTION IF EXISTS run_quota_used(uuid);

-- Returns, by account id, how many runs each of these accounts with a quota may still start; null: none has a quota.
-- Locks their quotas until the transaction ends: after all other locks, and not by account_usage, which other
-- transactions lock first.
CREATE FUNCTION lock_run_quotas(accounts uuid[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  limited uuid[];
BEGIN
  SELECT array_agg(a.id ORDER BY a.id) INTO limited
  FROM unnest(accounts) AS w(id) JOIN accounts a ON a.id = w.id JOIN plans p ON p.name = a.plan
  WHERE p.automation_runs IS NOT NULL;
  IF limited IS NULL THEN
    RETURN NULL;
  END IF;
  PERFORM pg_advisory_xact_lock(l.key)
  FROM (SELECT hashtextextended('automation runs ' || id, 0) AS key FROM unnest(limited) AS id ORDER BY 1) l;
  RETURN (
    SELECT jsonb_object_agg(a.id, greatest(0, p.automation_runs - run_quota_used(a.id)))
    FROM unnest(limited) AS w(id) JOIN accounts a ON a.id = w.id JOIN plans p ON p.name = a.plan
  );
END
$$;

-- Returns the number of runs that count toward the quota now.
CREATE FUNCTION run_quota_used(account uuid) RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT coalesce(sum(u.runs), 0) FROM automation_usage u WHERE u.account_id = account AND u.hour > now() - usage_window('month')
$$;
