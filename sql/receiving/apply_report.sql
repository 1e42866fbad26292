DROP FUNCTION IF EXISTS apply_report(uuid, uuid, text, text, text, text, jsonb, uuid);

-- Stores what a report says about a delivery that its receiver accepted: its state, event, suppression and the status
-- of its email. Only the first such outcome of a delivery counts; later reports change nothing, except that a complaint
-- always suppresses and unsubscribes the recipient: the email has arrived, whatever another report or server said. A
-- report shows that a delivery in doubt has arrived.
--
-- outcome       bounced: the recipient is the cause; always with a suppression
--               failed: refused for another cause (class), as a refusal in the session would be
--               complained
-- suppression   id of the row; null for failed
-- Returns applied | settled | sending (its result is not stored yet: to be retried)
CREATE FUNCTION apply_report(account uuid, delivery uuid, outcome text, reason text, reply text, class text, bounce jsonb,
  suppression uuid) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
  d deliveries;
  added suppressions[];
  changes delivery_change[];
  domain uuid;
  counts boolean;
BEGIN
  -- Emails first: see settle_deliveries.
  SELECT e.domain_id INTO domain FROM emails e
  WHERE e.account_id = account
    AND e.id = (SELECT x.email_id FROM deliveries x WHERE x.account_id = account AND x.id = delivery)
  FOR NO KEY UPDATE;
  SELECT * INTO d FROM deliveries x WHERE x.account_id = account AND x.id = delivery FOR NO KEY UPDATE;
  IF d.state = 'sending' THEN
    RETURN 'sending';
  END IF;
  counts := d.state IN ('delivered', 'in_doubt');
  IF d.id IS NULL OR d.complained OR NOT counts AND outcome <> 'complained' THEN
    RETURN 'settled';
  END IF;

  IF counts THEN
    UPDATE deliveries x SET
      state = CASE outcome WHEN 'complained' THEN 'delivered' ELSE outcome END,
      complained = outcome = 'complained',
      reported_class = CASE outcome WHEN 'failed' THEN apply_report.class END,
      next_at = NULL,
      reason = CASE WHEN outcome <> 'complained' THEN apply_report.reason END,
      last_reply = coalesce(apply_report.reply, x.last_reply),
      updated_at = now()
    WHERE x.account_id = account AND x.id = delivery;

    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    VALUES (account, d.email_id, outcome, d.recipient, jsonb_strip_nulls(jsonb_build_object('reason',
      apply_report.reason, 'reply', apply_report.reply, 'class', apply_report.class, 'bounce', apply_report.bounce)));
  END IF;

  IF suppression IS NOT NULL THEN
    added := add_suppressions(ARRAY[jsonb_populate_record(NULL::suppressions, jsonb_build_object('account_id', account,
      'id', suppression, 'address', lower(d.recipient),
      'reason', CASE outcome WHEN 'bounced' THEN 'bounce' ELSE 'complaint' END,
      'cause', coalesce(apply_report.reply, apply_report.reason), 'source_email_id', d.email_id,
      'expires_at', CASE WHEN apply_report.bounce ->> 'subType' = 'MailboxFull' THEN now() + interval '30 days' END))]);
  END IF;
  IF outcome = 'complained' THEN
    PERFORM opt_out_complainer(account, domain, d.email_id, lower(d.recipient));
  END IF;

  IF counts THEN
    changes := ARRAY[ROW(d.account_id, d.email_id, d.id, d.recipient, outcome, outcome, apply_report.reason,
      apply_report.reply, NULL, suppression, apply_report.class, apply_report.bounce, d.state, d.campaign_id,
      domain, now())::delivery_change];
    PERFORM refresh_email_status(changes);
    PERFORM settle_campaigns(changes);
    PERFORM count_deliveries(changes);
    PERFORM announce_deliveries(changes);
    PERFORM tell_deliveries(changes);
  END IF;
  IF added IS NOT NULL THEN
    PERFORM announce_suppressions('added', added);
  END IF;
  RETURN 'applied';
END
$$;
