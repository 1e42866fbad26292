DROP FUNCTION IF EXISTS cancel_campaign_emails(uuid, uuid);
DROP FUNCTION IF EXISTS cancel_campaign_recipients(uuid, uuid, integer);

-- Cancels the emails of a campaign that no worker has claimed, and returns how many. What is being sent ends as it ends. The
-- caller has locked the usage of the account, then the campaign, so that no more of its emails are stored.
CREATE FUNCTION cancel_campaign_emails(account uuid, campaign uuid) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  part constant integer := 1000;
  waiting uuid[];
  canceled uuid[];
BEGIN
  -- An email and then its deliveries, as everybody locks them who changes both.
  SELECT array_agg(l.id) INTO waiting FROM (
    SELECT e.id FROM emails e
    WHERE e.account_id = account AND e.id = ANY (ARRAY(
      SELECT d.email_id FROM deliveries d
      WHERE d.account_id = account AND d.campaign_id = campaign AND d.state = 'queued'
    ))
    ORDER BY e.id FOR NO KEY UPDATE
  ) l;

  -- With a snapshot of its own: some may have been claimed meanwhile.
  WITH changed AS (
    UPDATE deliveries d SET state = 'canceled', next_at = NULL, updated_at = now()
    WHERE d.account_id = account AND d.campaign_id = campaign AND d.state = 'queued' AND d.email_id = ANY (waiting)
    RETURNING d.email_id
  )
  SELECT array_agg(email_id) INTO canceled FROM changed;
  IF canceled IS NULL THEN
    RETURN 0;
  END IF;

  UPDATE emails SET status = 'canceled', last_event = 'canceled', updated_at = now()
  WHERE account_id = account AND id = ANY (canceled);
  INSERT INTO email_events (account_id, email_id, type) SELECT account, id, 'canceled' FROM unnest(canceled) AS c(id);
  PERFORM refund_email(account, e.id) FROM emails e
  WHERE e.account_id = account AND e.id = ANY (canceled) AND e.quota_debit > 0;
  PERFORM count_campaigns(ARRAY(
    SELECT ROW(account, campaign, e.campaign_run, coalesce(r.variant, 0), 'canceled', count(*))::campaign_move
    FROM emails e
    LEFT JOIN campaign_recipients r ON r.account_id = account AND r.campaign_id = campaign AND r.contact_id = e.contact_id
      AND r.run = e.campaign_run
    WHERE e.account_id = account AND e.id = ANY (canceled)
    GROUP BY e.campaign_run, coalesce(r.variant, 0)
  ));
  IF have_webhooks(ARRAY[account]) THEN
    FOR place IN 1..cardinality(canceled) BY part LOOP
      PERFORM announce_emails(ARRAY(
        SELECT ROW(account, c.id, 'canceled', NULL, NULL)::email_event
        FROM unnest(canceled[place:place + part - 1]) AS c(id)
      ));
    END LOOP;
  END IF;
  RETURN cardinality(canceled);
END
$$;

-- Cancels recipients of a canceled campaign whose email was not stored, up to so many.
CREATE FUNCTION cancel_campaign_recipients(account uuid, campaign uuid, max_count integer) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  moves campaign_move[];
BEGIN
  WITH waiting AS MATERIALIZED (
    SELECT r.run, r.contact_id FROM campaign_recipients r
    WHERE r.account_id = account AND r.campaign_id = campaign AND r.state = 'p'
    ORDER BY r.run, r.due_at, r.contact_id LIMIT max_count FOR NO KEY UPDATE
  ), changed AS (
    UPDATE campaign_recipients r SET state = 'c' FROM waiting w
    WHERE r.account_id = account AND r.campaign_id = campaign AND r.contact_id = w.contact_id AND r.run = w.run
    RETURNING r.run, r.variant
  )
  SELECT array_agg(ROW(account, campaign, c.run, c.variant, 'canceled', c.count)::campaign_move) INTO moves
  FROM (SELECT run, variant, count(*)::integer AS count FROM changed GROUP BY run, variant) c;
  PERFORM count_campaigns(moves);
END
$$;
