DROP FUNCTION IF EXISTS merge_import_slice(uuid, uuid, uuid, integer, integer);

-- Merges the next records of an import into the contacts: one slice, one commit, with its cursor and its counts. It has the
-- account's contact lock to itself and counts in a shard that nobody else uses, so that what takes no contact lock, such as
-- an unsubscribe, never waits for it. Waits at most wait_ms for a lock (SQLSTATE 55P03): while it waits, others that want
-- the lock wait behind it. Tells no webhook.
--
-- If several records have the same address, the first one is merged. The others are noted as skipped, but their opt-outs hold
-- (opt_out_repeated.sql).
--
-- outcome: merged; done, if all were merged before; ahead, if all that are staged so far were; lost, if the lease is not the
-- owner's any more; unstaged, if rows are missing; orphaned, if the domain does not exist. held_ms: so long it had the lock. through:
-- the last record that is merged.
CREATE FUNCTION merge_import_slice(
  account uuid, import uuid, owner uuid, slice integer, wait_ms integer, OUT outcome text, OUT held_ms double precision,
  OUT through bigint
) LANGUAGE plpgsql AS $$
DECLARE
  i contact_imports;
  up_to bigint;
  given given_contact[];
  gone text[];
  rows bigint;
  wrong bigint;
  known bigint; -- repeated addresses that were noted when they were staged, as releases before did
  ids uuid[];
  created_ids uuid[];
  gone_ids uuid[];
  leaving text[]; -- addresses that opt out in a record that is not merged
  created_rows bigint;
  updated_rows bigint;
  opt_ins text[];
  opt_outs text[];
  locked_at timestamptz;
BEGIN
  held_ms := 0;
  through := 0;
  SELECT * INTO i FROM contact_imports
  WHERE account_id = account AND id = import AND lease_owner = owner AND status = 'in_progress' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'lost';
    RETURN;
  END IF;
  through := i.merged_through;
  -- Chunks are staged one after the other: what comes before a record that is staged is staged too.
  up_to := least(i.merged_through + slice, coalesce(i.records, greatest(
    (SELECT max(n) FROM import_rows WHERE import_id = import),
    (SELECT max(n) FROM import_errors WHERE account_id = account AND import_id = import), 0)));
  IF i.merged_through >= up_to THEN
    outcome := CASE WHEN i.records IS NULL THEN 'ahead' ELSE 'done' END;
    RETURN;
  END IF;

  -- Properties that were deleted since the import began.
  SELECT array_agg(name) INTO gone FROM jsonb_array_elements_text(i.options -> 'stored_as') AS name
  WHERE NOT EXISTS (SELECT FROM contact_properties p WHERE p.account_id = account AND p.stored_as = name AND p.deleted_at IS NULL);

  -- Before the lock is taken.
  SELECT count(*) FILTER (WHERE e.outcome = 'failed'), count(*) FILTER (WHERE e.outcome = 'skipped') INTO wrong, known
  FROM import_errors e WHERE e.account_id = account AND e.import_id = import AND e.n > i.merged_through AND e.n <= up_to;
  WITH slice AS MATERIALIZED (
    SELECT r.*, coalesce(first.n, r.n) AS first_n, first.line AS first_line, first.unsubscribed AS first_says FROM import_rows r
    LEFT JOIN LATERAL (
      -- Ordered, so that no plan reads more than the rows of the address.
      SELECT f.n, f.line, f.unsubscribed FROM import_rows f
      WHERE r.may_repeat AND f.import_id = import AND f.email >= r.email AND f.email <= r.email ORDER BY f.email, f.n LIMIT 1
    ) first ON true
    WHERE r.import_id = import AND r.n > i.merged_through AND r.n <= up_to
  ), noted AS (
    INSERT INTO import_errors (account_id, import_id, n, line, email, outcome, message)
    SELECT account, import, s.n, s.line, s.email, 'skipped', 'The address is on line ' || s.first_line || ' already.'
    FROM slice s WHERE s.first_n < s.n
  )
  SELECT count(*), coalesce(array_agg(ROW(s.id, s.email, s.first_name, s.last_name, s.unsubscribed,
    s.properties - coalesce(gone, '{}'), NULL, s.timezone)::given_contact) FILTER (WHERE s.first_n = s.n), '{}'),
    array_agg(s.email) FILTER (WHERE s.first_n < s.n AND s.unsubscribed
      AND NOT ((i.options ->> 'resubscribe')::boolean AND s.first_says IS FALSE))
  INTO rows, given, leaving FROM slice s;
  IF rows + wrong + known <> up_to - i.merged_through THEN
    outcome := 'unstaged';
    RETURN;
  END IF;

  IF NOT lock_contacts(account, i.domain_id, true, wait_ms) THEN
    outcome := 'orphaned';
    RETURN;
  END IF;
  locked_at := clock_timestamp();
  PERFORM set_config('mailbrook.count_shard', '900', true);
  -- It is entered into the indexes of words and properties by others, who need no lock of the account (index_entries.ts).
  PERFORM set_config('gin_pending_list_limit', '64MB', true);
  -- Nobody waits with us for the disk. If Postgres crashes, the contacts of the last slices go together with the cursor.
  PERFORM set_config('synchronous_commit', 'off', true);
  SELECT array_agg(u.id), array_agg(u.id) FILTER (WHERE u.outcome = 'created'),
    array_agg(u.id) FILTER (WHERE u.unsubscribed AND NOT u.was_unsubscribed), count(*) FILTER (WHERE u.outcome = 'created'),
    count(*) FILTER (WHERE u.outcome IN ('updated', 'unchanged')),
    array_agg(u.email) FILTER (WHERE u.was_unsubscribed AND NOT u.unsubscribed),
    array_agg(u.email) FILTER (WHERE u.unsubscribed AND u.was_unsubscribed IS NOT TRUE)
  INTO ids, created_ids, gone_ids, created_rows, updated_rows, opt_ins, opt_outs
  FROM upsert_contacts(account, i.domain_id, given, i.options ->> 'on_conflict', (i.options ->> 'resubscribe')::boolean,
    'import', import) u;
  IF leaving IS NOT NULL THEN
    SELECT gone_ids || array_agg(o.id), opt_outs || array_agg(o.email) INTO gone_ids, opt_outs
    FROM opt_out_repeated(i, leaving) o;
  END IF;
  PERFORM merge_memberships(i, ids);
  PERFORM note_imported_consents(i, NULL, 'opt_in', opt_ins);
  PERFORM note_imported_consents(i, NULL, 'opt_out', opt_outs);
  IF (i.options ->> 'trigger_automations')::boolean THEN
    PERFORM tell_contacts(account, 'contact.created', created_ids, NULL, NULL);
    PERFORM tell_contacts(account, 'contact.unsubscribed', gone_ids, NULL, NULL);
  END IF;

  UPDATE contact_imports SET merged_through = up_to, created = created + created_rows, updated = updated + updated_rows,
    skipped = skipped + known + rows - created_rows - updated_rows, failed = failed + wrong, attempts = 0
  WHERE account_id = account AND id = import;
  outcome := 'merged';
  through := up_to;
  held_ms := extract(epoch FROM clock_timestamp() - locked_at) * 1000;
END $$;
