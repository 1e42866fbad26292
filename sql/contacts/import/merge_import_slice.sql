DROP FUNCTION IF EXISTS merge_import_slice(uuid, uuid, uuid, integer, integer);
DROP FUNCTION IF EXISTS merge_import_slice(uuid, uuid, uuid, integer, integer, integer);
DROP PROCEDURE IF EXISTS merge_import_slices(uuid, uuid, uuid, integer, integer, integer, text, bigint);

-- Merges the next records of an import into the contacts: one slice, one commit, with its cursor and its counts. It
-- holds the contact lock of the account exclusively and counts in a shard that nothing else uses, so that writers that
-- take no contact lock, such as an unsubscribe, never wait for it. Waits at most wait_ms for it, and once it holds it at
-- most 100 ms for another lock (SQLSTATE 55P03), because others that want the lock wait behind it. Sends no webhook events.
--
-- If several records have the same address, the first one is merged. The others are recorded as skipped, but their
-- opt-outs count (opt_out_repeated.sql). After 100,000 skipped records they are only counted, so that no file fills the
-- disk with such rows.
--
-- A slice has at most `slice` records, and ends once it has held the lock for about 12 ms. It is merged in parts; the time
-- of those before decides the size of the next one. Others should wait for the lock for at most 100 ms, and on a busy machine
-- a record may suddenly take several times as long. Shorter slices do not shorten the longest waits.
--
-- part: number of records of the first part, and afterwards of the first part of the next slice. outcome: merged; done, if
-- all records were merged before; ahead, if all records staged so far were merged; lost, if the owner has lost the lease;
-- unstaged, if rows are missing; orphaned, if the domain does not exist. through: the last merged record.
CREATE FUNCTION merge_import_slice(
  account uuid, import uuid, owner uuid, slice integer, wait_ms integer, INOUT part integer DEFAULT 50, OUT outcome text,
  OUT through bigint
) LANGUAGE plpgsql AS $$
DECLARE
  -- Another part costs as much as 20 records or more, so there is none for the last few milliseconds.
  target_ms CONSTANT double precision := 12;
  enough_ms CONSTANT double precision := 9;
  held_ms double precision := 0;
  i contact_imports;
  up_to bigint;
  part_to bigint;
  gone text[];
  staged import_part;
  merged record;
  locked_at timestamptz;
  per_ms double precision;
  has_choices boolean;
BEGIN
  through := 0;
  SELECT * INTO i FROM contact_imports
  WHERE account_id = account AND id = import AND lease_owner = owner AND status = 'in_progress' FOR NO KEY UPDATE;
  IF NOT FOUND THEN
    outcome := 'lost';
    RETURN;
  END IF;
  through := i.merged_through;
  -- Chunks are staged in order, so all records before a staged one are staged too.
  up_to := least(through + slice, coalesce(i.records, greatest(
    (SELECT max(n) FROM import_rows WHERE import_id = import),
    (SELECT max(n) FROM import_errors WHERE account_id = account AND import_id = import), 0)));
  IF through >= up_to THEN
    outcome := CASE WHEN i.records IS NULL THEN 'ahead' ELSE 'done' END;
    RETURN;
  END IF;

  -- Properties that were deleted after the import began. One that was added again may have another type.
  SELECT array_agg(name) INTO gone FROM jsonb_array_elements_text(i.options -> 'stored_as') AS name
  WHERE NOT EXISTS (
    SELECT FROM contact_properties p WHERE p.account_id = account AND p.stored_as = name AND p.deleted_at IS NULL
      AND p.created_at <= i.created_at
  );

  has_choices := i.options -> 'columns' @> '[{"member": "topic"}]';
  LOOP
    part_to := least(through + part, up_to);
    -- The first part is read before the lock is taken.
    staged := read_import_part(i, through, part_to, gone);
    IF staged.rows + staged.wrong + staged.known <> part_to - through THEN
      EXIT WHEN locked_at IS NOT NULL; -- the next slice reports it
      outcome := 'unstaged';
      RETURN;
    END IF;
    IF locked_at IS NULL THEN
      IF NOT lock_contacts(account, i.domain_id, true, wait_ms) THEN
        outcome := 'orphaned';
        RETURN;
      END IF;
      locked_at := clock_timestamp();
      PERFORM set_config('lock_timeout', least(wait_ms, 100)::text, true);
      -- A job removes the choices about a deleted topic, so none is deleted until the slice is committed.
      IF has_choices OR i.options -> 'topics' <> '[]' THEN
        PERFORM FROM topics t WHERE t.account_id = account AND t.id IN (
          SELECT (g ->> 'id')::uuid FROM jsonb_array_elements(i.options -> 'topics') g
          UNION ALL SELECT (c ->> 'topic_id')::uuid FROM jsonb_array_elements(i.options -> 'columns') c
        ) ORDER BY t.id FOR KEY SHARE;
      END IF;
      PERFORM set_config('mailbrook.count_shard', '900', true);
      -- Other code, which needs no lock of the account, adds the rows to the indexes of words and properties
      -- (index_entries.ts).
      PERFORM set_config('gin_pending_list_limit', '64MB', true);
      -- No commit waits for the disk. If Postgres crashes, the contacts of the last slices are lost together with the
      -- cursor.
      PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    merged := merge_import_part(i, staged);
    IF has_choices THEN
      PERFORM merge_choices(i, through, part_to);
    END IF;
    i.created := i.created + merged.created;
    i.updated := i.updated + merged.updated;
    i.skipped := i.skipped + staged.known + staged.rows - merged.created - merged.updated;
    i.failed := i.failed + staged.wrong;
    held_ms := extract(epoch FROM clock_timestamp() - locked_at) * 1000;
    through := part_to;
    per_ms := (through - i.merged_through) / greatest(held_ms, 1);
    EXIT WHEN through >= up_to OR held_ms >= enough_ms;
    part := least(greatest(per_ms * (target_ms - held_ms), 25), 400);
  END LOOP;
  part := least(greatest(per_ms * target_ms, 25), 400);

  UPDATE contact_imports SET merged_through = through, created = i.created, updated = i.updated, skipped = i.skipped,
    failed = i.failed, attempts = 0
  WHERE account_id = account AND id = import;
  outcome := 'merged';
END $$;

-- Merges slices, each in a transaction of its own, until one of them ends with another outcome than `merged` or within_ms
-- have passed. Postgres would otherwise wait for its client after each slice, a third of the time of an import.
CREATE PROCEDURE merge_import_slices(
  account uuid, import uuid, owner uuid, slice integer, wait_ms integer, within_ms integer, INOUT outcome text,
  INOUT through bigint
) LANGUAGE plpgsql AS $$
DECLARE
  ends_at timestamptz := clock_timestamp() + make_interval(secs => within_ms / 1000.0);
  part integer := 50;
BEGIN
  LOOP
    SELECT m.part, m.outcome, m.through INTO part, outcome, through
    FROM merge_import_slice(account, import, owner, slice, wait_ms, part) AS m;
    COMMIT;
    EXIT WHEN outcome <> 'merged' OR clock_timestamp() >= ends_at;
  END LOOP;
END $$;
