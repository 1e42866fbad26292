-- What the filters of GET /emails/receiving go by (contract 4.1), each in the order of the list. What is not read yet is
-- in none of them: storing a message enters it in no more indexes than that takes.
CREATE INDEX received_emails_domain ON received_emails (account_id, domain_id, id) WHERE state <> 'stored';
CREATE INDEX received_emails_unread ON received_emails (account_id, id) WHERE state <> 'stored' AND read_at IS NULL;
CREATE INDEX received_emails_read ON received_emails (account_id, id) WHERE state <> 'stored' AND read_at IS NOT NULL;
CREATE INDEX received_emails_category ON received_emails (account_id, coalesce(category, 'none'), id)
  WHERE state <> 'stored';
-- A stranger's address may be longer than an entry of an index.
CREATE INDEX received_emails_sender ON received_emails (account_id, lower(left(sender, 320)), id)
  WHERE state <> 'stored';

-- The addresses that a message was for, in lower case: of its To and Cc, and of its envelope. Rows, and no index of the
-- arrays: one address may have all the mail of an account, and its newest are found without looking at the others.
CREATE TABLE received_recipients (
  account_id uuid NOT NULL,
  received_email_id uuid NOT NULL,
  address text NOT NULL,
  PRIMARY KEY (account_id, received_email_id, address),
  FOREIGN KEY (account_id, received_email_id) REFERENCES received_emails (account_id, id) ON DELETE CASCADE
);

CREATE INDEX received_recipients_address ON received_recipients (account_id, address, received_email_id);

-- An address of more characters is none that anybody looks for, and of so many nobody looks for the last.
CREATE FUNCTION insert_received_recipients() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO received_recipients (account_id, received_email_id, address)
  SELECT NEW.account_id, NEW.id, a.address
  FROM (
    SELECT DISTINCT lower(g.address) AS address
    FROM unnest((NEW.received_for || NEW."to" || NEW.cc)[:1000]) AS g(address) WHERE length(g.address) BETWEEN 1 AND 320
  ) a
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;

CREATE TRIGGER insert_received_recipients AFTER UPDATE OF state ON received_emails
FOR EACH ROW WHEN (OLD.state = 'stored' AND NEW.state <> 'stored') EXECUTE FUNCTION insert_received_recipients();
