DROP FUNCTION IF EXISTS list_due_events(uuid, json, integer);

-- Returns due events of many webhooks in one query; none for webhooks that are no longer leased by this owner, or are
-- disabled or deleted.
--
-- wishes: a list of { account_id, webhook_id, held, limit }: at most `limit` events, without those in `held`.
-- max_bytes: limit for bytes of bodies per wish; the body that exceeds them is still included. So there are fewer events if
-- they are large, but at least one.
--
-- Uses the index in its own order, whatever the statistics say: they may be from a time when nothing or everything was
-- waiting.
CREATE FUNCTION list_due_events(owner uuid, wishes json, max_bytes integer)
RETURNS TABLE (account_id uuid, webhook_id bigint, endpoint text, signing_secret bytea, event_id uuid, attempt integer,
  first_attempt integer, body bytea)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  SELECT w.account_id, w.id, w.endpoint, w.signing_secret, d.event_id, d.attempt, d.first_attempt, d.body
  FROM json_to_recordset(wishes) AS g(account_id uuid, webhook_id bigint, held uuid[], "limit" integer)
  JOIN webhooks w ON w.account_id = g.account_id AND w.id = g.webhook_id AND w.lease_owner = owner
    AND w.lease_until > now() AND w.status = 'enabled' AND w.deleted_at IS NULL
  CROSS JOIN LATERAL (
    SELECT d.event_id, d.attempt, d.first_attempt, d.next_at, e.body,
      sum(octet_length(e.body)) OVER (ORDER BY d.next_at, d.event_id) - octet_length(e.body) AS bytes_before
    FROM (
      SELECT * FROM webhook_deliveries d
      WHERE d.account_id = w.account_id AND d.webhook_id = w.id AND d.state = 'pending' AND d.next_at <= now()
        AND d.event_id <> ALL (g.held)
      ORDER BY d.next_at, d.event_id LIMIT g."limit"
    ) d
    JOIN webhook_events e ON e.account_id = d.account_id AND e.id = d.event_id
  ) d
  WHERE d.bytes_before < max_bytes
  ORDER BY d.next_at, d.event_id;
END
$$;
