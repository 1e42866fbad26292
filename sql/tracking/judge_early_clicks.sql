DROP FUNCTION IF EXISTS judge_early_clicks(delivery_change[]);

-- Judges clicks again that were recorded before the delivery was: while a result waits for the database, or until a dead
-- worker is replaced, each click comes before the delivery (look_up_hits), although people may have the mail. Updates
-- all figures in the commit of these changes, and returns what tell_hits reports; nulls: nothing has changed.
CREATE FUNCTION judge_early_clicks(changes delivery_change[], OUT before hit_group[], OUT after hit_group[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  hits tracking_hit[] := ARRAY(
    SELECT ROW(t.account_id, t.delivery_id, t.id, t.email_id, t.type, t.class, t.rule, NULL, t.link, t.url, t.ip,
      t.user_agent, t.created_at, NULL)::tracking_hit
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_hits h WHERE h.account_id = c.account_id AND h.delivery_id = c.id OFFSET 0
    ) t
    WHERE c.state IN ('delivered', 'in_doubt') AND t.rule = 'early' AND t.created_at - early_click_time() >= c.at
  );
BEGIN
  IF hits = '{}' THEN
    RETURN;
  END IF;

  before := group_hits(hits);
  UPDATE tracking_hits t SET class = 'human', rule = 'default' FROM unnest(hits) AS h
  WHERE t.account_id = h.account_id AND t.delivery_id = h.delivery_id AND t.id = h.id;
  -- These opens may depend on the clicks.
  UPDATE tracking_hits t SET class = 'human', rule = 'default'
  FROM (SELECT DISTINCT h.account_id, h.delivery_id FROM unnest(hits) AS h) h
  WHERE t.account_id = h.account_id AND t.delivery_id = h.delivery_id AND t.rule = 'beside_clicks';
  PERFORM find_bursts(hits);
  PERFORM find_machine_opens(hits);
  after := group_hits(hits);

  PERFORM count_hits(before, after);
  PERFORM count_metrics(metrics_between(before, after));
END
$$;
