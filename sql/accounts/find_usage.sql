DROP FUNCTION IF EXISTS find_usage(uuid, text);

-- Returns what an account used in the window that ends now (day or month), and when the first and the last of it leave
-- the window. Accounts with a quota are counted as for the quota (quotas.sql). For others, everything that they sent and
-- received is counted here, except suppressed and canceled deliveries, and next_at and last_at are null.
CREATE FUNCTION find_usage(account uuid, win text, OUT sent bigint, OUT received bigint, OUT next_at timestamptz,
  OUT last_at timestamptz)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
DECLARE
  start timestamptz := now() - CASE win WHEN 'day' THEN interval '24 hours' ELSE interval '30 days' END;
  used bigint;
BEGIN
  IF EXISTS (
    SELECT FROM accounts a JOIN plans p ON p.name = a.plan
    WHERE a.id = account AND (p.emails_per_day IS NOT NULL OR p.emails_per_month IS NOT NULL)
  ) THEN
    SELECT coalesce(sum(b.emails), 0), min(b.leaves_at), max(b.leaves_at), coalesce(min(b.since), start)
    INTO used, next_at, last_at, start FROM usage_buckets(account, win) AS b;
    sent := least(used, (
      SELECT coalesce(sum(e.quota_debit - CASE win WHEN 'month' THEN e.credit_debit ELSE 0 END), 0) FROM emails e
      WHERE e.account_id = account AND e.id >= first_id(start - interval '1 minute') AND e.created_at >= start
    ));
    received := used - sent;
    RETURN;
  END IF;
  -- Each has an index of its own, so that no delivery is read: there may be millions.
  sent := (SELECT count(*) FROM deliveries d WHERE d.account_id = account AND d.id >= first_id(start)) - (
    SELECT count(*) FROM deliveries d
    WHERE d.account_id = account AND d.id >= first_id(start) AND d.state IN ('suppressed', 'canceled')
  );
  received := (
    SELECT coalesce(sum(cardinality(r.received_for)), 0) FROM received_emails r
    WHERE r.account_id = account AND r.id >= first_id(start)
  );
END
$$;
