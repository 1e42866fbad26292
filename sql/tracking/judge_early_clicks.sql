DROP FUNCTION IF EXISTS judge_early_clicks(delivery_change[]);
DROP FUNCTION IF EXISTS judge_early_clicks(json);
DROP FUNCTION IF EXISTS queue_early_clicks(delivery_change[]);

-- Queues judge_early_clicks for deliveries with clicks that were recorded before their result. It is a transaction of its
-- own: it locks the same figures as the results, and automations must hear of a delivery before its clicks.
CREATE FUNCTION queue_early_clicks(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  clicked json;
BEGIN
  SELECT json_agg(json_build_object('account_id', c.account_id, 'id', c.id)) INTO clicked FROM unnest(changes) AS c
  WHERE c.state IN ('delivered', 'in_doubt') AND EXISTS (
    SELECT FROM tracking_hits h WHERE h.account_id = c.account_id AND h.delivery_id = c.id AND h.rule = 'early'
      AND h.created_at - early_click_time() >= c.at OFFSET 0
  );
  IF clicked IS NOT NULL THEN
    PERFORM graphile_worker.add_job('judge_early_clicks', json_build_object('deliveries', clicked),
      max_attempts => job_attempts());
  END IF;
END
$$;

-- Judges clicks again that were recorded before the delivery was: while a result waits for the database, or until a dead
-- worker is replaced, each click comes before the delivery (look_up_hits), although people may have the mail. Updates
-- all figures and reports what has changed, in one commit. Hits that a suspected mail filter's network has made a
-- machine's stay so: what else they would be is not stored.
--
-- given: a list of deliveries with account_id and id. Repeating it changes nothing.
CREATE FUNCTION judge_early_clicks(given json) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  hits tracking_hit[];
  before hit_group[];
  after hit_group[];
BEGIN
  -- Emails first and in order: see record_hits.
  PERFORM 1
  FROM (
    SELECT DISTINCT d.account_id, d.email_id FROM json_to_recordset(given) AS w(account_id uuid, id uuid)
    JOIN deliveries d ON d.account_id = w.account_id AND d.id = w.id
  ) w
  JOIN emails e ON e.account_id = w.account_id AND e.id = w.email_id
  ORDER BY e.id FOR NO KEY UPDATE OF e;

  hits := ARRAY(
    SELECT ROW(t.account_id, t.delivery_id, t.id, t.email_id, t.type, t.class, t.rule, NULL, t.link, t.url, t.ip,
      t.user_agent, t.created_at, NULL)::tracking_hit
    FROM json_to_recordset(given) AS w(account_id uuid, id uuid)
    JOIN deliveries d ON d.account_id = w.account_id AND d.id = w.id
    CROSS JOIN LATERAL (SELECT delivery_time(d) AS delivered_at OFFSET 0) s
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_hits h WHERE h.account_id = d.account_id AND h.delivery_id = d.id OFFSET 0
    ) t
    WHERE t.rule = 'early' AND t.created_at - early_click_time() >= s.delivered_at
  );
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
  PERFORM tell_hits(before, after);
END
$$;
