DROP FUNCTION IF EXISTS note_unsubscribed(uuid, uuid);
DROP FUNCTION IF EXISTS note_replied(uuid, uuid, uuid);

-- Records that a recipient unsubscribed by an email. The newest event of the email, which must be stored before, names the
-- recipient, who counts once per email for the account, and once per run for the campaign.
CREATE FUNCTION note_unsubscribed(account uuid, email_id uuid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moves campaign_move[];
BEGIN
  PERFORM count_metrics(ARRAY(
    SELECT ROW(account, e.id, e.domain_id, e.campaign_id, now(), 'unsubscribed', 1)::metric_move
    FROM (
      SELECT v.recipient FROM email_events v
      WHERE v.account_id = account AND v.email_id = note_unsubscribed.email_id AND v.type = 'unsubscribed'
      ORDER BY v.id DESC LIMIT 1
    ) newest
    JOIN emails e ON e.account_id = account AND e.id = note_unsubscribed.email_id
    WHERE NOT EXISTS (
      SELECT FROM email_events v WHERE v.account_id = account AND v.email_id = e.id AND v.type = 'unsubscribed'
        AND v.recipient = newest.recipient
      OFFSET 1
    )
  ));
  WITH noted AS (
    UPDATE campaign_recipients r SET unsubscribed_at = now() FROM emails e
    WHERE e.account_id = account AND e.id = note_unsubscribed.email_id AND r.account_id = account AND r.campaign_id = e.campaign_id
      AND r.contact_id = e.contact_id AND r.run = e.campaign_run AND r.unsubscribed_at IS NULL
    RETURNING r.campaign_id, r.run, r.variant
  )
  SELECT array_agg(ROW(account, n.campaign_id, n.run, n.variant, 'unsubscribed', 1)::campaign_move) INTO moves FROM noted n;
  PERFORM count_campaigns(moves);
END
$$;

-- Records that a recipient of a campaign replied to its email: only the first reply is stored and counted.
CREATE FUNCTION note_replied(account uuid, email_id uuid, received uuid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moves campaign_move[];
BEGIN
  WITH noted AS (
    UPDATE campaign_recipients r SET replied_at = now(), received_email_id = received FROM emails e
    WHERE e.account_id = account AND e.id = note_replied.email_id AND r.account_id = account AND r.campaign_id = e.campaign_id
      AND r.contact_id = e.contact_id AND r.run = e.campaign_run AND r.replied_at IS NULL
    RETURNING r.campaign_id, r.run, r.variant
  )
  SELECT array_agg(ROW(account, n.campaign_id, n.run, n.variant, 'replied', 1)::campaign_move) INTO moves FROM noted n;
  PERFORM count_campaigns(moves);
END
$$;
