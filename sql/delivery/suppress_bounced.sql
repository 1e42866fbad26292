-- Suppresses the recipients that bounced, and returns the entries that were added or replaced. A full mailbox may be
-- emptied, so its entry expires after 30 days. Dropping the types in _types.sql drops this function.
CREATE FUNCTION suppress_bounced(changes delivery_change[]) RETURNS suppressions[]
LANGUAGE plpgsql AS $$
DECLARE
  bounced suppressions[];
BEGIN
  SELECT array_agg(s) INTO bounced
  FROM unnest(changes) AS c
  CROSS JOIN LATERAL jsonb_populate_record(NULL::suppressions, jsonb_build_object('account_id', c.account_id,
    'id', c.suppression_id, 'address', lower(c.recipient), 'reason', 'bounce', 'cause', c.reply,
    'source_email_id', c.email_id,
    'expires_at', CASE WHEN c.bounce ->> 'subType' = 'MailboxFull' THEN now() + interval '30 days' END)) AS s
  WHERE c.state = 'bounced' AND c.suppression_id IS NOT NULL;
  RETURN add_suppressions(bounced);
END
$$;
