DROP FUNCTION IF EXISTS announce_campaigns(text, uuid[], uuid[]);

-- Announces campaigns to webhooks in their current state. accounts and ids: lists of equal length.
CREATE FUNCTION announce_campaigns(event_type text, accounts uuid[], ids uuid[]) RETURNS void LANGUAGE sql AS $$
  SELECT announce(ARRAY(
    SELECT ROW(g.account_id, event_type, jsonb_build_object(
      'id', g.id, 'name', g.name, 'status', g.status, 'recipients_count', g.recipients_count
    ))::announcement
    FROM unnest(accounts, ids) WITH ORDINALITY AS w(account_id, id, position)
    JOIN campaigns g ON g.account_id = w.account_id AND g.id = w.id
    WHERE is_heard(g.account_id, event_type)
    ORDER BY w.position
  ))
$$;
