DROP FUNCTION IF EXISTS reserve_address(uuid, uuid, text);

-- Prevents others from adding a contact with this address until the transaction ends, and waits for those who are
-- adding one: whoever adds it afterwards sees the opt-outs that are written now. Returns false if such a contact exists
-- by now.
--
-- It adds and deletes a row in one transaction, so the unique index blocks others; no other transaction ever sees the
-- row. It is counted in a separate shard, since those of other writers may be locked for seconds.
CREATE FUNCTION reserve_address(account uuid, domain uuid, address text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  reserved tid;
BEGIN
  PERFORM set_config('mailbrook.count_shard', '-1', true);
  INSERT INTO contacts (account_id, id, domain_id, email, source) VALUES (account, gen_random_uuid(), domain, address, 'api')
  ON CONFLICT (account_id, domain_id, email) DO NOTHING RETURNING ctid INTO reserved;
  DELETE FROM contacts WHERE ctid = reserved;
  RETURN reserved IS NOT NULL;
END $$;
