-- Message-IDs that clients gave to the mail they submitted by SMTP, in lower case and without the angle brackets: replies
-- name them. An id of our own begins with the id of its email and needs no row. Never unique: whoever sends a message to
-- each recipient by itself gives the same id to all of them.
CREATE TABLE kept_message_ids (
  account_id uuid NOT NULL,
  message_id text NOT NULL,
  email_id uuid NOT NULL,
  PRIMARY KEY (account_id, message_id, email_id),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE
);

CREATE INDEX kept_message_ids_email ON kept_message_ids (account_id, email_id);

-- `received_recipients` also lists `@domain` for each domain of the envelope that is not the domain of `domain_id`: such
-- mail is found by the filter `domain` too. An address of the header never begins with an at sign here.
CREATE OR REPLACE FUNCTION insert_received_recipients() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO received_recipients (account_id, received_email_id, address)
  SELECT NEW.account_id, NEW.id, a.address
  FROM (
    SELECT lower(g.address) AS address
    FROM unnest((NEW.received_for || NEW."to" || NEW.cc)[:1000]) AS g(address)
    WHERE length(g.address) BETWEEN 1 AND 320 AND g.address NOT LIKE '@%'
    UNION
    SELECT '@' || f.domain
    FROM (SELECT lower(substring(g.address FROM '[^@]*$')) AS domain FROM unnest(NEW.received_for) AS g(address)) f
    WHERE f.domain IS DISTINCT FROM (
      SELECT d.name FROM domains d WHERE d.account_id = NEW.account_id AND d.id = NEW.domain_id
    )
  ) a
  ON CONFLICT DO NOTHING;
  RETURN NULL;
END
$$;
