DROP FUNCTION IF EXISTS reserve_address(uuid, uuid, text);

-- Keeps others from adding a contact of this address until the transaction ends, and waits for those who are about to: whoever
-- adds it afterwards sees the opt-outs that are written now. Returns false if there is such a contact by now.
--
-- A row that is added and deleted in one transaction does that by the unique index; nobody else ever sees it. It is counted
-- in a shard of its own, since those of other writers may be locked for seconds.
CREATE FUNCTION reserve_address(account uuid, domain uuid, address text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  reserved uuid;
BEGIN
  PERFORM set_config('mailbrook.count_shard', '-1', true);
  INSERT INTO contacts (account_id, id, domain_id, email, source) VALUES (account, gen_random_uuid(), domain, address, 'api')
  ON CONFLICT (account_id, domain_id, email) DO NOTHING RETURNING id INTO reserved;
  DELETE FROM contacts WHERE account_id = account AND id = reserved;
  RETURN reserved IS NOT NULL;
END $$;
