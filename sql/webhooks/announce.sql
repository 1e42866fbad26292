DROP FUNCTION IF EXISTS announce_events(json);
DROP FUNCTION IF EXISTS is_heard(uuid, text);
DROP FUNCTION IF EXISTS have_webhooks(uuid[]);
DROP FUNCTION IF EXISTS iso_time(timestamptz);
DROP FUNCTION IF EXISTS event_id(timestamptz, bigint);

-- Returns true if a webhook of an account has subscribed to a type of event. A condition that uses no column is
-- evaluated only once.
CREATE FUNCTION is_heard(account uuid, event_type text) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM webhooks w
    WHERE w.account_id = account AND w.status = 'enabled' AND w.deleted_at IS NULL
      AND (event_type = ANY (w.events) OR '*' = ANY (w.events))
  )
$$;

-- Returns true if any of these accounts has a webhook; for most accounts no events need to be built.
CREATE FUNCTION have_webhooks(accounts uuid[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM unnest(accounts) AS a(id) JOIN webhooks w ON w.account_id = a.id AND w.status = 'enabled' AND w.deleted_at IS NULL
  )
$$;

-- Returns a time in the format of the API.
CREATE FUNCTION iso_time(moment timestamptz) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Returns the n-th id (from 0) of ids made at the same time: a UUIDv7 (RFC 9562 5.7) whose 12 bits after the time
-- count, so that the events of one commit keep their order.
CREATE FUNCTION event_id(moment timestamptz, n bigint) RETURNS uuid LANGUAGE sql VOLATILE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint + n / 4096), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0')
    || right(replace(gen_random_uuid()::text, '-', ''), 16))::uuid
$$;

-- Stores events for the webhooks that have subscribed to them, in the transaction that they report: an event is sent if
-- and only if it happened. One job for all; a worker that already serves an endpoint looks for more by itself. given:
-- in the order in which they happened; may be null. The order is kept within a call, not between calls of the same
-- transaction.
--
-- SQL that has the rows builds their events itself, all rows of an account in one statement, about a thousand at a
-- time:
--
--   SELECT announce(ARRAY(
--     SELECT ROW(r.account_id, 'contact.created', jsonb_build_object('id', r.id))::announcement
--     FROM rows AS r WHERE is_heard(<account>, 'contact.created') ORDER BY r.position
--   ))
--
-- <account> is a parameter and not a column, so that the webhooks are looked up once, and no event is built if nobody
-- listens. For rows of several accounts is_heard takes the column and is evaluated per row (announce_emails.sql). If
-- only Node knows what happened, it calls flows/webhooks/announce.ts.
CREATE FUNCTION announce(given announcement[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  idle json;
BEGIN
  IF coalesce(given, '{}') = '{}' THEN
    RETURN;
  END IF;

  WITH events AS MATERIALIZED (
    SELECT account_id, type, data, event_id(now(), position - 1) AS id
    FROM unnest(given) WITH ORDINALITY AS g(account_id, type, data, position)
  ), told AS MATERIALIZED (
    SELECT e.*, w.id AS webhook_id, (w.lease_until > now() OR w.rest_until > now()) IS NOT TRUE AS is_idle
    FROM events e JOIN webhooks w ON w.account_id = e.account_id AND w.status = 'enabled' AND w.deleted_at IS NULL
      AND (e.type = ANY (w.events) OR '*' = ANY (w.events))
  ), written AS (
    INSERT INTO webhook_events (account_id, id, type, body)
    SELECT e.account_id, e.id, e.type, convert_to(row_to_json(body)::text, 'UTF8')
    FROM (SELECT DISTINCT ON (id) account_id, type, data, id FROM told ORDER BY id) e
    CROSS JOIN LATERAL (SELECT e.type, iso_time(now()) AS created_at, e.id, e.data) AS body
  ), queued AS (
    INSERT INTO webhook_deliveries (account_id, event_id, webhook_id, state, next_at)
    SELECT account_id, id, webhook_id, 'pending', now() FROM told
  )
  SELECT json_agg(json_build_object('account_id', account_id, 'id', webhook_id)) INTO idle
  FROM (SELECT DISTINCT account_id, webhook_id FROM told WHERE is_idle) t;

  IF idle IS NOT NULL THEN
    PERFORM graphile_worker.add_job('deliver_webhooks', json_build_object('webhooks', idle), max_attempts => job_attempts());
  END IF;
END
$$;

-- For callers outside the database. given: a list of announcement.
CREATE FUNCTION announce_events(given json) RETURNS void LANGUAGE sql AS $$
  SELECT announce(ARRAY(SELECT a FROM json_populate_recordset(NULL::announcement, given) AS a))
$$;
