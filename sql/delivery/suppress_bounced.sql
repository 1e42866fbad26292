-- Suppresses the recipients that bounced, and returns the entries that were added or replaced. A full mailbox may be
-- emptied, so its entry expires after 30 days. Dropping the types in _types.sql drops this function.
CREATE FUNCTION suppress_bounced(changes delivery_change[]) RETURNS suppressions[]
LANGUAGE plpgsql AS $$
DECLARE
  added suppressions[];
BEGIN
  WITH suppressed AS (
    INSERT INTO suppressions AS s (account_id, id, address, reason, cause, source_email_id, expires_at)
    SELECT DISTINCT ON (c.account_id, lower(c.recipient)) c.account_id, c.suppression_id, lower(c.recipient), 'bounce',
      c.reply, c.email_id, CASE WHEN c.bounce ->> 'subType' = 'MailboxFull' THEN now() + interval '30 days' END
    FROM unnest(changes) AS c
    WHERE c.state = 'bounced' AND c.suppression_id IS NOT NULL
    ORDER BY c.account_id, lower(c.recipient)
    -- An entry that has expired, or expires before this one, is replaced.
    ON CONFLICT (account_id, address) DO UPDATE SET
      id = excluded.id, reason = excluded.reason, cause = excluded.cause, source_email_id = excluded.source_email_id,
      created_at = excluded.created_at, expires_at = excluded.expires_at
      WHERE s.expires_at < coalesce(excluded.expires_at, 'infinity')
    RETURNING s
  )
  SELECT array_agg(s) INTO added FROM suppressed;
  RETURN added;
END
$$;
