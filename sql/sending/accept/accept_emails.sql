DROP FUNCTION IF EXISTS accept_emails(json);

-- Accepts all waiting requests in one round trip and one commit. Several statements, each with a fresh snapshot: a
-- single CTE could neither replay the answer of a key that it lost to a concurrent commit nor leave the key of a
-- refused request unbound.
--
-- Returns one row per draft. outcome: accepted | replayed | key_conflict, or a fault (_types_of_drafts.sql). answer: for
-- the caller of an accepted or replayed request. retry_after: seconds, for reputation_limit_exceeded. detail: of a fault
-- (explain_faults.sql), computed after everything accepted here was debited.
--
-- The planner does not know the length of a list; with stale statistics it would read whole tables for it. So every
-- statement here must use an index, row by row; that of add_job as well, since planning it each time costs 1 ms.

-- given: a list of draft.
CREATE FUNCTION accept_emails(given json) RETURNS TABLE ("position" integer, outcome text, answer jsonb, retry_after integer, detail jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  drafts draft[];
  limited uuid[];      -- accounts whose usage is limited
  bound integer[];     -- drafts whose key has an answer already
  judged judgement;
  decided jsonb;
  accepted integer[];
  details jsonb[];
BEGIN
  SELECT array_agg(d) INTO drafts FROM json_populate_recordset(NULL::draft, given) AS d;

  -- 1. Limited usage of accounts is locked before anything else.
  limited := lock_usage(ARRAY(SELECT d.account_id FROM unnest(drafts) AS d));

  -- 2. Find keys that are bound already. A retry replays even if its domain no longer exists.
  SELECT coalesce(array_agg(d.position), '{}') INTO bound
  FROM unnest(drafts) AS d
  JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
  WHERE k.created_at > now() - key_lifetime();

  -- 3. Judge what depends on time or rows.
  judged := judge_drafts(drafts, limited, bound);
  decided := decisions_by_position(judged.decisions);

  -- 4. Bind the keys, sorted: two statements in different order would deadlock. An expired key is bound again.
  WITH keyed AS (
    SELECT DISTINCT ON (d.account_id, d.route, d.key) d.account_id, d.route, d.key, d.fingerprint, d.id
    FROM unnest(drafts) AS d
    WHERE d.key IS NOT NULL AND judged.faults[d.position + 1] IS NULL
    ORDER BY d.account_id, d.route, d.key, d.position
  ), won AS (
    INSERT INTO idempotency_keys AS k (account_id, route, key, fingerprint, answer)
    SELECT account_id, route, key, decode(fingerprint, 'hex'), jsonb_build_object('id', id) FROM keyed
    ORDER BY account_id, route, key
    ON CONFLICT (account_id, route, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
      WHERE k.created_at <= now() - key_lifetime()
    RETURNING answer
  )
  SELECT coalesce(array_agg(d.position), '{}') INTO accepted
  FROM unnest(drafts) AS d
  WHERE judged.faults[d.position + 1] IS NULL
    AND (d.key IS NULL OR d.id IN (SELECT (won.answer ->> 'id')::uuid FROM won));

  -- 5. Store the debit, emails, deliveries and one job for all that are due. Nearly always all are accepted; then no list is
  -- searched for each draft, which would take quadratic time.
  IF cardinality(accepted) = cardinality(drafts) THEN
    PERFORM debit_usage(coalesce(judged.decisions, '{}'));
    PERFORM store_drafts(drafts, judged, now());
    RETURN QUERY SELECT d.position, 'accepted', jsonb_build_object('id', d.id), NULL::integer, NULL::jsonb FROM unnest(drafts) AS d;
    RETURN;
  END IF;
  PERFORM debit_usage(ARRAY(SELECT q FROM unnest(judged.decisions) AS q WHERE q.position = ANY (accepted)));
  PERFORM store_drafts(ARRAY(SELECT d FROM unnest(drafts) AS d WHERE d.position = ANY (accepted)), judged, now());

  -- 6. Explain faults by what the debit has left.
  details := explain_faults(drafts, judged.faults, ARRAY(
    SELECT (decided -> d.position::text ->> 'quota_debit')::integer FROM unnest(drafts) AS d ORDER BY d.position
  ));

  -- 7. Return the answer for each caller; keys lost to a concurrent commit replay its answer.
  RETURN QUERY
  SELECT d.position,
    CASE
      WHEN d.position = ANY (accepted) THEN 'accepted'
      WHEN k.fingerprint = decode(d.fingerprint, 'hex') THEN 'replayed'
      WHEN k.fingerprint IS NOT NULL THEN 'key_conflict'
      ELSE judged.faults[d.position + 1]
    END,
    CASE WHEN d.position = ANY (accepted) THEN jsonb_build_object('id', d.id) ELSE k.answer END,
    (decided -> d.position::text ->> 'retry_after')::integer,
    CASE WHEN k.fingerprint IS NULL THEN details[d.position + 1] END
  FROM unnest(drafts) AS d
  LEFT JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
    AND k.created_at > now() - key_lifetime();
END
$$;
