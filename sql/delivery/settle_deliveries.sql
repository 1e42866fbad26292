DROP FUNCTION IF EXISTS settle_deliveries(json);

-- Stores the results of deliveries: their state, events, suppressions and the status of their emails, in one commit.
--
-- outcome   delivered | complained | deferred | bounced | failed | suppressed | in_doubt   (an attempt ended)
--           canceled  (its automation was stopped before it was sent)
--           released  (given back before anything was sent: not an attempt)
--           lost      (its worker died before the final dot: safe to send again)
--           resumed   (in doubt for long enough: send once more)
-- A result counts only once and with the token of its claim. A result that arrives after the lease was lost in the
-- phase `dot` still settles the doubt. Mail that becomes `canceled` is refunded to the quotas. Returns the settled ids.
--
-- The planner does not know the length of a list; with stale statistics it would read whole tables for it. So every
-- statement here must use an index, row by row (sql/sending/by_key.sql).
--
-- given: a list of delivery_result; null members may be missing.
CREATE FUNCTION settle_deliveries(given json) RETURNS SETOF uuid
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  results delivery_result[];
  changes delivery_change[];
  added suppressions[];
  may_cancel boolean;
  have_bounces boolean;
  are_late boolean;
BEGIN
  SELECT array_agg(r), bool_or(r.outcome IN ('canceled', 'deferred', 'released', 'lost')),
    bool_or(r.outcome = 'bounced'), bool_or(make_interval(secs => r.age) > early_click_time())
  INTO results, may_cancel, have_bounces, are_late FROM json_populate_recordset(NULL::delivery_result, given) AS r;
  -- Most results need none of the steps that are left out here and below; each takes a statement.
  IF may_cancel THEN
    PERFORM lock_usage(array_agg(r.account_id)) FROM unnest(results) AS r
    WHERE r.outcome IN ('canceled', 'deferred', 'released', 'lost')
    HAVING bool_or(r.outcome = 'canceled') OR has_stopped_campaigns(array_agg(r.account_id), array_agg(r.id));
  END IF;

  -- Emails first, in order: every writer of an email and its deliveries locks in this order. Otherwise two recipients
  -- that settle at the same time could miss each other in the status below.
  PERFORM 1
  FROM (SELECT DISTINCT r.account_id, r.email_id FROM unnest(results) AS r ORDER BY r.email_id) w
  CROSS JOIN LATERAL (SELECT FROM emails e WHERE e.account_id = w.account_id AND e.id >= w.email_id AND e.id <= w.email_id
    ORDER BY e.id LIMIT 1 FOR NO KEY UPDATE) e;

  changes := change_deliveries(results);
  IF changes IS NULL THEN
    RETURN;
  END IF;

  -- One event per recipient. The event `sent`, the first 250 for any of them, is emails.sent_at.
  INSERT INTO email_events (account_id, email_id, type, recipient, data, created_at)
  SELECT c.account_id, c.email_id, t.type, c.recipient,
    jsonb_strip_nulls(jsonb_build_object('reason', c.reason, 'reply', c.reply, 'via', c.via, 'class', c.class,
      'bounce', CASE WHEN t.type IN ('bounced', 'failed') THEN c.bounce END)), c.at
  FROM unnest(changes) AS c
  CROSS JOIN LATERAL (VALUES
    (1, CASE WHEN c.state <> 'queued' THEN c.state WHEN c.outcome = 'deferred' THEN 'delivery_delayed' END),
    (2, CASE WHEN c.outcome = 'complained' THEN 'complained' END)
  ) AS t(rank, type)
  WHERE t.type IS NOT NULL
  ORDER BY c.email_id, t.rank, c.recipient;

  IF may_cancel THEN
    PERFORM refund_email(c.account_id, c.email_id) FROM unnest(changes) AS c WHERE c.state = 'canceled';
  END IF;
  IF have_bounces THEN
    added := suppress_bounced(changes);
  END IF;
  PERFORM refresh_email_status(changes);
  PERFORM settle_campaigns(changes);
  PERFORM count_deliveries(changes);
  PERFORM announce_deliveries(changes);
  PERFORM tell_deliveries(changes);
  IF are_late THEN
    PERFORM queue_early_clicks(changes);
  END IF;
  IF added IS NOT NULL THEN
    PERFORM announce_suppressions('added', added);
  END IF;

  RETURN QUERY SELECT c.id FROM unnest(changes) AS c;
END
$$;
