-- Dropping the types in _types.sql drops this function.

-- Changes the deliveries by their results (settle_deliveries.sql); returns null if no token matched.
CREATE FUNCTION change_deliveries(results delivery_result[]) RETURNS delivery_change[]
LANGUAGE plpgsql AS $$
DECLARE
  changes delivery_change[];
BEGIN
  -- Locks first, in the order of ids, in a statement of its own: so the next one sees the newest rows, which stay in place.
  PERFORM FROM (SELECT * FROM unnest(results) AS r ORDER BY r.id) r
  CROSS JOIN LATERAL (
    SELECT FROM deliveries d WHERE d.account_id = r.account_id AND d.id >= r.id AND d.id <= r.id
    ORDER BY d.id LIMIT 1 FOR NO KEY UPDATE
  ) d;

  WITH found AS MATERIALIZED (
    SELECT d.place, r.outcome, coalesce(r.delay, 0) AS delay, r.reason, r.reply, r.via, r.suppression_id, r.class,
      r.bounce, r.hold OR d.in_doubt_count > 0 AS hold, d.state AS was,
      greatest(now() - make_interval(secs => coalesce(r.age, 0)), CASE d.state WHEN 'sending' THEN d.updated_at END) AS at,
      -- Mail in doubt is not sent again to somebody who has unsubscribed. If its own link was used, it has arrived.
      r.outcome = 'suppressed' AND d.in_doubt_count > 0 AND EXISTS (
        SELECT FROM email_events v WHERE v.account_id = d.account_id AND v.email_id = d.email_id
          AND v.type = 'unsubscribed' AND v.recipient = lower(d.recipient)
      ) AS has_arrived,
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
    -- One by one, by key, whatever the planner assumes about the tables.
    CROSS JOIN LATERAL (
      SELECT d.ctid AS place, d.* FROM deliveries d WHERE d.account_id = r.account_id AND d.id >= r.id AND d.id <= r.id
      ORDER BY d.id LIMIT 1
    ) d
    CROSS JOIN email_of(d.account_id, d.email_id) AS e
    WHERE d.attempt = r.attempt
      AND (d.state = 'sending' AND d.lease_owner = r.lease_owner AND r.outcome <> 'resumed'
          -- Checked again: since the delivery was found lost, its worker may have begun to send the final dot.
          AND (r.outcome <> 'lost' OR d.phase = 'pre' AND d.lease_until < now())
        OR d.state = 'in_doubt' AND r.outcome NOT IN ('in_doubt', 'lost', 'released'))
  ), decided AS (
    SELECT *,
      CASE
        WHEN outcome IN ('delivered', 'complained') OR has_arrived THEN 'delivered'
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
    FROM found
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
    FROM decided s WHERE d.ctid = s.place
    RETURNING ROW(d.account_id, d.email_id, d.id, d.recipient, s.outcome, d.state, d.reason, s.reply, s.via,
      s.suppression_id, s.class, s.bounce, s.was, d.campaign_id, s.domain_id, s.at)::delivery_change AS change
  )
  SELECT array_agg(change) INTO changes FROM changed;
  RETURN changes;
END
$$;
