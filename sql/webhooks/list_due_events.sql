DROP FUNCTION IF EXISTS list_due_events(uuid, json, integer);

-- Due events of many webhooks in one query; none of one that is not leased by this owner any more, or disabled or deleted.
--
-- wishes: a list of { account_id, webhook_id, held, limit }: so many, without those that are in the worker's hands already.
-- max_bytes: of the bodies of one wish, and the one that exceeds them. Fewer than are wished for when they are large, but
-- one at the least.
--
-- By index, in its own order, whatever statistics say: they are of a table in which nothing waited, or everything.
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
