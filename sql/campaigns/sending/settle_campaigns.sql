-- Dropping the types in _types.sql drops the functions that take them.
DROP FUNCTION IF EXISTS cancel_deliveries(uuid, uuid, integer);

-- Changes the figures of campaigns by results of deliveries, and records which contacts were sent mail. Costs nothing
-- for mail without a campaign. Runs after the changes, in their commit.
CREATE FUNCTION settle_campaigns(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  settled settled_mail[];
  moves campaign_move[];
BEGIN
  IF NOT EXISTS (SELECT FROM unnest(changes) AS c WHERE c.campaign_id IS NOT NULL) THEN
    RETURN;
  END IF;

  -- Locks recipients, contacts and figures in this order, like all transactions that change several of them.
  settled := ARRAY(
    SELECT ROW(e.account_id, e.id, e.campaign_id, e.campaign_run, e.contact_id, coalesce(r.variant, 0), c.outcome, c.state,
      c.was, c.reply, c.at)::settled_mail
    FROM unnest(changes) AS c
    CROSS JOIN email_of(c.account_id, c.email_id) AS e
    LEFT JOIN LATERAL (
      SELECT r.variant FROM campaign_recipients r WHERE r.account_id = e.account_id AND r.campaign_id = e.campaign_id
        AND r.contact_id >= e.contact_id AND r.contact_id <= e.contact_id AND r.run = e.campaign_run
      ORDER BY r.contact_id LIMIT 1 FOR NO KEY UPDATE
    ) r ON true
    WHERE c.campaign_id IS NOT NULL
  );
  IF EXISTS (SELECT FROM unnest(settled) AS s WHERE s.state IN ('delivered', 'complained')) THEN
    PERFORM note_sent(settled);
  END IF;
  IF EXISTS (SELECT FROM unnest(settled) AS s WHERE s.state IN ('bounced', 'failed')) THEN
    PERFORM note_soft_bounces(changes);
  END IF;

  -- `complained` is the outcome of a report about a delivery that was delivered or in doubt.
  SELECT array_agg(ROW(c.account_id, c.campaign_id, c.run, c.variant, m.name, m.by)::campaign_move) INTO moves
  FROM unnest(settled) AS c
  CROSS JOIN LATERAL (
    SELECT CASE c.state WHEN 'complained' THEN 'delivered' ELSE c.state END AS state, c.was,
      c.outcome = 'deferred' AND c.state = 'queued' AND NOT EXISTS (
        SELECT FROM email_events v WHERE v.account_id = c.account_id AND v.email_id = c.email_id AND v.type = 'delivery_delayed'
        OFFSET 1
      ) AS is_first_delay
  ) s
  CROSS JOIN LATERAL (VALUES
    ('sent', 1, s.state = 'delivered' AND s.was <> 'delivered'),
    (s.state, 1, s.was <> s.state AND s.state IN ('delivered', 'bounced', 'failed', 'suppressed', 'canceled', 'in_doubt')),
    (s.was, -1, s.was <> s.state AND s.was IN ('delivered', 'in_doubt')),
    ('complained', 1, c.outcome = 'complained'),
    -- Later attempts do not count: at the end of a campaign only the mail of unreachable servers is still tried.
    ('unreached', 1, s.is_first_delay AND c.reply IS NULL),
    ('delayed', 1, s.is_first_delay)
  ) AS m(name, by, is_so)
  WHERE c.run IS NOT NULL AND m.is_so;
  IF moves IS NOT NULL THEN
    PERFORM count_campaigns(moves);
  END IF;
END
$$;

-- Records when recipients of campaigns were sent their email, once per run, and counts it for their contacts. The recipients
-- were locked by an earlier statement: so the one here sees their newest rows, which stay in place.
CREATE FUNCTION note_sent(settled settled_mail[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  WITH changed AS (
    UPDATE campaign_recipients r SET sent_at = c.at FROM unnest(settled) AS c
    CROSS JOIN LATERAL (
      SELECT k.ctid AS place FROM campaign_recipients k WHERE k.account_id = c.account_id AND k.campaign_id = c.campaign_id
        AND k.contact_id >= c.contact_id AND k.contact_id <= c.contact_id AND k.run = c.run
      ORDER BY k.contact_id LIMIT 1
    ) k
    WHERE r.ctid = k.place AND r.sent_at IS NULL AND c.state IN ('delivered', 'complained')
    RETURNING r.account_id, r.contact_id, r.sent_at
  )
  INSERT INTO contact_engagement AS g (account_id, contact_id, last_sent_at, sent_count)
  SELECT c.account_id, c.id, s.last_at, s.count
  FROM (
    SELECT r.account_id, r.contact_id, max(r.sent_at) AS last_at, count(*) AS count FROM changed r GROUP BY 1, 2 ORDER BY 1, 2
  ) s
  -- Leaves out contacts that are being deleted.
  CROSS JOIN LATERAL (
    SELECT * FROM contacts c WHERE c.account_id = s.account_id AND c.id = s.contact_id FOR KEY SHARE
  ) c
  ON CONFLICT (account_id, contact_id) DO UPDATE SET last_sent_at = greatest(g.last_sent_at, excluded.last_sent_at),
    sent_count = g.sent_count + excluded.sent_count;
END
$$;

-- Cancels at most max_count queued deliveries of a stopped campaign and refunds their quota; returns how many.
CREATE FUNCTION cancel_deliveries(account uuid, campaign uuid, max_count integer) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  email_ids uuid[];
  changes delivery_change[];
BEGIN
  PERFORM lock_usage(ARRAY[account]);
  email_ids := ARRAY(
    SELECT d.email_id FROM deliveries d WHERE d.account_id = account AND d.campaign_id = campaign AND d.state = 'queued'
    ORDER BY d.email_id LIMIT max_count
  );
  -- Emails first: see settle_deliveries. Each row is found by its key, here and below: a plan that was made while the
  -- account had little mail reads all of its mail for each.
  PERFORM FROM (SELECT unnest(email_ids) AS id ORDER BY 1) w
  CROSS JOIN LATERAL (
    SELECT FROM emails e WHERE e.account_id = account AND e.id >= w.id AND e.id <= w.id ORDER BY e.id LIMIT 1 FOR NO KEY UPDATE
  ) e;
  WITH mine AS MATERIALIZED (
    SELECT d.account_id, d.id FROM (SELECT unnest(email_ids) AS id ORDER BY 1) w
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d WHERE d.email_id = w.id AND d.account_id = account AND d.state = 'queued' FOR NO KEY UPDATE
    ) d
  ), changed AS (
    UPDATE deliveries d SET state = 'canceled', next_at = NULL, updated_at = now() FROM mine m
    WHERE d.account_id = m.account_id AND d.id = m.id
    RETURNING ROW(d.account_id, d.email_id, d.id, d.recipient, 'canceled', 'canceled', NULL, NULL, NULL, NULL, NULL, NULL,
      'queued', d.campaign_id, NULL, now())::delivery_change AS change
  )
  SELECT array_agg(change) INTO changes FROM changed;
  IF changes IS NULL THEN
    RETURN 0;
  END IF;

  INSERT INTO email_events (account_id, email_id, type, recipient)
  SELECT c.account_id, c.email_id, 'canceled', c.recipient FROM unnest(changes) AS c ORDER BY c.email_id;
  PERFORM refund_email(account, c.email_id) FROM unnest(changes) AS c
  CROSS JOIN email_of(account, c.email_id) AS e
  WHERE e.quota_debit > 0;
  PERFORM refresh_email_status(changes);
  PERFORM settle_campaigns(changes);
  PERFORM announce_deliveries(changes);
  RETURN cardinality(changes);
END
$$;
