-- Deleted contacts by the hash of their address, by which erasing finds what is left of them: rows of campaign_recipients and
-- automation_runs, which have no index of addresses.
CREATE TABLE former_contacts (
  account_id uuid NOT NULL REFERENCES accounts,
  domain_id uuid NOT NULL,
  email_hash bytea NOT NULL,
  contact_id uuid NOT NULL,
  PRIMARY KEY (account_id, domain_id, email_hash, contact_id)
);

-- Contacts of a deleted domain are nobody's: erasing does not reach them.
CREATE FUNCTION note_former_contacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO former_contacts (account_id, domain_id, email_hash, contact_id)
  SELECT c.account_id, c.domain_id, sha256(convert_to(c.email, 'UTF8')), c.id
  FROM changed c JOIN domains d ON d.account_id = c.account_id AND d.id = c.domain_id
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER note_deleted AFTER DELETE ON contacts REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION note_former_contacts();
