DROP FUNCTION IF EXISTS count_campaigns(campaign_move[]);

-- Changes figures of campaigns in the commit that they count. Rows are changed in the order of their keys, so that no
-- two statements deadlock; each backend mostly has a shard of its own.
CREATE FUNCTION count_campaigns(moves campaign_move[]) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO campaign_counts AS c (account_id, campaign_id, run, variant, name, shard, count)
  SELECT m.account_id, m.campaign_id, m.run, m.variant, m.name, pg_backend_pid() % 16, sum(m.by)
  FROM unnest(moves) AS m
  -- A campaign that was deleted meanwhile has no figures.
  WHERE EXISTS (SELECT FROM campaigns g WHERE g.account_id = m.account_id AND g.id = m.campaign_id)
  GROUP BY m.account_id, m.campaign_id, m.run, m.variant, m.name
  HAVING sum(m.by) <> 0
  ORDER BY m.account_id, m.campaign_id, m.run, m.variant, m.name
  ON CONFLICT (account_id, campaign_id, run, variant, name, shard) DO UPDATE SET count = c.count + excluded.count
$$;
