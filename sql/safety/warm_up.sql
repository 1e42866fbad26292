DROP FUNCTION IF EXISTS has_warm_up(uuid);
DROP FUNCTION IF EXISTS find_warm_up(uuid, uuid);
DROP FUNCTION IF EXISTS refund_warm_up(uuid, uuid, integer, timestamptz);
DROP TYPE IF EXISTS warm_up CASCADE;

-- A newly verified domain is unknown to receivers: its mail of the first day is limited, and the limit doubles each day
-- for 14 days. A day is 24 hours, counted from its verification.
CREATE TYPE warm_up AS (
  since timestamptz, -- when its current day began
  day integer,       -- 0 to 13
  per_day integer,   -- limit of the first day
  room bigint        -- emails left for the current day
);

CREATE FUNCTION has_warm_up(account uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM domains o WHERE o.account_id = account AND o.verified_at > now() - interval '336 hours'
  );
END
$$;

-- Returns null if the domain has no warm-up. The usage of its account must be locked.
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

-- Returns the seconds until the first day with room for this many emails.
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

-- Refunds emails to the warm-up of their domain at that moment. The usage of its account must be locked.
CREATE FUNCTION refund_warm_up(account uuid, domain uuid, emails_back integer, debited_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  -- The warm-up may have been turned on after they were accepted, and so not have counted all of them.
  UPDATE warm_up_usage SET emails = greatest(emails - emails_back, 0)
  WHERE account_id = account AND domain_id = domain AND since <= debited_at AND since > debited_at - interval '24 hours';
END
$$;
