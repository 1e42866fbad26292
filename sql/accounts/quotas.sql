DROP FUNCTION IF EXISTS lock_usage(uuid[]);
DROP FUNCTION IF EXISTS refund_usage(uuid, integer, integer, timestamptz);
DROP FUNCTION IF EXISTS refund_usage(uuid, uuid); -- the former name of refund_email

-- Locks the usage of those accounts that have a quota or a domain in warm-up, in the same order for all callers, and
-- returns their ids. No other transaction can debit them until this one ends; other accounts are not locked.
CREATE FUNCTION lock_usage(accounts uuid[]) RETURNS uuid[]
LANGUAGE plpgsql AS $$
DECLARE
  limited uuid[];
BEGIN
  SELECT array_agg(l.account_id) INTO limited FROM (
    SELECT u.account_id
    FROM (SELECT DISTINCT unnest(accounts) AS id) w
    JOIN accounts a ON a.id = w.id
    JOIN plans p ON p.name = a.plan
    JOIN account_usage u ON u.account_id = a.id
    WHERE p.emails_per_day IS NOT NULL OR p.emails_per_month IS NOT NULL
      OR (SELECT warm_up_per_day FROM platform) > 0 AND has_warm_up(a.id)
    ORDER BY u.account_id FOR NO KEY UPDATE OF u
  ) l;
  RETURN coalesce(limited, '{}');
END
$$;

-- Decides requests greedily in order of arrival: each in full or not at all, so a large refused one leaves room for
-- small ones behind it. For accounts whose usage is locked; the lock also covers the warm-ups of their domains.
CREATE FUNCTION decide_quotas(requests quota_request[]) RETURNS SETOF quota_decision
LANGUAGE plpgsql AS $$
DECLARE
  usage record;
  request quota_request;
  day_left integer;
  month_left integer;
  credits_left integer;
  refusal text;
  paid integer;
  is_warming boolean := coalesce((SELECT warm_up_per_day FROM platform) > 0, false);
  warm_up warm_up;
  warmed jsonb := '{}'; -- emails taken here from the warm-up of each domain
  room bigint;
BEGIN
  FOR usage IN
    SELECT u.account_id, u.credits, p.emails_per_day, p.emails_per_month,
      (SELECT coalesce(sum(emails), 0) FROM usage_minutes m
        WHERE m.account_id = u.account_id AND m.minute > now() - usage_window('day')) AS day_used,
      (SELECT coalesce(sum(emails), 0) FROM usage_hours h
        WHERE h.account_id = u.account_id AND h.hour > now() - usage_window('month')) AS month_used
    FROM (SELECT DISTINCT r.account_id FROM unnest(requests) AS r) w
    JOIN account_usage u ON u.account_id = w.account_id
    JOIN accounts a ON a.id = u.account_id JOIN plans p ON p.name = a.plan
  LOOP
    day_left := usage.emails_per_day - usage.day_used;
    -- A lowered quota may be overdrawn; credits pay only for new emails.
    month_left := CASE WHEN usage.emails_per_month IS NOT NULL THEN greatest(usage.emails_per_month - usage.month_used, 0) END;
    credits_left := usage.credits;
    FOR request IN
      SELECT r.* FROM unnest(requests) AS r WHERE r.account_id = usage.account_id ORDER BY r.position
    LOOP
      paid := greatest(request.emails - month_left, 0);
      room := NULL;
      IF is_warming THEN
        warm_up := find_warm_up(request.account_id, request.domain_id);
        room := warm_up.room - coalesce((warmed ->> request.domain_id::text)::integer, 0);
      END IF;
      refusal := CASE
        WHEN request.emails > day_left THEN 'daily_quota_exceeded'
        WHEN paid > credits_left THEN 'monthly_quota_exceeded'
        WHEN request.emails > room THEN 'reputation_limit_exceeded'
      END;
      IF refusal IS NULL THEN
        day_left := day_left - request.emails;
        month_left := month_left - (request.emails - coalesce(paid, 0));
        credits_left := credits_left - coalesce(paid, 0);
        IF room IS NOT NULL THEN
          warmed := warmed || jsonb_build_object(request.domain_id, warm_up.room - room + request.emails);
        END IF;
      END IF;
      RETURN NEXT ROW(request.position, request.account_id, refusal, request.emails, coalesce(paid, 0), request.domain_id,
        CASE WHEN room IS NOT NULL THEN warm_up.since END,
        CASE WHEN refusal = 'reputation_limit_exceeded' THEN warm_up_wait(warm_up, request.emails) END
      )::quota_decision;
    END LOOP;
  END LOOP;
END
$$;

-- Returns decisions by their positions, for lookups: a join of two lists compares every row with every other. Null: none.
CREATE FUNCTION decisions_by_position(decisions quota_decision[]) RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF decisions IS NULL THEN
    RETURN NULL;
  END IF;
  RETURN (SELECT jsonb_object_agg(q.position, to_jsonb(q)) FROM unnest(decisions) AS q);
END
$$;

-- Debits the decided amounts.
CREATE FUNCTION debit_usage(decisions quota_decision[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF decisions = '{}' THEN
    RETURN;
  END IF;
  INSERT INTO usage_minutes AS m (account_id, minute, emails)
  SELECT d.account_id, date_trunc('minute', now()), sum(d.quota_debit) FROM unnest(decisions) AS d GROUP BY d.account_id
  ON CONFLICT (account_id, minute) DO UPDATE SET emails = m.emails + excluded.emails;

  INSERT INTO usage_hours AS h (account_id, hour, emails)
  SELECT d.account_id, date_trunc('hour', now()), sum(d.quota_debit - d.credit_debit)
  FROM unnest(decisions) AS d GROUP BY d.account_id
  ON CONFLICT (account_id, hour) DO UPDATE SET emails = h.emails + excluded.emails;

  UPDATE account_usage u SET credits = u.credits - d.credits
  FROM (SELECT r.account_id, sum(r.credit_debit) AS credits FROM unnest(decisions) AS r GROUP BY r.account_id) d
  WHERE u.account_id = d.account_id AND d.credits > 0;

  INSERT INTO warm_up_usage AS w (account_id, domain_id, since, emails)
  SELECT d.account_id, d.domain_id, d.warm_up_since, sum(d.quota_debit)
  FROM unnest(decisions) AS d WHERE d.warm_up_since IS NOT NULL GROUP BY d.account_id, d.domain_id, d.warm_up_since
  ON CONFLICT (account_id, domain_id, since) DO UPDATE SET emails = w.emails + excluded.emails;
END
$$;

-- Refunds emails, some of them paid by credits, that were debited at that moment. Buckets that were purged since need
-- no refund.
CREATE FUNCTION refund_usage(account uuid, emails_back integer, credits_back integer, debited_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF emails_back > 0 THEN
    UPDATE usage_minutes SET emails = emails - emails_back
    WHERE account_id = account AND minute = date_trunc('minute', debited_at);
    UPDATE usage_hours SET emails = emails - emails_back + credits_back
    WHERE account_id = account AND hour = date_trunc('hour', debited_at);
    UPDATE account_usage SET credits = credits + credits_back WHERE account_id = account AND credits_back > 0;
  END IF;
END
$$;
