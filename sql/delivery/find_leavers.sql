DROP FUNCTION IF EXISTS find_leavers(uuid[], uuid[]);
DROP FUNCTION IF EXISTS find_outsiders(uuid[], uuid[]);

-- Returns which of these deliveries belong to campaigns or automations and are for contacts that were deleted or, unless
-- the mail is transactional, have unsubscribed from everything. Campaign mail to an address that was never a contact is
-- not included. Each row is looked up separately: Postgres may join by the account alone while it has few statistics.
CREATE FUNCTION find_leavers(accounts uuid[], ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT w.id FROM unnest(accounts, ids) AS w(account_id, id)
    CROSS JOIN LATERAL (
      SELECT d.email_id, d.automation_id, d.campaign_id, d.priority FROM deliveries d
      WHERE d.account_id = w.account_id AND d.id = w.id OFFSET 0
    ) d
    CROSS JOIN LATERAL (
      SELECT e.contact_id FROM emails e WHERE e.account_id = w.account_id AND e.id = d.email_id OFFSET 0
    ) e
    WHERE (d.automation_id IS NOT NULL OR d.campaign_id IS NOT NULL AND e.contact_id IS NOT NULL) AND NOT EXISTS (
      SELECT FROM contacts c WHERE c.account_id = w.account_id AND c.id = e.contact_id
        AND NOT (c.unsubscribed AND d.priority > 0) OFFSET 0
    )
  );
END
$$;

-- Returns which of these deliveries are for a recipient who is not subscribed to their topic.
CREATE FUNCTION find_outsiders(accounts uuid[], ids uuid[]) RETURNS uuid[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN ARRAY(
    SELECT d.id FROM unnest(accounts, ids) AS due(account_id, id)
    JOIN deliveries d ON d.account_id = due.account_id AND d.id = due.id
    CROSS JOIN email_of(d.account_id, d.email_id) AS e
    CROSS JOIN LATERAL topic_subscription(d.account_id, e.domain_id, lower(d.recipient), d.topic_id) AS s
    WHERE d.topic_id IS NOT NULL AND NOT s.is_subscribed
  );
END
$$;
