DROP FUNCTION IF EXISTS merge_choices(contact_imports, bigint, bigint);

-- Stores the choices about topics in the records of an import with numbers above `after`, up to `up_to`, whose contacts
-- are merged. If several records have the same address, the choices of the first one count, but an opt-out in any of
-- them applies, unless `resubscribe` is set and the first one opts in. Without `resubscribe`, a contact that has opted
-- out of a topic stays out of it. With on_conflict = skip, only contacts that the import has created. Skips topics that
-- no longer exist.
CREATE FUNCTION merge_choices(i contact_imports, after bigint, up_to bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  may_opt_in CONSTANT boolean := (i.options ->> 'resubscribe')::boolean;
BEGIN
  WITH said AS MATERIALIZED (
    SELECT r.email, t.key::uuid AS topic_id, t.value AS choice
    FROM import_rows r CROSS JOIN LATERAL jsonb_each_text(r.topics) t
    LEFT JOIN LATERAL first_record(r.import_id, r.email, r.repeated_n, r.may_repeat) AS first ON true
    WHERE r.import_id = i.id AND r.n > after AND r.n <= up_to AND (coalesce(first.n, r.n) = r.n
      OR t.value = 'opt_out' AND NOT (may_opt_in AND first.topics ->> t.key IS NOT DISTINCT FROM 'opt_in'))
  ), wanted AS MATERIALIZED (
    SELECT s.email, s.topic_id, max(s.choice) AS choice FROM said s GROUP BY s.email, s.topic_id -- 'opt_out' > 'opt_in'
  ), changed AS (
    INSERT INTO contact_topics AS m (account_id, contact_id, topic_id, subscription)
    SELECT i.account_id, c.id, w.topic_id, w.choice FROM wanted w
    JOIN topics t ON t.account_id = i.account_id AND t.id = w.topic_id
    CROSS JOIN LATERAL (
      -- Ordered, as in upsert_contacts.sql.
      SELECT * FROM contacts c
      WHERE c.account_id = i.account_id AND c.domain_id = i.domain_id AND c.email >= w.email AND c.email <= w.email
      ORDER BY c.email LIMIT 1
    ) c
    WHERE i.options ->> 'on_conflict' = 'upsert' OR c.source_id = i.id
    ORDER BY c.id, w.topic_id
    ON CONFLICT (account_id, contact_id, topic_id) DO UPDATE SET subscription = excluded.subscription
      WHERE m.subscription <> excluded.subscription AND (m.subscription = 'opt_in' OR may_opt_in)
    RETURNING m.contact_id, m.topic_id, m.subscription
  )
  INSERT INTO contact_consents (account_id, domain_id, email_hash, id, topic_id, subscription, how, source_id, client_address)
  SELECT i.account_id, i.domain_id, sha256(convert_to(c.email, 'UTF8')),
    event_id(clock_timestamp(), row_number() OVER () - 1), x.topic_id, x.subscription, 'import', i.id, i.client_address
  FROM changed x JOIN contacts c ON c.account_id = i.account_id AND c.id = x.contact_id;
END $$;
