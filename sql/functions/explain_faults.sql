DROP FUNCTION IF EXISTS explain_fault(text, uuid, text, integer);
DROP FUNCTION IF EXISTS explain_quota(text, uuid, integer);
DROP FUNCTION IF EXISTS quota_wait(uuid, text, bigint);

-- What a caller is told of a fault (drafts.sql) besides its name; null: nothing. emails: how many the request needs.
--   domain_not_verified   {status, sending} of the domain; null: the account has none of that name
--   a pause               {by, reason}
--   a quota               {limit, left, credits, retry_after}
CREATE FUNCTION explain_fault(fault text, account uuid, domain text, emails integer) RETURNS jsonb
LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE fault
    WHEN 'domain_not_verified' THEN (
      SELECT jsonb_build_object('status', o.status, 'sending', o.sending) FROM domains o
      WHERE o.account_id = account AND o.name = domain
    )
    WHEN 'platform_paused' THEN (SELECT jsonb_build_object('by', 'operator', 'reason', p.pause_reason) FROM platform p)
    WHEN 'account_paused' THEN (
      SELECT jsonb_build_object('by', coalesce(a.paused_by, 'operator'), 'reason', a.pause_reason) FROM accounts a WHERE a.id = account
    )
    WHEN 'domain_paused' THEN (
      SELECT jsonb_build_object('by', coalesce(o.paused_by, 'operator'), 'reason', o.pause_reason) FROM domains o
      WHERE o.account_id = account AND o.name = domain
    )
    WHEN 'daily_quota_exceeded' THEN explain_quota(fault, account, emails)
    WHEN 'monthly_quota_exceeded' THEN explain_quota(fault, account, emails)
  END;
END
$$;

-- limit, left: of the quota that refused so many emails. retry_after: seconds until every quota has room for them; null
-- when none ever will.
CREATE FUNCTION explain_quota(fault text, account uuid, emails integer) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  plan plans;
  credits integer;
  day_used bigint;
  month_used bigint;
  day_wait integer;
  month_wait integer;
BEGIN
  SELECT p.* INTO plan FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = account;
  credits := (SELECT u.credits FROM account_usage u WHERE u.account_id = account);
  day_used := (SELECT coalesce(sum(b.emails), 0) FROM usage_buckets(account, 'day') AS b);
  month_used := (SELECT coalesce(sum(b.emails), 0) FROM usage_buckets(account, 'month') AS b);
  day_wait := CASE WHEN plan.emails_per_day IS NULL THEN 0
    ELSE quota_wait(account, 'day', plan.emails_per_day - emails::bigint) END;
  month_wait := CASE WHEN plan.emails_per_month IS NULL OR credits >= emails THEN 0
    ELSE quota_wait(account, 'month', plan.emails_per_month + credits - emails::bigint) END;
  RETURN jsonb_build_object(
    'limit', CASE fault WHEN 'daily_quota_exceeded' THEN plan.emails_per_day ELSE plan.emails_per_month END,
    'left', greatest(0, CASE fault WHEN 'daily_quota_exceeded' THEN plan.emails_per_day - day_used
      ELSE plan.emails_per_month - month_used END),
    'credits', credits,
    'needed', emails,
    'retry_after', CASE WHEN day_wait IS NOT NULL AND month_wait IS NOT NULL THEN greatest(day_wait, month_wait) END
  );
END
$$;

-- Seconds until no more than `room` emails are counted in the window; null when that never comes.
CREATE FUNCTION quota_wait(account uuid, win text, room bigint) RETURNS integer
LANGUAGE plpgsql AS $$
BEGIN
  RETURN CASE
    WHEN room < 0 THEN NULL
    WHEN (SELECT coalesce(sum(b.emails), 0) FROM usage_buckets(account, win) AS b) <= room THEN 0
    ELSE (
      -- Once a bucket has left, only those that are newer are counted.
      SELECT greatest(1, ceil(extract(epoch FROM min(n.leaves_at) - now()))) FROM (
        SELECT b.leaves_at, sum(b.emails) OVER (ORDER BY b.leaves_at DESC) - b.emails AS newer
        FROM usage_buckets(account, win) AS b
      ) n WHERE n.newer <= room
    )
  END;
END
$$;

DROP FUNCTION IF EXISTS usage_buckets(uuid, text);

-- What counts for a quota, in the steps of its window (quotas.sql): win is day or month.
CREATE FUNCTION usage_buckets(account uuid, win text) RETURNS TABLE (since timestamptz, leaves_at timestamptz, emails integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  IF win = 'day' THEN
    RETURN QUERY SELECT m.minute, m.minute + interval '24 hours 1 minute', m.emails FROM usage_minutes m
    WHERE m.account_id = account AND m.minute > now() - interval '24 hours 1 minute' AND m.emails > 0;
  ELSE
    RETURN QUERY SELECT h.hour, h.hour + interval '30 days 1 hour', h.emails FROM usage_hours h
    WHERE h.account_id = account AND h.hour > now() - interval '30 days 1 hour' AND h.emails > 0;
  END IF;
END
$$;
