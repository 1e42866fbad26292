DROP FUNCTION IF EXISTS open_batch(uuid, uuid, json, boolean, text[]);
DROP FUNCTION IF EXISTS judge_batch(uuid, uuid, boolean, text[]);
DROP FUNCTION IF EXISTS store_batch_slice(uuid, uuid);
DROP FUNCTION IF EXISTS close_batch(uuid, uuid);

-- Judges all emails of a batch that was just inserted. If it may be sent, debits the quota for all of them, and stores
-- them: now if they fit into one slice, else slice by slice, by the job that this adds. Returns the faults, one per draft.
-- The batch may be sent if there are none; a permissive one leaves out emails with a fault, but any of request_faults
-- refuses it as a whole. retry_after: seconds, for reputation_limit_exceeded. details: a list, one per fault
-- (explain_faults.sql); quotas are those of all emails together.
CREATE FUNCTION open_batch(account uuid, batch uuid, drafts json, is_permissive boolean, request_faults text[],
  OUT faults text[], OUT retry_after integer, OUT details jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  given draft[] := ARRAY(SELECT d FROM json_populate_recordset(NULL::draft, drafts) AS d ORDER BY d.position);
  judged judgement;
  kept draft[];
  size integer;
BEGIN
  judged := judge_drafts(given, lock_usage(ARRAY[account]), '{}');
  faults := coalesce(judged.faults, '{}');
  retry_after := (SELECT max(q.retry_after) FROM unnest(judged.decisions) AS q);
  details := to_jsonb(explain_faults(given, judged.faults,
    array_fill((SELECT sum(q.quota_debit)::integer FROM unnest(judged.decisions) AS q), ARRAY[cardinality(given)])));
  kept := ARRAY(SELECT d FROM unnest(given) AS d WHERE judged.faults[d.position + 1] IS NULL);
  IF NOT is_permissive AND cardinality(kept) < cardinality(given) OR judged.faults && request_faults THEN
    RETURN;
  END IF;

  PERFORM debit_usage(ARRAY(SELECT q FROM unnest(judged.decisions) AS q));
  UPDATE batches b SET positions = ARRAY(SELECT d.position FROM unnest(kept) AS d),
    email_ids = ARRAY(SELECT d.id FROM unnest(kept) AS d),
    indexes = ARRAY(SELECT b.indexes[d.position + 1] FROM unnest(kept) AS d)
  WHERE b.account_id = account AND b.id = batch
  RETURNING b.slice_size INTO size;

  IF cardinality(given) <= size THEN
    PERFORM store_drafts(kept, judged, now());
    UPDATE batches b SET state = 'done', stored = cardinality(kept), drafts = NULL WHERE b.account_id = account AND b.id = batch;
  ELSE
    UPDATE batches b SET drafts = open_batch.drafts, judgement = to_jsonb(judged) WHERE b.account_id = account AND b.id = batch;
    PERFORM graphile_worker.add_job('process_batch', json_build_object('account_id', account, 'batch_id', batch),
      max_attempts => job_attempts());
  END IF;
END
$$;

-- For web processes of the release before, which insert a batch with its drafts and wait to be notified.
CREATE FUNCTION judge_batch(account uuid, batch uuid, is_permissive boolean, request_faults text[], OUT faults text[],
  OUT retry_after integer, OUT details jsonb)
LANGUAGE sql AS $$
  SELECT pg_notify('batches', batch::text);
  SELECT o.* FROM batches b CROSS JOIN LATERAL open_batch(account, batch, b.drafts, is_permissive, request_faults) AS o
  WHERE b.account_id = account AND b.id = batch;
$$;

-- Stores the next slice of a batch, unless its deadline has passed, and notifies after the last one. Returns true if
-- there is another. Every transaction that stores or closes locks the row, so the row always matches what is stored.
CREATE FUNCTION store_batch_slice(account uuid, batch uuid) RETURNS boolean
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  found_batch batches;
  slice integer[];
  stored_now integer;
BEGIN
  SELECT * INTO found_batch FROM batches b
  WHERE b.account_id = account AND b.id = batch AND b.state = 'open' AND b.deadline > clock_timestamp()
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;

  stored_now := least(found_batch.stored + found_batch.slice_size, cardinality(found_batch.positions));
  slice := found_batch.positions[found_batch.stored + 1 : stored_now];
  -- They were judged when the batch was opened; the worker that sends them checks later changes.
  PERFORM store_drafts(
    ARRAY(SELECT d FROM json_populate_recordset(NULL::draft, found_batch.drafts) AS d WHERE d.position = ANY (slice)),
    jsonb_populate_record(NULL::judgement, found_batch.judgement), found_batch.created_at
  );
  IF stored_now < cardinality(found_batch.positions) THEN
    UPDATE batches b SET stored = stored_now WHERE b.account_id = account AND b.id = batch;
    RETURN true;
  END IF;
  UPDATE batches b SET stored = stored_now, state = 'done', drafts = NULL, judgement = NULL
  WHERE b.account_id = account AND b.id = batch;
  PERFORM pg_notify('batches', batch::text);
  RETURN false;
END
$$;

-- Closes a batch whose deadline has passed and refunds the quota of emails that were not stored. A batch without stored
-- emails is deleted, so that its request may be repeated.
CREATE FUNCTION close_batch(account uuid, batch uuid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  closed batches;
BEGIN
  -- Locked before the usage, as when it is opened: a slow slice holds the row, and waiting for it with the usage locked
  -- would delay all mail of the account.
  SELECT * INTO closed FROM batches b
  WHERE b.account_id = account AND b.id = batch AND b.state = 'open' AND b.deadline <= clock_timestamp()
  FOR UPDATE;
  IF NOT FOUND THEN
    RETURN;
  END IF;

  PERFORM lock_usage(ARRAY[account]);
  PERFORM refund_usage(account, sum(q.quota_debit)::integer, sum(q.credit_debit)::integer, closed.created_at)
  FROM unnest((jsonb_populate_record(NULL::judgement, closed.judgement)).decisions) AS q
  WHERE q.position = ANY (closed.positions[closed.stored + 1 :]);
  PERFORM refund_warm_up(account, q.domain_id, sum(q.quota_debit)::integer, closed.created_at)
  FROM unnest((jsonb_populate_record(NULL::judgement, closed.judgement)).decisions) AS q
  WHERE q.position = ANY (closed.positions[closed.stored + 1 :]) GROUP BY q.domain_id;
  IF closed.stored = 0 THEN
    DELETE FROM batches b WHERE b.account_id = account AND b.id = batch;
  ELSE
    UPDATE batches b SET state = 'closed', drafts = NULL, judgement = NULL WHERE b.account_id = account AND b.id = batch;
  END IF;
  PERFORM pg_notify('batches', batch::text);
END
$$;
