DROP FUNCTION IF EXISTS empty_blocks_of(uuid[], uuid[]);

-- Empties the search blocks of these emails, so that deleted content cannot be found from this commit on; the blocks
-- are rebuilt soon.
CREATE FUNCTION empty_blocks_of(accounts uuid[], ids uuid[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  WITH touched AS MATERIALIZED (
    SELECT DISTINCT b.account_id, b.upto
    FROM unnest(accounts, ids) AS d(account_id, id)
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
END
$$;

-- The trigger of migration 0004 for deleted emails.
CREATE OR REPLACE FUNCTION empty_email_blocks() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM empty_blocks_of(array_agg(account_id), array_agg(id)) FROM deleted;
  RETURN NULL;
END
$$;
