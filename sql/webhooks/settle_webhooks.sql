DROP FUNCTION IF EXISTS settle_webhooks(json, double precision, double precision);
DROP FUNCTION IF EXISTS settle_webhooks(json, double precision, double precision, json);
DROP FUNCTION IF EXISTS webhook_results(text, text);
DROP FUNCTION IF EXISTS webhook_results(text, text, webhook_rules);
DROP FUNCTION IF EXISTS webhook_is_to_rest(text);
DROP FUNCTION IF EXISTS webhook_is_to_rest(text, webhook_rules);
DROP TYPE IF EXISTS webhook_result CASCADE;
DROP TYPE IF EXISTS webhook_rules CASCADE;

-- An attempt that ended.
CREATE TYPE webhook_result AS (
  "position" integer,     -- they ended in this order
  account_id uuid,
  webhook_id bigint,
  event_id uuid,
  endpoint text,          -- the URL that was called
  attempt integer,        -- earlier attempts; the result counts only if the number is still the same
  id uuid,
  is_success boolean,
  is_gone boolean,        -- the endpoint will never accept events again
  status integer,
  ms integer,
  error text,
  response text,
  started_at timestamptz,
  delay double precision, -- seconds until the next attempt; null: it was the last
  rest double precision,  -- seconds that the endpoint asked to be left alone
  is_hung boolean         -- it used up its timeout
);

-- The numbers of lib/webhooks/standing.ts.
CREATE TYPE webhook_rules AS (
  "window" integer,       -- at most this many attempts are judged, the newest
  fewest integer,         -- fewer attempts are not judged
  share double precision, -- the share of failures among them from which an endpoint rests
  most_failures integer   -- with so many failures in a row the webhook is disabled
);

-- Returns true if an endpoint gets single attempts with pauses in between, by its last results, oldest first: s
-- success, f failure, h hung. isToRest() of lib/webhooks/standing.ts is the same.
CREATE FUNCTION webhook_is_to_rest(results text, rules webhook_rules) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT length(results) >= rules.fewest AND results !~ 's$'
    AND (length(replace(results, 's', '')) >= rules.share * length(results)
      OR right(results, rules.fewest) = repeat('h', rules.fewest))
$$;

-- Appends results to the last ones. A success of a resting endpoint clears its history.
CREATE FUNCTION webhook_results(results text, more text, rules webhook_rules) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  result text;
BEGIN
  FOREACH result IN ARRAY string_to_array(more, NULL) LOOP
    results := CASE WHEN result = 's' AND webhook_is_to_rest(results, rules) THEN result
      ELSE right(results || result, rules."window") END;
  END LOOP;
  RETURN results;
END
$$;

-- Stores results of attempts and their effects on endpoints in one commit.
--
-- Each failure increments failure_count and a success resets it; at most_failures the webhook is disabled. An endpoint
-- whose last attempts nearly all failed rests before it is tried again, twice as long each time: first_rest to
-- longest_rest seconds. Occasional failures cause no rest. Attempts at a former endpoint of the webhook do not count
-- for the current one.
--
-- given: a list of webhook_result. given_rules: webhook_rules.
CREATE FUNCTION settle_webhooks(given json, first_rest double precision, longest_rest double precision, given_rules json)
RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  results webhook_result[];
  counted webhook_result[];
  rules webhook_rules := json_populate_record(NULL::webhook_rules, given_rules);
BEGIN
  SELECT array_agg(r) INTO results FROM json_populate_recordset(NULL::webhook_result, given) AS r;

  -- One by one, in the order of ids, so that two statements do not deadlock.
  WITH changed AS (
    UPDATE webhook_deliveries d SET
      state = CASE WHEN r.is_success THEN 'success' WHEN l.is_last THEN 'failed' ELSE d.state END,
      attempt = d.attempt + 1,
      next_at = CASE WHEN NOT r.is_success AND NOT l.is_last AND d.state = 'pending'
        THEN now() + make_interval(secs => r.delay) END
    FROM (SELECT * FROM unnest(results) AS r ORDER BY r.account_id, r.event_id, r.webhook_id) AS r
    CROSS JOIN LATERAL (
      SELECT r.delay IS NULL OR (r.is_gone AND EXISTS (
        SELECT FROM webhooks w WHERE w.account_id = r.account_id AND w.id = r.webhook_id AND w.endpoint = r.endpoint
      )) AS is_last
    ) l
    WHERE d.account_id = r.account_id AND d.event_id = r.event_id AND d.webhook_id = r.webhook_id
      -- `failed` if the webhook was disabled during the request.
      AND d.state IN ('pending', 'failed') AND d.attempt = r.attempt
    RETURNING ROW(r.*)::webhook_result AS result
  )
  SELECT array_agg(c.result ORDER BY (c.result).position) INTO counted FROM changed c;

  INSERT INTO webhook_attempts (account_id, event_id, webhook_id, attempt, id, status, ms, error, response, created_at)
  SELECT r.account_id, r.event_id, r.webhook_id, r.attempt + 1, r.id, r.status, r.ms, r.error, r.response, r.started_at
  FROM unnest(counted) AS r;

  WITH told AS (
    SELECT r.account_id, r.webhook_id, r.endpoint, r.is_success, r.is_gone, r.rest,
      CASE WHEN r.is_success THEN 's' WHEN r.is_hung THEN 'h' ELSE 'f' END AS result,
      row_number() OVER (PARTITION BY r.account_id, r.webhook_id, r.endpoint ORDER BY r.position) AS n
    FROM unnest(counted) AS r
  ), folded AS (
    SELECT account_id, webhook_id, endpoint,
      coalesce(min(n) FILTER (WHERE is_success) - 1, count(*)) AS failures_before, -- the first success, if any
      count(*) - max(n) FILTER (WHERE is_success) AS failures_since,               -- the last; null: there was none
      bool_or(is_gone) AS is_gone, max(rest) AS rest, string_agg(result, '' ORDER BY n) AS results
    FROM told GROUP BY account_id, webhook_id, endpoint
  ), judged AS (
    SELECT f.*,
      CASE WHEN w.failure_count + f.failures_before >= rules.most_failures THEN w.failure_count + f.failures_before
        ELSE coalesce(f.failures_since, w.failure_count + f.failures_before) END AS failures,
      CASE WHEN f.failures_since IS NULL THEN w.rests ELSE 0 END AS rests,
      webhook_results(w.recent_results, f.results, rules) AS recent_results
    FROM (SELECT * FROM folded ORDER BY account_id, webhook_id) f
    CROSS JOIN LATERAL (
      SELECT * FROM webhooks w
      WHERE w.account_id = f.account_id AND w.id = f.webhook_id AND w.endpoint = f.endpoint AND w.status = 'enabled'
      FOR NO KEY UPDATE
    ) w
  )
  UPDATE webhooks w SET
    failure_count = j.failures,
    recent_results = j.recent_results,
    rests = CASE WHEN webhook_is_to_rest(j.recent_results, rules) THEN j.rests + 1 ELSE j.rests END,
    last_delivery_status = CASE j.failures WHEN 0 THEN 'success' ELSE 'failed' END,
    last_delivery_at = now(),
    updated_at = CASE WHEN j.is_gone OR j.failures >= rules.most_failures THEN now() ELSE w.updated_at END,
    status = CASE WHEN j.is_gone OR j.failures >= rules.most_failures THEN 'disabled' ELSE 'enabled' END,
    disabled_reason = CASE WHEN j.is_gone THEN 'endpoint_gone' WHEN j.failures >= rules.most_failures THEN 'too_many_failures' END,
    -- An earlier rest stays: of two simultaneous attempts one may be told to wait and the other be accepted.
    rest_until = greatest(w.rest_until, now() + make_interval(secs => greatest(j.rest,
      CASE WHEN webhook_is_to_rest(j.recent_results, rules) THEN least(longest_rest, first_rest * 2 ^ least(j.rests, 20)) END)))
  FROM judged j WHERE w.account_id = j.account_id AND w.id = j.webhook_id;
END
$$;

-- For processes of earlier versions, which pass no rules. Not a default of the function above: once such a version has
-- created its own function again, its calls would be ambiguous.
CREATE FUNCTION settle_webhooks(given json, first_rest double precision, longest_rest double precision) RETURNS void
LANGUAGE sql AS $$
  SELECT settle_webhooks(given, first_rest, longest_rest,
    '{"window": 20, "fewest": 5, "share": 0.9, "most_failures": 50}'::json)
$$;
