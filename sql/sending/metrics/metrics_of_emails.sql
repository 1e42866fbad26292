DROP FUNCTION IF EXISTS metrics_of_emails(uuid, uuid[]);

-- Returns the figures of emails, computed from their events: the same as count_metrics has counted, unless the events
-- were deleted since (EMAIL_RETENTION_DAYS).
CREATE FUNCTION metrics_of_emails(account uuid, ids uuid[]) RETURNS SETOF metric_move
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY
  WITH happened AS (
    SELECT v.email_id, v.recipient, v.type, min(v.created_at) AS at, min(v.data -> 'bounce' ->> 'type') AS bounce_type
    FROM unnest(ids) AS w(id)
    JOIN email_events v ON v.account_id = account AND v.email_id = w.id AND v.recipient IS NOT NULL
    GROUP BY v.email_id, v.recipient, v.type
  ), reached AS (
    -- A complaint about an email in doubt shows that it has arrived.
    SELECT h.email_id, min(h.at) FILTER (WHERE h.type IN ('delivered', 'complained')) AS at,
      bool_or(h.type IN ('bounced', 'failed')) AS is_lost
    FROM happened h GROUP BY h.email_id, h.recipient
  ), counted AS (
    SELECT r.email_id, r.at, 'sent' AS name FROM reached r WHERE r.at IS NOT NULL
    UNION ALL
    SELECT r.email_id, r.at, 'delivered' FROM reached r WHERE r.at IS NOT NULL AND NOT r.is_lost
    UNION ALL
    SELECT h.email_id, h.at, CASE h.type WHEN 'bounced' THEN 'bounced_' || lower(coalesce(h.bounce_type, 'undetermined'))
      ELSE h.type END
    FROM happened h
    WHERE h.type IN ('bounced', 'failed', 'suppressed', 'complained', 'delivery_delayed', 'unsubscribed')
  )
  SELECT e.account_id, e.id, e.domain_id, e.campaign_id, c.at, c.name, 1
  FROM counted c JOIN emails e ON e.account_id = account AND e.id = c.email_id
  UNION ALL
  SELECT m.* FROM metrics_of_hits(group_hits(ARRAY(
    SELECT ROW(d.account_id, d.id, NULL, d.email_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::tracking_hit
    FROM unnest(ids) AS w(id) JOIN deliveries d ON d.email_id = w.id AND d.account_id = account
  ))) AS m;
END
$$;
