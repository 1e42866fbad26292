DROP FUNCTION IF EXISTS merge_import_slice(uuid, uuid, uuid, integer, integer);

-- Merges the next records of an import into the contacts: one slice, one commit, with its cursor and its counts. It has the
-- account's contact lock to itself and counts in a shard that nobody else uses, so that what takes no contact lock, such as
-- an unsubscribe, never waits for it. Waits at most wait_ms for a lock (SQLSTATE 55P03): while it waits, others that want
-- the lock wait behind it. Tells no webhook.
--
-- If several records have the same address, the first one is merged. The others are noted as skipped, but their opt-outs hold
-- (opt_out_repeated.sql). After 100,000 skipped records they are counted alone, so that no file fills the disk with notes.
--
-- A slice has at most so many records, and ends when it has had the lock for 35 ms. It is merged in parts, each as large as
-- the one before says that there is time for: nobody is to wait for more than 100 ms, and on a busy machine a record takes
-- several times as long as a moment before.
--
-- outcome: merged; done, if all were merged before; ahead, if all that are staged so far were; lost, if the lease is not the
-- owner's any more; unstaged, if rows are missing; orphaned, if the domain does not exist. held_ms: so long it had the lock.
-- through: the last record that is merged.
CREATE FUNCTION merge_import_slice(
  account uuid, import uuid, owner uuid, slice integer, wait_ms integer, OUT outcome text, OUT held_ms double precision,
  OUT through bigint
) LANGUAGE plpgsql AS $$
DECLARE
  enough_ms CONSTANT double precision := 35;
  part integer := 100;
  i contact_imports;
  up_to bigint;
  part_to bigint;
  gone text[];
  staged import_part;
  merged record;
  locked_at timestamptz;
  part_ms double precision;
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
  up_to := least(through + slice, coalesce(i.records, greatest(
    (SELECT max(n) FROM import_rows WHERE import_id = import),
    (SELECT max(n) FROM import_errors WHERE account_id = account AND import_id = import), 0)));
  IF through >= up_to THEN
    outcome := CASE WHEN i.records IS NULL THEN 'ahead' ELSE 'done' END;
    RETURN;
  END IF;

  -- Properties that were deleted since the import began.
  SELECT array_agg(name) INTO gone FROM jsonb_array_elements_text(i.options -> 'stored_as') AS name
  WHERE NOT EXISTS (SELECT FROM contact_properties p WHERE p.account_id = account AND p.stored_as = name AND p.deleted_at IS NULL);

  LOOP
    part_to := least(through + part, up_to);
    -- The first part before the lock is taken.
    staged := read_import_part(i, through, part_to, gone);
    IF staged.rows + staged.wrong + staged.known <> part_to - through THEN
      EXIT WHEN locked_at IS NOT NULL; -- the next slice will find it
      outcome := 'unstaged';
      RETURN;
    END IF;
    IF locked_at IS NULL THEN
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
    END IF;
    merged := merge_import_part(i, staged);
    i.created := i.created + merged.created;
    i.updated := i.updated + merged.updated;
    i.skipped := i.skipped + staged.known + staged.rows - merged.created - merged.updated;
    i.failed := i.failed + staged.wrong;
    through := part_to;
    part_ms := extract(epoch FROM clock_timestamp() - locked_at) * 1000 - held_ms;
    held_ms := held_ms + part_ms;
    EXIT WHEN through >= up_to OR held_ms >= enough_ms;
    part := least(greatest(part * (enough_ms - held_ms) / greatest(part_ms, 1), 25), 400);
  END LOOP;

  UPDATE contact_imports SET merged_through = through, created = i.created, updated = i.updated, skipped = i.skipped,
    failed = i.failed, attempts = 0
  WHERE account_id = account AND id = import;
  outcome := 'merged';
  held_ms := extract(epoch FROM clock_timestamp() - locked_at) * 1000;
END $$;
