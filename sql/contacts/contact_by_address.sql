DROP FUNCTION IF EXISTS contact_by_address(uuid, uuid, text);

-- Returns the contact of a domain with an address (in lower case), if there is one.
--
-- A plain condition on the three columns may read all contacts of the domain instead: Postgres assumes that an account
-- which is not in its statistics yet has one contact, and then its other indexes look as good as that of the addresses.
-- Only that index returns addresses in order, so without sorting no other one is used.
--
-- For the same reason, statements that find contacts by id put the account into a subquery, `(SELECT account)`: Postgres then
-- assumes that it has as many contacts as others.
CREATE FUNCTION contact_by_address(account uuid, domain uuid, address text) RETURNS SETOF contacts
LANGUAGE plpgsql STABLE ROWS 1 SET enable_sort = off SET enable_seqscan = off AS $$
BEGIN
  RETURN QUERY SELECT * FROM contacts c
  WHERE c.account_id = account AND c.domain_id = domain AND c.email >= address AND c.email <= address
  ORDER BY c.email LIMIT 1;
END $$;
