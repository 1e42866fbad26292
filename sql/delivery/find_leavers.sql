DROP FUNCTION IF EXISTS find_leavers(uuid[], uuid[]);
DROP FUNCTION IF EXISTS find_outsiders(uuid[], uuid[]);
DROP FUNCTION IF EXISTS contact_left(uuid, uuid, uuid, uuid, smallint);

-- Returns `has_left`: whether the contact of a delivery was deleted or, unless the mail is transactional, has unsubscribed
-- from everything. Never true for mail of neither a campaign nor an automation, nor for that of a campaign to an address
-- that was never a contact. Postgres puts the query in place of the call.
CREATE FUNCTION contact_left(account uuid, contact uuid, campaign uuid, automation uuid, priority smallint)
RETURNS TABLE (has_left boolean) LANGUAGE sql STABLE AS $$
  SELECT (automation IS NOT NULL OR campaign IS NOT NULL AND contact IS NOT NULL) AND NOT EXISTS (
    SELECT FROM contacts c WHERE c.account_id = account AND c.id = contact AND NOT (c.unsubscribed AND priority > 0) OFFSET 0
  )
$$;

-- Returns which of these deliveries are for contacts that have left.
CREATE FUNCTION find_leavers(accounts uuid[], ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT d.id FROM deliveries_by_key(accounts, ids) AS d
    CROSS JOIN email_of(d.account_id, d.email_id) AS e
    CROSS JOIN LATERAL contact_left(d.account_id, e.contact_id, d.campaign_id, d.automation_id, d.priority) AS l
    WHERE l.has_left
  );
END
$$;

-- Returns which of these deliveries are for a recipient who is not subscribed to their topic.
CREATE FUNCTION find_outsiders(accounts uuid[], ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT d.id FROM deliveries_by_key(accounts, ids) AS d
    CROSS JOIN email_of(d.account_id, d.email_id) AS e
    CROSS JOIN LATERAL topic_subscription(d.account_id, e.domain_id, lower(d.recipient), d.topic_id) AS s
    WHERE d.topic_id IS NOT NULL AND NOT s.is_subscribed
  );
END
$$;
