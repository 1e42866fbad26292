DROP FUNCTION IF EXISTS lock_contacts(uuid, uuid, boolean, integer);

-- Takes the contact lock of the account until the end of the transaction: shared for writers of few contacts, exclusive
-- for a slice of an import. Waits at most `wait_ms` for it and for every later lock (SQLSTATE 55P03). Locks the domain
-- against deletion; returns false if it does not exist.
CREATE FUNCTION lock_contacts(account uuid, domain uuid, is_exclusive boolean, wait_ms integer) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM set_config('lock_timeout', wait_ms::text, true);
  IF is_exclusive THEN
    PERFORM pg_advisory_xact_lock(hashtextextended('contacts ' || account, 0));
  ELSE
    PERFORM pg_advisory_xact_lock_shared(hashtextextended('contacts ' || account, 0));
  END IF;
  PERFORM FROM domains d WHERE d.account_id = account AND d.id = domain FOR KEY SHARE;
  RETURN FOUND;
END $$;
