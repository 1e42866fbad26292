-- Dropping a type in _types.sql drops note_soft_bounces, which takes it.
DROP FUNCTION IF EXISTS is_unreachable(contact_engagement);

-- Counts consecutive soft bounces of the recipients of campaigns: mail that their servers refused for good, or for so
-- long that it was given up, although the address may exist. Refusals of the sender or the content do not count, nor
-- does a server that was not reached. A job unsubscribes contacts that no mail has reached for long.
--
-- A bounce may arrive after its email was accepted and counted in sent_count. So the sequence is unbroken if no more
-- emails have stayed delivered than at the last bounce.
CREATE FUNCTION note_soft_bounces(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  unreachable json;
BEGIN
  WITH bounces AS MATERIALIZED (
    SELECT e.account_id, e.contact_id, count(*) AS count, count(*) FILTER (WHERE c.was = 'delivered') AS late
    FROM unnest(changes) AS c
    CROSS JOIN email_of(c.account_id, c.email_id) AS e
    WHERE c.campaign_id IS NOT NULL AND c.was <> c.state
      AND (c.state = 'failed' OR c.state = 'bounced' AND c.bounce ->> 'subType' = 'MailboxFull')
      AND c.class IN ('recipient', 'transient') AND c.reply IS NOT NULL AND e.contact_id IS NOT NULL
    GROUP BY 1, 2
  ), noted AS (
    INSERT INTO contact_engagement AS g
      (account_id, contact_id, soft_bounces, soft_bounces_since, bounced_after_accepted, delivered_before)
    SELECT b.account_id, b.contact_id, b.count, now(), b.late, -b.late
    FROM bounces b
    -- Leaves out contacts that are being deleted.
    CROSS JOIN LATERAL (
      SELECT FROM contacts k WHERE k.account_id = b.account_id AND k.id = b.contact_id FOR KEY SHARE
    ) k
    ORDER BY b.account_id, b.contact_id
    ON CONFLICT (account_id, contact_id) DO UPDATE SET
      (soft_bounces, soft_bounces_since, bounced_after_accepted, delivered_before) = (
        SELECT excluded.soft_bounces + CASE WHEN is_unbroken THEN g.soft_bounces ELSE 0 END,
          CASE WHEN is_unbroken THEN g.soft_bounces_since ELSE now() END, late, delivered
        FROM (SELECT g.bounced_after_accepted + excluded.bounced_after_accepted AS late) l
        CROSS JOIN LATERAL (SELECT g.sent_count - late AS delivered) d
        CROSS JOIN LATERAL (SELECT coalesce(delivered <= g.delivered_before, false) AS is_unbroken) u
      )
    RETURNING g
  )
  SELECT json_agg(json_build_object('account_id', (n.g).account_id, 'id', (n.g).contact_id)) INTO unreachable
  FROM noted n WHERE is_unreachable(n.g);
  IF unreachable IS NOT NULL THEN
    PERFORM graphile_worker.add_job('unsubscribe_unreachable', json_build_object('contacts', unreachable),
      max_attempts => job_attempts());
  END IF;
END
$$;

-- Returns true if the last five campaign emails to a contact have bounced, the first of them at least 15 days ago.
CREATE FUNCTION is_unreachable(g contact_engagement) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT g.soft_bounces >= 5 AND g.soft_bounces_since <= now() - interval '15 days'
$$;
