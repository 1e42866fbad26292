DROP FUNCTION IF EXISTS announce_received_emails(json);

-- Counts received emails once they are parsed, and announces them to the webhooks of their account;
-- reports are not announced. Each address that an email was received for counts as one, as for quotas.
--
-- given: a list of { account_id, id }.
CREATE FUNCTION announce_received_emails(given json) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
BEGIN
  PERFORM count_metrics(ARRAY(
    SELECT ROW(r.account_id, NULL, r.domain_id, NULL, r.created_at, 'received', cardinality(r.received_for))::metric_move
    FROM json_to_recordset(given) AS g(account_id uuid, id uuid)
    JOIN received_emails r ON r.account_id = g.account_id AND r.id = g.id AND r.kind = 'email' AND r.state <> 'stored'
  ));
  PERFORM announce(ARRAY(
    SELECT ROW(r.account_id, t.type, jsonb_build_object(
      'email_id', r.id, 'created_at', iso_time(r.created_at), 'domain_id', r.domain_id, 'from', r.sender, 'to', r."to",
      'cc', r.cc, 'bcc', r.bcc, 'received_for', r.received_for, 'message_id', r.message_id, 'subject', r.subject,
      'attachments', (
        SELECT coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'filename', a.filename, 'content_type', a.content_type,
          'content_disposition', a.content_disposition, 'content_id', a.content_id) ORDER BY a.position), '[]')
        FROM received_attachments a WHERE a.account_id = r.account_id AND a.received_email_id = r.id
      )
    ) || t.more)::announcement
    FROM json_to_recordset(given) AS g(account_id uuid, id uuid)
    JOIN received_emails r ON r.account_id = g.account_id AND r.id = g.id AND r.kind = 'email' AND r.state <> 'stored'
    LEFT JOIN emails s ON s.account_id = r.account_id AND s.id = r.reply_to_email_id
    CROSS JOIN LATERAL (VALUES
      (1, 'email.received', '{}'::jsonb, true),
      (2, 'email.replied', jsonb_build_object('reply_to_email_id', r.reply_to_email_id, 'campaign_id', s.campaign_id,
        'contact_id', s.contact_id, 'category', r.category), r.reply_to_email_id IS NOT NULL)
    ) AS t(rank, type, more, is_so)
    WHERE t.is_so AND is_heard(r.account_id, t.type)
    ORDER BY r.id, t.rank
  ));
END
$$;
