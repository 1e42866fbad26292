DROP FUNCTION IF EXISTS upsert_contacts(uuid, uuid, json, text, boolean, text, uuid);
DROP FUNCTION IF EXISTS upsert_contacts(uuid, uuid, given_contact[], text, boolean, text, uuid);

-- Adds contacts to a domain, or changes those with the same address. given: each address once; null leaves a field
-- unchanged, an empty text or a null property clears it. on_conflict: upsert or skip. may_resubscribe: if true,
-- `unsubscribed: false` subscribes a contact that has unsubscribed; otherwise it stays unsubscribed. A new contact
-- inherits the opt-outs of its address.
--
-- outcome: created, updated, unchanged or skipped. was_unsubscribed: null for a new contact whose address had not opted
-- out. The rows are in any order.
CREATE FUNCTION upsert_contacts(
  account uuid, domain uuid, given given_contact[], on_conflict text, may_resubscribe boolean, given_source text,
  given_source_id uuid
) RETURNS TABLE (id uuid, email text, outcome text, unsubscribed boolean, was_unsubscribed boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  created uuid[];
  addresses text[];       -- of the created contacts; the next line tells if they were unsubscribed at once
  are_unsubscribed boolean[];
  late uuid[];
  known given_contact[];  -- those whose address has a contact already
  left_before uuid[];     -- created contacts whose address had opted out of everything
  untracked uuid[];       -- created contacts whose address had opted out of tracking
  -- Most domains have none, and the lookup per address takes a tenth of the total time.
  has_optouts boolean := EXISTS (SELECT FROM contact_optouts o WHERE o.account_id = account AND o.domain_id = domain);
BEGIN
  -- Ordered by address, here and below: two statements in different order would deadlock.
  WITH inserted AS (
    INSERT INTO contacts (account_id, id, domain_id, email, first_name, last_name, unsubscribed, properties,
      do_not_track, timezone, source, source_id)
    SELECT account, g.id, domain, g.email, nullif(g.first_name, ''), nullif(g.last_name, ''),
      coalesce(g.unsubscribed, false) OR (o.email_hash IS NOT NULL AND NOT (may_resubscribe AND g.unsubscribed IS FALSE)),
      jsonb_strip_nulls(coalesce(g.properties, '{}')), coalesce(g.do_not_track, false), nullif(g.timezone, ''), given_source, given_source_id
    FROM unnest(given) AS g
    LEFT JOIN contact_optouts o ON has_optouts AND o.account_id = account AND o.domain_id = domain
      AND o.email_hash = sha256(convert_to(g.email, 'UTF8')) AND o.topic_id = everything()
    ORDER BY g.email
    ON CONFLICT (account_id, domain_id, email) DO NOTHING
    RETURNING contacts.id, contacts.email, contacts.unsubscribed
  )
  SELECT coalesce(array_agg(i.id), '{}'), coalesce(array_agg(i.email), '{}'), array_agg(i.unsubscribed)
  INTO created, addresses, are_unsubscribed FROM inserted i;

  -- From now on the contact itself holds the opt-outs of its address.
  IF EXISTS (SELECT FROM contact_optouts o WHERE o.account_id = account AND o.domain_id = domain) THEN
    WITH taken AS (
      DELETE FROM contact_optouts o USING unnest(created, addresses) AS c(id, email)
      WHERE o.account_id = account AND o.domain_id = domain AND o.email_hash = sha256(convert_to(c.email, 'UTF8'))
      RETURNING c.id, o.topic_id
    ), changed AS (
      -- Applies opt-outs that were committed while the statement above waited for them
      -- (preferences/reserve_address.sql).
      UPDATE contacts c SET unsubscribed = true FROM taken t
      WHERE c.account_id = account AND c.id = t.id AND t.topic_id = everything() AND NOT c.unsubscribed AND NOT EXISTS (
        SELECT FROM unnest(given) AS g WHERE g.email = c.email AND may_resubscribe AND g.unsubscribed IS FALSE
      )
      RETURNING c.id
    ), chosen AS (
      INSERT INTO contact_topics (account_id, contact_id, topic_id, subscription)
      SELECT account, t.id, t.topic_id, 'opt_out' FROM taken t
      WHERE EXISTS (SELECT FROM topics WHERE topics.account_id = account AND topics.id = t.topic_id)
    )
    SELECT (SELECT array_agg(c.id) FROM changed c),
      (SELECT array_agg(t.id) FROM taken t WHERE t.topic_id = everything()),
      (SELECT array_agg(t.id) FROM taken t WHERE t.topic_id = being_tracked()) INTO late, left_before, untracked;
    -- Not in the statement above, which may change the same contacts.
    IF untracked IS NOT NULL THEN
      UPDATE contacts c SET do_not_track = true WHERE c.account_id = account AND c.id = ANY (untracked) AND NOT EXISTS (
        SELECT FROM unnest(given) AS g WHERE g.email = c.email AND g.do_not_track IS FALSE
      );
    END IF;
  END IF;

  RETURN QUERY
  SELECT c.id, c.email, 'created', c.unsubscribed OR c.id = ANY (coalesce(late, '{}')),
    CASE WHEN c.id = ANY (left_before) THEN true END
  FROM unnest(created, addresses, are_unsubscribed) AS c(id, email, unsubscribed);
  IF cardinality(created) = cardinality(given) THEN
    RETURN;
  END IF;

  -- Locks first, in a statement of its own: so the next one sees the newest rows, and no other transaction moves them.
  known := ARRAY(
    SELECT one FROM unnest(given) AS one WHERE one.email NOT IN (SELECT unnest(addresses)) ORDER BY one.email
  );
  PERFORM FROM unnest(known) AS g
  CROSS JOIN LATERAL (
    -- Ordered, so that no plan reads more than the row with the address: while a domain fills, Postgres assumes that
    -- it has few contacts, and would read all of them for each address.
    SELECT FROM contacts c
    WHERE c.account_id = account AND c.domain_id = domain AND c.email >= g.email AND c.email <= g.email
    ORDER BY c.email LIMIT 1 FOR NO KEY UPDATE
  ) c;

  RETURN QUERY
  WITH existing AS MATERIALIZED (
    SELECT c.ctid AS place, c.id, c.email, c.unsubscribed AS was_unsubscribed,
      g.first_name IS NOT NULL AND nullif(g.first_name, '') IS DISTINCT FROM c.first_name AS has_first_name, g.first_name,
      g.last_name IS NOT NULL AND nullif(g.last_name, '') IS DISTINCT FROM c.last_name AS has_last_name, g.last_name,
      CASE WHEN g.unsubscribed IS NULL OR (c.unsubscribed AND NOT may_resubscribe) THEN c.unsubscribed
        ELSE g.unsubscribed END AS unsubscribed,
      c.properties AS old_properties,
      jsonb_strip_nulls(c.properties || coalesce(g.properties, '{}')) AS properties,
      c.do_not_track AS was_untracked, coalesce(g.do_not_track, c.do_not_track) AS is_untracked,
      c.timezone AS old_timezone, CASE WHEN g.timezone IS NULL THEN c.timezone ELSE nullif(g.timezone, '') END AS timezone
    FROM unnest(known) AS g
    CROSS JOIN LATERAL (
      SELECT c.ctid, c.* FROM contacts c
      WHERE c.account_id = account AND c.domain_id = domain AND c.email >= g.email AND c.email <= g.email
      ORDER BY c.email LIMIT 1
    ) c
  ), decided AS MATERIALIZED (
    SELECT e.*, e.has_first_name OR e.has_last_name OR e.unsubscribed <> e.was_unsubscribed
      OR e.properties <> e.old_properties OR e.is_untracked <> e.was_untracked
      OR e.timezone IS DISTINCT FROM e.old_timezone AS is_changed
    FROM existing e WHERE on_conflict = 'upsert'
  ), updated AS (
    UPDATE contacts c SET
      first_name = CASE WHEN e.has_first_name THEN nullif(e.first_name, '') ELSE c.first_name END,
      last_name = CASE WHEN e.has_last_name THEN nullif(e.last_name, '') ELSE c.last_name END,
      unsubscribed = e.unsubscribed, properties = e.properties, do_not_track = e.is_untracked, timezone = e.timezone,
      updated_at = now()
    FROM decided e WHERE c.ctid = e.place AND e.is_changed
  )
  SELECT e.id, e.email, CASE WHEN e.is_changed THEN 'updated' ELSE 'unchanged' END, e.unsubscribed, e.was_unsubscribed
  FROM decided e
  UNION ALL
  SELECT e.id, e.email, 'skipped', e.was_unsubscribed, e.was_unsubscribed FROM existing e WHERE on_conflict <> 'upsert';
END $$;

-- The same, with a list of given_contact as JSON.
CREATE FUNCTION upsert_contacts(
  account uuid, domain uuid, given json, on_conflict text, may_resubscribe boolean, given_source text, given_source_id uuid
) RETURNS TABLE (id uuid, email text, outcome text, unsubscribed boolean, was_unsubscribed boolean)
LANGUAGE sql AS $$
  SELECT * FROM upsert_contacts(account, domain,
    ARRAY(SELECT g FROM json_populate_recordset(NULL::given_contact, given) AS g), on_conflict, may_resubscribe, given_source,
    given_source_id)
$$;

DROP FUNCTION IF EXISTS given_contacts(json);
DROP FUNCTION IF EXISTS everything();

-- The topic_id of an opt-out from all mail.
CREATE FUNCTION everything() RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT '00000000-0000-0000-0000-000000000000'::uuid
$$;
