DROP FUNCTION IF EXISTS has_warm_up(uuid);
DROP FUNCTION IF EXISTS find_warm_up(uuid, uuid);
DROP FUNCTION IF EXISTS refund_warm_up(uuid, uuid, integer, timestamptz);
DROP TYPE IF EXISTS warm_up CASCADE;

-- A domain that was just verified is unknown to receivers: what it sends on its first day is limited, and doubles each
-- day for 14 days. A day is 24 hours since it was verified.
CREATE TYPE warm_up AS (
  since timestamptz, -- when its present day began
  day integer,       -- of 0 to 13
  per_day integer,   -- of the first day
  room bigint        -- what is left of the present day
);

CREATE FUNCTION has_warm_up(account uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM domains o WHERE o.account_id = account AND o.verified_at > now() - interval '336 hours'
  );
END
$$;

-- Null when the domain has none. The usage of its account is locked.
CREATE FUNCTION find_warm_up(account uuid, domain uuid) RETURNS warm_up
LANGUAGE plpgsql STABLE AS $$
DECLARE
  found warm_up;
BEGIN
  SELECT w.since, w.day, p.warm_up_per_day,
    p.warm_up_per_day * (2 ^ w.day)::bigint - coalesce((
      SELECT u.emails FROM warm_up_usage u WHERE u.account_id = account AND u.domain_id = domain AND u.since = w.since
    ), 0)
  INTO found
  FROM platform p, domains o
  CROSS JOIN LATERAL (SELECT floor(extract(epoch FROM now() - o.verified_at) / 86400)::integer) AS n(day)
  CROSS JOIN LATERAL (SELECT o.verified_at + n.day * interval '24 hours', n.day) AS w(since, day)
  WHERE p.warm_up_per_day > 0 AND o.account_id = account AND o.id = domain AND w.day BETWEEN 0 AND 13;
  RETURN found;
END
$$;

-- Seconds until the first day that has room for so many.
CREATE FUNCTION warm_up_wait(warm_up warm_up, emails integer) RETURNS integer
LANGUAGE plpgsql STABLE AS $$
DECLARE
  days integer;
BEGIN
  SELECT min(n) INTO days FROM generate_series(1, 14 - warm_up.day) AS n
  WHERE warm_up.day + n = 14 OR warm_up.per_day * (2 ^ (warm_up.day + n))::bigint >= emails;
  RETURN greatest(1, ceil(extract(epoch FROM warm_up.since + days * interval '24 hours' - now())));
END
$$;

-- Gives back what emails took of their domain's warm-up at that moment. The usage of its account is locked.
CREATE FUNCTION refund_warm_up(account uuid, domain uuid, emails_back integer, debited_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  -- It may have been turned on since they were accepted, and not have counted all of them.
  UPDATE warm_up_usage SET emails = greatest(emails - emails_back, 0)
  WHERE account_id = account AND domain_id = domain AND since <= debited_at AND since > debited_at - interval '24 hours';
END
$$;
