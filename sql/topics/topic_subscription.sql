DROP FUNCTION IF EXISTS topic_subscription(uuid, uuid, text, uuid);

-- Returns one row: true if an address (in lower case) gets mail of a topic from a domain. A contact that has
-- unsubscribed gets none; otherwise its choice about the topic counts, or else the default of the topic. For an address
-- without a contact its opt-outs from the topic or from everything count, or else the default: if that is `opt_out`,
-- only contacts that have opted in get the mail. Nobody is subscribed to a deleted topic, since the choices were
-- deleted with it.
--
-- In FROM it is inlined into the query.
CREATE FUNCTION topic_subscription(account uuid, domain uuid, address text, topic uuid) RETURNS TABLE (is_subscribed boolean)
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN t.id IS NULL THEN false
    WHEN c.id IS NOT NULL THEN NOT c.unsubscribed AND coalesce(m.subscription, t.default_subscription) = 'opt_in'
    ELSE t.default_subscription = 'opt_in' AND NOT EXISTS (
      SELECT FROM contact_optouts o WHERE o.account_id = account AND o.domain_id = domain
        AND o.email_hash = sha256(convert_to(address, 'UTF8')) AND o.topic_id IN (everything(), topic)
    )
  END
  FROM (SELECT 1) one
  LEFT JOIN LATERAL (
    -- As contact_by_address does; a call of that would take most of the time, since campaigns ask for each recipient.
    SELECT c.id, c.unsubscribed FROM contacts c
    WHERE c.account_id = account AND c.domain_id = domain AND c.email >= address AND c.email <= address
    ORDER BY c.email LIMIT 1
  ) c ON true
  LEFT JOIN contact_topics m ON m.account_id = account AND m.contact_id = c.id AND m.topic_id = topic
  LEFT JOIN topics t ON t.account_id = account AND t.id = topic
$$;
