DROP FUNCTION IF EXISTS settle_deliveries(json);
DROP TYPE IF EXISTS delivery_result CASCADE;

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
-- statement here must use an index, row by row (email_of.sql).
CREATE TYPE delivery_result AS (
  account_id uuid, email_id uuid, id uuid, lease_owner uuid, attempt integer,
  outcome text,
  delay double precision, -- seconds
  reason text,
  reply text,
  via text,
  suppression_id uuid,
  hold boolean,
  class text,  -- cause of a refusal
  bounce jsonb -- the refusal in the form of contract 12.4
);

-- given: a list of delivery_result; null members may be missing.
CREATE FUNCTION settle_deliveries(given json) RETURNS SETOF uuid
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  results delivery_result[];
  changes delivery_change[];
  added suppressions[];
BEGIN
  SELECT array_agg(r) INTO results FROM json_populate_recordset(NULL::delivery_result, given) AS r;
  PERFORM lock_usage(array_agg(r.account_id)) FROM unnest(results) AS r
  HAVING bool_or(r.outcome = 'canceled') OR has_stopped_campaigns(
    array_agg(r.account_id) FILTER (WHERE r.outcome IN ('deferred', 'released', 'lost')),
    array_agg(r.id) FILTER (WHERE r.outcome IN ('deferred', 'released', 'lost')));

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
  INSERT INTO email_events (account_id, email_id, type, recipient, data)
  SELECT c.account_id, c.email_id, t.type, c.recipient,
    jsonb_strip_nulls(jsonb_build_object('reason', c.reason, 'reply', c.reply, 'via', c.via, 'class', c.class,
      'bounce', CASE WHEN t.type IN ('bounced', 'failed') THEN c.bounce END))
  FROM unnest(changes) AS c
  CROSS JOIN LATERAL (VALUES
    (1, CASE WHEN c.state <> 'queued' THEN c.state WHEN c.outcome = 'deferred' THEN 'delivery_delayed' END),
    (2, CASE WHEN c.outcome = 'complained' THEN 'complained' END)
  ) AS t(rank, type)
  WHERE t.type IS NOT NULL
  ORDER BY c.email_id, t.rank, c.recipient;

  PERFORM refund_email(c.account_id, c.email_id) FROM unnest(changes) AS c WHERE c.state = 'canceled';
  added := suppress_bounced(changes);
  PERFORM refresh_email_status(changes);
  PERFORM settle_campaigns(changes);
  PERFORM count_deliveries(changes);
  PERFORM announce_deliveries(changes);
  PERFORM tell_deliveries(changes);
  PERFORM announce_suppressions('added', added);

  RETURN QUERY SELECT c.id FROM unnest(changes) AS c;
END
$$;

-- Changes the deliveries; returns null if no token matched.
CREATE FUNCTION change_deliveries(results delivery_result[]) RETURNS delivery_change[]
LANGUAGE plpgsql AS $$
DECLARE
  changes delivery_change[];
BEGIN
  WITH locked AS MATERIALIZED (
    SELECT d.account_id, d.id, r.outcome, coalesce(r.delay, 0) AS delay, r.reason, r.reply, r.via, r.suppression_id, r.class,
      r.bounce, r.hold OR d.in_doubt_count > 0 AS hold, d.state AS was,
      -- Mail of such a campaign is not sent again.
      d.campaign_id IS NOT NULL AND EXISTS (
        SELECT FROM campaigns g
        WHERE g.account_id = d.account_id AND g.id = d.campaign_id AND g.status IN ('canceled', 'failed')
      ) AS is_stopped,
      -- A pause is not the receiver's fault, so the time starts at its end.
      greatest(coalesce(e.scheduled_at, e.created_at), d.resumed_at, (SELECT p.resumed_at FROM platform p))
        + give_up_after() < now() + make_interval(secs => r.delay) AS expired,
      d.lost_count >= 9 AS worn_out, e.domain_id
    FROM (SELECT * FROM unnest(results) AS r ORDER BY r.id) r
    -- One by one, by key, in the order of ids, whatever the planner assumes about the tables.
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = r.account_id AND d.id = r.id AND d.attempt = r.attempt
        AND (d.state = 'sending' AND d.lease_owner = r.lease_owner AND r.outcome <> 'resumed'
            -- Checked again: since the delivery was found lost, its worker may have begun to send the final dot.
            AND (r.outcome <> 'lost' OR d.phase = 'pre' AND d.lease_until < now())
          OR d.state = 'in_doubt' AND r.outcome NOT IN ('in_doubt', 'lost', 'released'))
      FOR NO KEY UPDATE
    ) d
    CROSS JOIN email_of(d.account_id, d.email_id) AS e
  ), decided AS (
    SELECT *,
      CASE
        WHEN outcome IN ('delivered', 'complained') THEN 'delivered'
        WHEN is_stopped AND outcome = 'resumed' THEN 'in_doubt'
        WHEN is_stopped AND outcome IN ('deferred', 'released', 'lost') THEN 'canceled'
        WHEN outcome IN ('deferred', 'released') AND expired OR outcome = 'lost' AND worn_out THEN 'failed'
        WHEN outcome IN ('deferred', 'released', 'lost', 'resumed') THEN 'queued'
        ELSE outcome
      END AS state,
      CASE
        WHEN outcome IN ('deferred', 'released') AND expired THEN
          concat_ws(' ', format('Given up after %s hours.', round(extract(epoch FROM give_up_after()) / 3600)), reason)
        WHEN outcome = 'lost' AND worn_out THEN 'Given up: ten workers died while they had it.'
        ELSE reason
      END AS verdict
    FROM locked
  ), changed AS (
    UPDATE deliveries d SET
      state = s.state, phase = NULL, lease_owner = NULL, lease_until = NULL, updated_at = now(),
      attempt = d.attempt - CASE WHEN s.outcome = 'released' THEN 1 ELSE 0 END,
      lost_count = d.lost_count + CASE WHEN s.outcome = 'lost' THEN 1 ELSE 0 END,
      in_doubt_count = d.in_doubt_count + CASE WHEN s.outcome = 'in_doubt' THEN 1 ELSE 0 END,
      complained = s.outcome = 'complained',
      -- The 72 hours may have passed while a person decided.
      resumed_at = CASE WHEN s.outcome = 'resumed' AND d.next_at IS NULL THEN now() ELSE d.resumed_at END,
      next_at = CASE
        WHEN s.state = 'queued' OR s.state = 'in_doubt' AND NOT s.hold THEN now() + make_interval(secs => s.delay)
      END,
      reason = CASE WHEN s.state <> 'delivered' THEN coalesce(s.verdict, d.reason) END,
      last_reply = coalesce(s.reply, d.last_reply)
    FROM decided s WHERE d.account_id = s.account_id AND d.id = s.id
    RETURNING ROW(d.account_id, d.email_id, d.id, d.recipient, s.outcome, d.state, d.reason, s.reply, s.via,
      s.suppression_id, s.class, s.bounce, s.was, d.campaign_id, s.domain_id)::delivery_change AS change
  )
  SELECT array_agg(change) INTO changes FROM changed;
  RETURN changes;
END
$$;
