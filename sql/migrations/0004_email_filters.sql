-- What the filters of GET /emails go by (contract 3.3).

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_collation WHERE collname = 'und-x-icu') THEN
    RAISE EXCEPTION 'this Postgres is built without ICU, which it takes to search without regard to case';
  END IF;
END
$$;

-- The only part that is written when an email is accepted. A change of status enters it, and so the primary key, anew; for
-- rare statuses alone it would cost as much, since a column of an index's condition keeps an update from being HOT too.
CREATE INDEX emails_status ON emails (account_id, status, id);
CREATE INDEX emails_engaged ON emails (account_id, last_event, id) INCLUDE (status)
  WHERE last_event IN ('opened', 'clicked');

-- A block is what can be searched for in a few dozen emails of an account that follow each other by id. It is written
-- after their commit, when there are enough of them for another block (flows/index_emails.ts): what lies above the last
-- block is read itself. Blocks instead of emails make the lists of what is frequent that much shorter.
--
-- above, upto  the ids it covers: from the first, exclusive, to the second, inclusive; each begins where another ends
-- ids          of its emails, in order
-- text         what is searched by reading (lib/search_terms.ts); null: an email was deleted, read the emails instead
-- terms        what is searched by index: hashes of all that is in the text
CREATE TABLE email_blocks (
  account_id uuid NOT NULL REFERENCES accounts,
  above uuid NOT NULL,
  upto uuid NOT NULL,
  ids uuid[] NOT NULL,
  text text,
  terms integer[] NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, upto),
  CHECK (above < upto)
) WITH (toast_tuple_target = 128); -- what is long lives apart: many rows are found whose text is not read

-- Terms hold the account, so that those of others make no list longer. What waits to be put into the index is read by every
-- search, in about a millisecond; a shorter wait would change the same lists more often.
CREATE INDEX email_blocks_terms ON email_blocks USING gin (terms) WITH (gin_pending_list_limit = 2048);
CREATE INDEX email_blocks_emptied ON email_blocks (account_id, upto) WHERE text IS NULL;

-- When the emails of a block are to be counted again: one may have been committed after others with higher ids, or have
-- got its id from a clock that is wrong. Apart from the blocks, whose every update enters all terms anew.
CREATE TABLE email_block_checks (
  account_id uuid NOT NULL,
  upto uuid NOT NULL,
  check_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, upto),
  FOREIGN KEY (account_id, upto) REFERENCES email_blocks (account_id, upto) ON DELETE CASCADE
);

CREATE INDEX email_block_checks_due ON email_block_checks (check_at);

-- What is deleted can be found no more from that commit on, and nothing of it is kept.
CREATE FUNCTION empty_email_blocks() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  WITH touched AS MATERIALIZED (
    SELECT DISTINCT b.account_id, b.upto
    FROM deleted d
    CROSS JOIN LATERAL (
      SELECT * FROM email_blocks b WHERE b.account_id = d.account_id AND b.upto >= d.id ORDER BY b.upto LIMIT 1
    ) b
    WHERE b.above < d.id
  ), emptied AS (
    UPDATE email_blocks b SET ids = '{}', text = NULL, terms = '{}'
    FROM touched t WHERE b.account_id = t.account_id AND b.upto = t.upto
  )
  INSERT INTO email_block_checks (account_id, upto, check_at) SELECT account_id, upto, now() FROM touched
  ON CONFLICT (account_id, upto) DO UPDATE SET check_at = now();
  RETURN NULL;
END
$$;

CREATE TRIGGER empty_email_blocks AFTER DELETE ON emails REFERENCING OLD TABLE AS deleted
FOR EACH STATEMENT EXECUTE FUNCTION empty_email_blocks();
