DROP FUNCTION IF EXISTS merge_memberships(contact_imports, uuid[]);
DROP FUNCTION IF EXISTS merge_memberships(contact_imports, uuid[], uuid[]);
DROP FUNCTION IF EXISTS note_imported_consents(contact_imports, uuid, text, text[]);

-- Adds contacts to the audience and the segments of an import, and stores its choices about topics for those that it
-- may change. Without `resubscribe`, a contact that has opted out of a topic stays out of it. Skips groups that no longer
-- exist.
CREATE FUNCTION merge_memberships(i contact_imports, contact_ids uuid[], changed_ids uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  choice record;
  emails text[];
BEGIN
  -- The default audience has all contacts of the domain.
  IF i.audience_id <> i.domain_id THEN
    INSERT INTO audience_members (account_id, audience_id, contact_id)
    SELECT i.account_id, i.audience_id, c FROM (
      -- Locked, as in the next statement: a job removes the members of a deleted group.
      SELECT FROM audiences WHERE account_id = i.account_id AND id = i.audience_id FOR KEY SHARE
    ) locked, unnest(contact_ids) AS c
    ORDER BY c ON CONFLICT DO NOTHING;
  END IF;

  IF i.options -> 'segments' <> '[]' THEN
    INSERT INTO segment_members (account_id, segment_id, contact_id)
    SELECT i.account_id, s.id, c FROM (
      SELECT id FROM segments
      WHERE account_id = i.account_id AND id IN (SELECT jsonb_array_elements_text(i.options -> 'segments')::uuid)
      FOR KEY SHARE
    ) s, unnest(contact_ids) AS c
    ORDER BY s.id, c ON CONFLICT DO NOTHING;
  END IF;

  FOR choice IN
    SELECT t.id, g.subscription FROM jsonb_to_recordset(i.options -> 'topics') AS g(id uuid, subscription text)
    JOIN topics t ON t.account_id = i.account_id AND t.id = g.id
  LOOP
    WITH changed AS (
      INSERT INTO contact_topics AS t (account_id, contact_id, topic_id, subscription)
      SELECT i.account_id, c, choice.id, choice.subscription FROM unnest(changed_ids) AS c ORDER BY c
      ON CONFLICT (account_id, contact_id, topic_id) DO UPDATE SET subscription = excluded.subscription
        WHERE t.subscription <> excluded.subscription
          AND (t.subscription = 'opt_in' OR (i.options ->> 'resubscribe')::boolean)
      RETURNING contact_id
    )
    SELECT array_agg(c.email) INTO emails
    FROM changed JOIN contacts c ON c.account_id = i.account_id AND c.id = changed.contact_id;
    PERFORM note_imported_consents(i, choice.id, choice.subscription, emails);
  END LOOP;
END $$;

-- Records opt-ins or opt-outs of these addresses by an import; topic null: all mail.
CREATE FUNCTION note_imported_consents(i contact_imports, topic uuid, choice text, emails text[]) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO contact_consents (account_id, domain_id, email_hash, id, topic_id, subscription, how, source_id, client_address)
  SELECT i.account_id, i.domain_id, sha256(convert_to(email, 'UTF8')), event_id(clock_timestamp(), n - 1), topic, choice,
    'import', i.id, i.client_address
  FROM unnest(emails) WITH ORDINALITY AS e(email, n)
$$;
