DROP FUNCTION IF EXISTS opt_out_complainer(uuid, uuid, uuid, text);

-- Unsubscribes an address (in lower case) that has reported an email of the domain as spam from everything that the
-- domain sends, whether it is a contact or not. Changes nothing if it has unsubscribed, or the domain was deleted.
-- (SELECT account): contact_by_address.sql says why.
CREATE FUNCTION opt_out_complainer(account uuid, domain uuid, email_id uuid, address text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  contact record;
BEGIN
  PERFORM FROM domains d WHERE d.account_id = account AND d.id = domain FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN;
  END IF;
  LOOP
    SELECT c.id, c.unsubscribed INTO contact FROM contacts c
    WHERE c.account_id = (SELECT account) AND c.id = (SELECT a.id FROM contact_by_address(account, domain, address) a)
    FOR NO KEY UPDATE;
    EXIT WHEN contact.id IS NOT NULL OR reserve_address(account, domain, address);
  END LOOP;
  IF contact.id IS NULL THEN
    INSERT INTO contact_optouts (account_id, domain_id, email_hash)
    VALUES (account, domain, sha256(convert_to(address, 'UTF8'))) ON CONFLICT DO NOTHING;
    IF NOT FOUND THEN
      RETURN;
    END IF;
  ELSIF contact.unsubscribed THEN
    RETURN;
  ELSE
    UPDATE contacts c SET unsubscribed = true, updated_at = now() WHERE c.account_id = (SELECT account) AND c.id = contact.id;
    PERFORM announce_contacts(account, 'contact.updated', ARRAY[contact.id]);
    PERFORM tell_contacts(account, 'contact.unsubscribed', ARRAY[contact.id], NULL, NULL);
  END IF;
  INSERT INTO contact_consents (account_id, domain_id, email_hash, id, subscription, how, source_id)
  VALUES (account, domain, sha256(convert_to(address, 'UTF8')), event_id(clock_timestamp(), 0), 'opt_out', 'complaint',
    email_id);
END $$;
