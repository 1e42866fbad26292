DROP FUNCTION IF EXISTS opt_out_repeated(contact_imports, text[]);

-- Unsubscribes contacts that opt out in a record that is not merged because its address occurs earlier in the file.
-- With on_conflict = skip, only contacts that the import has created. Returns those that were subscribed.
CREATE FUNCTION opt_out_repeated(i contact_imports, emails text[]) RETURNS TABLE (id uuid, email text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH leaving AS MATERIALIZED (
    SELECT c.id FROM (SELECT DISTINCT e FROM unnest(emails) AS e ORDER BY e) g
    CROSS JOIN LATERAL (
      -- Ordered, as in upsert_contacts.sql.
      SELECT * FROM contacts c
      WHERE c.account_id = i.account_id AND c.domain_id = i.domain_id AND c.email >= g.e AND c.email <= g.e
      ORDER BY c.email LIMIT 1 FOR NO KEY UPDATE
    ) c
    WHERE NOT c.unsubscribed AND (i.options ->> 'on_conflict' = 'upsert' OR c.source_id = i.id)
  )
  UPDATE contacts c SET unsubscribed = true, updated_at = now() FROM leaving l
  WHERE c.account_id = i.account_id AND c.id = l.id
  RETURNING c.id, c.email;
END $$;

DROP FUNCTION IF EXISTS stop_tracking_repeated(contact_imports, text[]);

-- The same for contacts that opt out of tracking in such a record.
CREATE FUNCTION stop_tracking_repeated(i contact_imports, emails text[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  WITH asking AS MATERIALIZED (
    SELECT c.id FROM (SELECT DISTINCT e FROM unnest(emails) AS e ORDER BY e) g
    CROSS JOIN LATERAL (
      SELECT * FROM contacts c
      WHERE c.account_id = i.account_id AND c.domain_id = i.domain_id AND c.email >= g.e AND c.email <= g.e
      ORDER BY c.email LIMIT 1 FOR NO KEY UPDATE
    ) c
    WHERE NOT c.do_not_track AND (i.options ->> 'on_conflict' = 'upsert' OR c.source_id = i.id)
  )
  UPDATE contacts c SET do_not_track = true, updated_at = now() FROM asking a WHERE c.account_id = i.account_id AND c.id = a.id;
END $$;
