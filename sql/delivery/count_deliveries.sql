-- Changes the figures of the account by results of deliveries (count_metrics.sql says when each counts). Runs after the
-- changes and their events, in their commit. Dropping the types in _types.sql drops this function.
CREATE FUNCTION count_deliveries(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moves metric_move[];
BEGIN
  moves := ARRAY(
    SELECT ROW(g.account_id, NULL, g.domain_id, g.campaign_id, g.at, n.name, g.by)::metric_move
    FROM (
      SELECT c.account_id, c.domain_id, c.campaign_id, quarter_of(c.at) AS at, c.outcome, c.state, c.was, c.bounce,
        count(*) AS by
      FROM unnest(changes) AS c WHERE c.state <> 'queued' GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
    ) g
    CROSS JOIN LATERAL unnest(CASE
      -- `complained` is the outcome of a report about a delivery that was delivered or in doubt.
      WHEN g.state IN ('delivered', 'complained') AND g.was <> 'delivered' THEN ARRAY['sent', 'delivered']
      WHEN g.state = 'bounced' THEN ARRAY['bounced_' || lower(coalesce(g.bounce ->> 'type', 'undetermined'))]
      WHEN g.state IN ('failed', 'suppressed') THEN ARRAY[g.state]
    END || CASE WHEN g.outcome = 'complained' THEN ARRAY['complained'] END) AS n(name)
  );
  IF EXISTS (SELECT FROM unnest(changes) AS c WHERE c.was = 'delivered' OR c.outcome = 'deferred') THEN
    moves := moves || moves_of_events(changes);
  END IF;
  PERFORM count_metrics(moves);
END
$$;

-- Returns the moves that depend on earlier events: a bounce takes back a delivery, and a recipient counts as delayed
-- once.
CREATE FUNCTION moves_of_events(changes delivery_change[]) RETURNS metric_move[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(c.account_id, NULL, c.domain_id, c.campaign_id, v.created_at, 'delivered', -1)::metric_move
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL (
      SELECT e.created_at FROM email_events e
      WHERE e.account_id = c.account_id AND e.email_id = c.email_id AND e.recipient = c.recipient AND e.type = 'delivered'
      ORDER BY e.id LIMIT 1
    ) v
    WHERE c.was = 'delivered' AND c.state IN ('bounced', 'failed')
    UNION ALL
    SELECT ROW(c.account_id, NULL, c.domain_id, c.campaign_id, c.at, 'delivery_delayed', 1)::metric_move
    FROM unnest(changes) AS c
    WHERE c.outcome = 'deferred' AND c.state = 'queued' AND NOT EXISTS (
      SELECT FROM email_events e WHERE e.account_id = c.account_id AND e.email_id = c.email_id
        AND e.recipient = c.recipient AND e.type = 'delivery_delayed'
      OFFSET 1
    )
  );
END
$$;
