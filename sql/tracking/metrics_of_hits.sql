DROP FUNCTION IF EXISTS metrics_between(hit_group[], hit_group[]), metrics_of_hits(hit_group[]);

-- Returns how the figures of the account change from `before` to `after`.
CREATE FUNCTION metrics_between(before hit_group[], after hit_group[]) RETURNS metric_move[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(m.account_id, NULL, m.domain_id, m.campaign_id, m.at, m.name, sum(m.by))::metric_move
    FROM (
      SELECT * FROM metrics_of_hits(after)
      UNION ALL
      SELECT b.account_id, b.email_id, b.domain_id, b.campaign_id, b.at, b.name, -b.by FROM metrics_of_hits(before) AS b
    ) m
    GROUP BY m.account_id, m.domain_id, m.campaign_id, m.at, m.name
    HAVING sum(m.by) <> 0
  );
END
$$;

-- Returns the figures of the account (count_metrics.sql) from these hits, which must be all hits of their deliveries.
CREATE FUNCTION metrics_of_hits(groups hit_group[]) RETURNS SETOF metric_move
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY
  WITH by_people AS MATERIALIZED (
    SELECT g.* FROM unnest(groups) AS g WHERE is_by_person(g.class)
  ), firsts AS (
    SELECT p.account_id, p.email_id, min(p.first_at) AS at, min(p.first_at) FILTER (WHERE p.type = 'click') AS clicked_at,
      bool_or(p.type = 'open') AS has_open
    FROM by_people p GROUP BY p.account_id, p.email_id, p.delivery_id
  ), counted AS (
    SELECT p.account_id, p.email_id, p.quarter AS at, event_of_hit(p.type) AS name, p.hits AS by FROM by_people p
    UNION ALL
    SELECT f.account_id, f.email_id, quarter_of(n.at), n.name, 1
    FROM firsts f
    CROSS JOIN LATERAL (VALUES
      ('unique_opened', f.at), ('unique_clicked', f.clicked_at), ('opened', CASE WHEN NOT f.has_open THEN f.clicked_at END)
    ) AS n(name, at)
    WHERE n.at IS NOT NULL
  )
  SELECT e.account_id, e.id, e.domain_id, e.campaign_id, c.at, c.name, c.by
  FROM counted c JOIN emails e ON e.account_id = c.account_id AND e.id = c.email_id;
END
$$;
