DROP FUNCTION IF EXISTS empty_blocks_of(uuid[], uuid[]);

-- Empties the blocks that these emails are searched by, so that what is gone from them can be found no more from this commit
-- on; they are written anew soon. As the trigger of migration 0004 does for emails that are deleted.
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
