DROP FUNCTION IF EXISTS ingest_events(json);
DROP FUNCTION IF EXISTS ingest_events(json, boolean);
DROP FUNCTION IF EXISTS locate_drafts(event_draft[]);

-- Stores all waiting events with their effects (store_events.sql) in one round trip and one commit. given: a list of
-- event_draft, whose positions count from 0.
--
-- outcome   stored | replayed (its idempotency key has an answer already) | key_conflict
--           concurrent (another request has its key) | refused (it was invalid) | no_contact | quota
--           busy (unless is_patient: another transaction has locked runs of its contact)
-- answer    for the caller, if it is stored or replayed
CREATE FUNCTION ingest_events(given json, is_patient boolean DEFAULT true) RETURNS TABLE ("position" integer, outcome text, answer jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  drafts event_draft[];
  busy integer[];
  bound integer[];
  stored stored_event[];
  answers jsonb;
  others jsonb; -- those that were not stored, by position
BEGIN
  SELECT array_agg(d) INTO drafts FROM json_populate_recordset(NULL::event_draft, given) AS d;

  -- Like lockKey() in sql/sending/idempotency_keys.ts: no other transaction uses these keys until this one ends.
  SELECT coalesce(array_agg(l.position) FILTER (WHERE NOT l.is_locked OR l.nth > 1), '{}') INTO busy FROM (
    SELECT d.position, row_number() OVER (PARTITION BY d.account_id, d.route, d.key ORDER BY d.position) AS nth,
      pg_try_advisory_xact_lock(hashtextextended(format('idempotency %s %s %s', d.account_id, d.route, d.key), 0)) AS is_locked
    FROM unnest(drafts) AS d WHERE d.key IS NOT NULL OFFSET 0
  ) l;
  SELECT coalesce(array_agg(d.position), '{}') INTO bound
  FROM unnest(drafts) AS d
  JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
  WHERE k.created_at > now() - key_lifetime();

  stored := store_events(locate_drafts(ARRAY(
    SELECT d FROM unnest(drafts) AS d
    WHERE d.is_refused IS NOT TRUE AND d.position <> ALL (busy) AND d.position <> ALL (bound)
  )), true, is_patient);
  SELECT coalesce(jsonb_object_agg(s.position,
    jsonb_build_object('id', s.id, 'contact_id', s.contact_id, 'enrolled', s.enrolled)), '{}')
  INTO answers FROM unnest(stored) AS s WHERE s.enrolled IS NOT NULL;
  SELECT coalesce(jsonb_object_agg(s.position, s.id), '{}') INTO others FROM unnest(stored) AS s WHERE s.enrolled IS NULL;

  INSERT INTO idempotency_keys AS k (account_id, route, key, fingerprint, answer)
  SELECT d.account_id, d.route, d.key, decode(d.fingerprint, 'hex'), answers -> d.position::text
  FROM unnest(drafts) AS d WHERE d.key IS NOT NULL AND answers ? d.position::text
  ORDER BY d.account_id, d.route, d.key
  ON CONFLICT (account_id, route, key) DO UPDATE
    SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at;

  RETURN QUERY
  SELECT d.position,
    CASE
      WHEN answers ? d.position::text THEN 'stored'
      WHEN d.position = ANY (bound) AND k.fingerprint = decode(d.fingerprint, 'hex') THEN 'replayed'
      WHEN d.position = ANY (bound) THEN 'key_conflict'
      WHEN d.position = ANY (busy) THEN 'concurrent'
      WHEN d.is_refused THEN 'refused'
      WHEN others ->> d.position::text IS NOT NULL THEN 'quota'
      WHEN others ? d.position::text THEN 'busy'
      ELSE 'no_contact'
    END,
    coalesce(answers -> d.position::text, k.answer)
  FROM unnest(drafts) AS d
  LEFT JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
    AND d.position = ANY (bound);
END
$$;

-- Returns the events with the ids of their contacts, without events whose contact does not exist.
CREATE FUNCTION locate_drafts(drafts event_draft[]) RETURNS new_event[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(d.position, d.account_id, d.domain_id, coalesce(i.id, m.id), d.name, d.payload, 0, NULL, d.tail, NULL)::new_event)
  FROM unnest(drafts) AS d
  -- Each by its key: while few contacts are known, Postgres may read all of the account for each event.
  LEFT JOIN LATERAL (
    SELECT c.id, c.domain_id FROM contacts c WHERE c.account_id = d.account_id AND c.id = d.contact_id OFFSET 0
  ) i ON i.domain_id = d.domain_id
  LEFT JOIN LATERAL (
    SELECT c.id FROM contacts c WHERE c.account_id = d.account_id AND c.domain_id = d.domain_id AND c.email BETWEEN d.email AND d.email
    ORDER BY c.email LIMIT 1
  ) m ON true
  WHERE coalesce(i.id, m.id) IS NOT NULL
$$;
