DROP FUNCTION IF EXISTS explain_faults(draft[], text[], integer[]);
DROP FUNCTION IF EXISTS explain_fault(text, uuid, text, integer);
DROP FUNCTION IF EXISTS explain_quota(text, uuid, integer);
DROP FUNCTION IF EXISTS quota_wait(uuid, text, bigint);
DROP FUNCTION IF EXISTS usage_buckets(uuid, text);

-- Returns explain_fault of each draft, by position, and computes each distinct one once: a quota takes some
-- milliseconds to explain, and a commit may have a hundred emails beyond one.
--
-- faults, emails: also by position. emails: how many the request of the draft needs.
CREATE FUNCTION explain_faults(drafts draft[], faults text[], emails integer[]) RETURNS jsonb[]
LANGUAGE plpgsql AS $$
DECLARE
  asked record;
  known jsonb := '{}';
  details jsonb[] := array_fill(NULL::jsonb, ARRAY[coalesce(cardinality(drafts), 0)]);
BEGIN
  FOR asked IN
    SELECT d.position + 1 AS n, f.fault, d.account_id, d.domain,
      concat_ws(' ', f.fault, d.account_id, CASE WHEN f.fault LIKE '%quota%' THEN emails[d.position + 1]::text ELSE d.domain END) AS key
    FROM unnest(drafts) AS d CROSS JOIN LATERAL (SELECT faults[d.position + 1]) AS f(fault)
    WHERE f.fault IS NOT NULL
  LOOP
    IF NOT known ? asked.key THEN
      known := known || jsonb_build_object(asked.key,
        explain_fault(asked.fault, asked.account_id, asked.domain, emails[asked.n]));
    END IF;
    details[asked.n] := known -> asked.key;
  END LOOP;
  RETURN details;
END
$$;

-- Returns the details of a fault (_types_of_drafts.sql) for the caller; null: none. emails: how many the request needs.
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

-- limit, left: of the exceeded quota. retry_after: seconds until every quota has room for this many emails; null if
-- that never happens.
CREATE FUNCTION explain_quota(fault text, account uuid, emails integer) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
  plan plans;
  credits integer;
  day record;
  month record;
BEGIN
  SELECT p.* INTO plan FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = account;
  credits := coalesce((SELECT u.credits FROM account_usage u WHERE u.account_id = account), 0);
  SELECT * INTO day FROM quota_wait(account, 'day', plan.emails_per_day - emails::bigint);
  SELECT * INTO month FROM quota_wait(account, 'month',
    CASE WHEN credits < emails THEN plan.emails_per_month + credits - emails::bigint END);
  RETURN jsonb_build_object(
    'limit', CASE fault WHEN 'daily_quota_exceeded' THEN plan.emails_per_day ELSE plan.emails_per_month END,
    'left', greatest(0, CASE fault WHEN 'daily_quota_exceeded' THEN plan.emails_per_day - day.used
      ELSE plan.emails_per_month - month.used END),
    'credits', credits,
    'needed', emails,
    'retry_after', CASE WHEN day.seconds IS NOT NULL AND month.seconds IS NOT NULL THEN greatest(day.seconds, month.seconds) END
  );
END
$$;

-- Returns how many emails count in the window, and the seconds until there are at most `room` (null: no limit); null
-- seconds if that never happens.
CREATE FUNCTION quota_wait(account uuid, win text, room bigint, OUT used bigint, OUT seconds integer)
LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(sum(n.emails), 0), CASE
    WHEN room < 0 THEN NULL
    WHEN room IS NULL OR coalesce(sum(n.emails), 0) <= room THEN 0
    ELSE greatest(1, ceil(extract(epoch FROM min(n.leaves_at) FILTER (WHERE n.newer <= room) - now())))
  END INTO used, seconds
  FROM (
    -- Once a bucket has left the window, only newer ones count.
    SELECT b.emails, b.leaves_at, sum(b.emails) OVER (ORDER BY b.leaves_at DESC) - b.emails AS newer
    FROM usage_buckets(account, win) AS b
  ) n;
END
$$;

-- Returns the emails that count toward a quota, by buckets of its window (quotas.sql). win: day or month.
CREATE FUNCTION usage_buckets(account uuid, win text) RETURNS TABLE (since timestamptz, leaves_at timestamptz, emails integer)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
  IF win = 'day' THEN
    RETURN QUERY SELECT m.minute, m.minute + usage_window('day'), m.emails FROM usage_minutes m
    WHERE m.account_id = account AND m.minute > now() - usage_window('day') AND m.emails > 0;
  ELSE
    RETURN QUERY SELECT h.hour, h.hour + usage_window('month'), h.emails FROM usage_hours h
    WHERE h.account_id = account AND h.hour > now() - usage_window('month') AND h.emails > 0;
  END IF;
END
$$;
