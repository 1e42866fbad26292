-- What the filters of GET /emails go by (contract 3.3).

-- The only part that is written when an email is accepted. A change of status enters it, and so the primary key, anew.
CREATE INDEX emails_status ON emails (account_id, status, id);
CREATE INDEX emails_engaged ON emails (account_id, last_event, id) WHERE last_event IN ('opened', 'clicked');

-- A block is what can be searched for in a few dozen emails of an account that follow each other by id. It is written
-- after their commit, when there are enough of them for another block (flows/index_emails.ts): what lies above the last
-- block is read itself. Blocks instead of emails make the lists of what is frequent that much shorter.
--
-- above, upto  the ids of its emails: from the first, exclusive, to the second, inclusive
-- text         what q looks at, in lower case, a line for each value; null: an email was deleted, read the emails instead
-- terms        hashes of all of their terms (lib/search_terms.ts)
-- check_at     when its emails are to be counted again: one may have been committed after others with higher ids
CREATE TABLE email_blocks (
  account_id uuid NOT NULL REFERENCES accounts,
  above uuid NOT NULL,
  upto uuid NOT NULL,
  count integer NOT NULL,
  text text,
  terms integer[] NOT NULL,
  check_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, upto),
  CHECK (above < upto)
) WITH (toast_tuple_target = 128); -- text and terms live apart: many rows are found whose text is not read

-- Terms hold the account, so that those of others make no list longer. What waits to be put into the index is read by every
-- search, in about a millisecond; a shorter wait would change the same lists more often.
CREATE INDEX email_blocks_terms ON email_blocks USING gin (terms) WITH (gin_pending_list_limit = 2048);
CREATE INDEX email_blocks_checked ON email_blocks (check_at) WHERE check_at IS NOT NULL;
CREATE INDEX email_blocks_emptied ON email_blocks (account_id, upto) WHERE text IS NULL;

-- What is deleted can be found no more from that commit on, and nothing of it is kept.
CREATE FUNCTION empty_email_blocks() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  WITH touched AS MATERIALIZED (
    SELECT DISTINCT b.account_id, b.above, b.upto
    FROM deleted d
    CROSS JOIN LATERAL (
      SELECT * FROM email_blocks b WHERE b.account_id = d.account_id AND b.upto >= d.id ORDER BY b.upto LIMIT 1
    ) b
    WHERE b.above < d.id
  ), kept AS (
    UPDATE email_blocks b SET text = NULL, terms = '{}', check_at = now()
    FROM touched t
    WHERE b.account_id = t.account_id AND b.upto = t.upto AND EXISTS (
      SELECT FROM emails e WHERE e.account_id = t.account_id AND e.id > t.above AND e.id <= t.upto
    )
  )
  DELETE FROM email_blocks b
  USING touched t
  WHERE b.account_id = t.account_id AND b.upto = t.upto AND NOT EXISTS (
    SELECT FROM emails e WHERE e.account_id = t.account_id AND e.id > t.above AND e.id <= t.upto
  );
  RETURN NULL;
END
$$;

CREATE TRIGGER empty_email_blocks AFTER DELETE ON emails REFERENCING OLD TABLE AS deleted
FOR EACH STATEMENT EXECUTE FUNCTION empty_email_blocks();
