DROP FUNCTION IF EXISTS announce_contacts(uuid, text, uuid[]);

-- Announces contacts of an account to webhooks in their current state, in the order of their ids.
-- `segment_ids`: the segments that they were added to by hand. event: contact.created, contact.updated or
-- contact.deleted. (SELECT account): contact_by_address.sql says why.
CREATE FUNCTION announce_contacts(account uuid, event text, contact_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM announce(ARRAY(
    SELECT ROW(account, event, jsonb_build_object('id', c.id, 'email', c.email, 'first_name', c.first_name,
      'last_name', c.last_name, 'unsubscribed', c.unsubscribed, 'do_not_track', c.do_not_track,
      'timezone', c.timezone,
      'properties', shown_properties(account, c.properties),
      'domain_id', c.domain_id, 'audience_id', c.domain_id, 'segment_ids', (
        SELECT coalesce(jsonb_agg(m.segment_id ORDER BY m.segment_id), '[]') FROM segment_members m
        WHERE m.account_id = account AND m.contact_id = c.id
      ), 'created_at', iso_time(c.created_at), 'updated_at', iso_time(c.updated_at)))::announcement
    FROM contacts c
    WHERE c.account_id = (SELECT account) AND c.id = ANY (contact_ids) AND is_heard(account, event)
    ORDER BY c.id
  ));
END $$;
