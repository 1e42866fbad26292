-- Sets emails.status to the first of these that applies: queued, delivery_delayed, sent (in doubt), then the worst
-- final outcome. Must run in a separate statement after the deliveries were changed under the locks of their emails.
CREATE FUNCTION refresh_email_status(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE emails e SET
    status = s.status,
    last_event = coalesce(s.last_event, e.last_event),
    sent_at = CASE WHEN s.any_delivered THEN coalesce(e.sent_at, s.sent_at) ELSE e.sent_at END,
    updated_at = now()
  FROM (
    SELECT d.account_id, d.email_id, min(w.sent_at) AS sent_at, min(w.last_event) AS last_event,
      bool_or(d.state = 'delivered') AS any_delivered,
      CASE
        WHEN bool_or(d.state = 'queued' AND d.attempt = 0 OR d.state = 'sending' AND d.attempt = 1) THEN 'queued'
        WHEN bool_or(d.state IN ('queued', 'sending')) THEN 'delivery_delayed'
        WHEN bool_or(d.state = 'in_doubt') THEN 'sent'
        WHEN bool_or(d.state = 'bounced') THEN 'bounced'
        WHEN bool_or(d.state = 'failed') THEN 'failed'
        WHEN bool_or(d.complained) THEN 'complained'
        WHEN bool_or(d.state = 'delivered') THEN 'delivered'
        WHEN bool_or(d.state = 'suppressed') THEN 'suppressed'
        ELSE 'canceled'
      END AS status
    FROM (
      -- The last event of these changes; without one, the email keeps the last that it had.
      SELECT c.email_id, min(c.at) FILTER (WHERE c.state IN ('delivered', 'complained')) AS sent_at, (array_agg(
        CASE WHEN c.outcome = 'complained' THEN 'complained' WHEN c.state = 'in_doubt' THEN 'sent'
          WHEN c.state <> 'queued' THEN c.state ELSE 'delivery_delayed' END
        ORDER BY c.outcome = 'complained' DESC, c.recipient DESC
      ) FILTER (WHERE c.state <> 'queued' OR c.outcome = 'deferred'))[1] AS last_event
      FROM unnest(changes) AS c GROUP BY c.email_id
    ) w
    -- OFFSET 0: by the key of each, however few deliveries there were when Postgres last looked.
    CROSS JOIN LATERAL (
      SELECT d.account_id, d.email_id, d.state, d.attempt, d.complained FROM deliveries d
      WHERE d.email_id = w.email_id OFFSET 0
    ) d
    GROUP BY d.account_id, d.email_id
  ) s
  -- They are locked, so they stay in place.
  CROSS JOIN LATERAL (
    SELECT k.ctid AS place FROM emails k WHERE k.account_id = s.account_id AND k.id >= s.email_id AND k.id <= s.email_id
    ORDER BY k.id LIMIT 1
  ) k
  WHERE e.ctid = k.place;
END
$$;
