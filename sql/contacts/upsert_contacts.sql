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
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off AS $$
#variable_conflict use_column
DECLARE
  created uuid[];
  addresses text[];       -- of the created contacts, in their order; so are their places and if they were unsubscribed at once
  places tid[];
  are_unsubscribed boolean[];
  late uuid[];            -- created contacts whose opt-out from everything was committed meanwhile
  known given_contact[];  -- those whose address has a contact already
  left_before uuid[];     -- created contacts whose address had opted out of everything
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
    -- OFFSET 0: looks each up by its key. Postgres assumes that a domain has few opt-outs, and would compare each address with all.
    LEFT JOIN LATERAL (
      SELECT o.email_hash FROM contact_optouts o
      WHERE has_optouts AND o.account_id = account AND o.domain_id = domain
        AND o.email_hash = sha256(convert_to(g.email, 'UTF8')) AND o.topic_id = everything() OFFSET 0
    ) o ON true
    ORDER BY g.email
    ON CONFLICT (account_id, domain_id, email) DO NOTHING
    RETURNING contacts.id, contacts.email, contacts.unsubscribed, contacts.ctid AS place
  )
  SELECT coalesce(array_agg(i.id), '{}'), coalesce(array_agg(i.email), '{}'), array_agg(i.unsubscribed), array_agg(i.place)
  INTO created, addresses, are_unsubscribed, places FROM inserted i;

  -- From now on the contact itself holds the opt-outs of its address.
  IF EXISTS (SELECT FROM contact_optouts o WHERE o.account_id = account AND o.domain_id = domain) THEN
    WITH found AS MATERIALIZED (
      SELECT c.*, o.optout FROM unnest(created, addresses, places) AS c(id, email, place)
      CROSS JOIN LATERAL (
        SELECT o.ctid AS optout FROM contact_optouts o
        WHERE o.account_id = account AND o.domain_id = domain AND o.email_hash = sha256(convert_to(c.email, 'UTF8')) OFFSET 0
      ) o
    ), taken AS (
      DELETE FROM contact_optouts o USING found f WHERE o.ctid = f.optout RETURNING f.id, f.email, f.place, o.topic_id
    ), changed AS (
      -- Opt-outs may have been committed while the statement above waited for them (preferences/reserve_address.sql).
      UPDATE contacts c SET unsubscribed = c.unsubscribed OR t.has_left, do_not_track = c.do_not_track OR t.is_untracked
      FROM (
        SELECT t.place, bool_or(t.topic_id = everything() AND t.email <> ALL (ARRAY(
            SELECT g.email FROM unnest(given) AS g WHERE may_resubscribe AND g.unsubscribed IS FALSE
          ))) AS has_left, bool_or(t.topic_id = being_tracked() AND t.email <> ALL (ARRAY(
            SELECT g.email FROM unnest(given) AS g WHERE g.do_not_track IS FALSE
          ))) AS is_untracked
        FROM taken t GROUP BY t.place
      ) t
      WHERE c.ctid = t.place AND (t.has_left AND NOT c.unsubscribed OR t.is_untracked AND NOT c.do_not_track)
      RETURNING c.id, c.unsubscribed
    ), chosen AS (
      INSERT INTO contact_topics (account_id, contact_id, topic_id, subscription)
      SELECT account, t.id, t.topic_id, 'opt_out' FROM taken t
      WHERE EXISTS (SELECT FROM topics WHERE topics.account_id = account AND topics.id = t.topic_id)
    )
    SELECT (SELECT array_agg(c.id) FROM changed c WHERE c.unsubscribed),
      (SELECT array_agg(t.id) FROM taken t WHERE t.topic_id = everything()) INTO late, left_before;
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
    -- In order and without sorting, so that no plan reads more than the row with the address (contact_by_address.sql).
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
