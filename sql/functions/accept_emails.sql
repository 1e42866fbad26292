DROP FUNCTION IF EXISTS accept_emails(json);
DROP TYPE IF EXISTS draft, draft_recipient CASCADE;

-- Accepts every request that is waiting, in one round trip and one commit. Several statements, each with a fresh
-- snapshot: a single CTE could neither replay the answer of a key it lost to a concurrent commit nor leave the key of a
-- refused request unbound.
--
-- Answers one row per draft. outcome: accepted | replayed | key_conflict | schedule_past | schedule_too_far |
-- domain_not_verified | domain_not_allowed | all_suppressed | daily_quota_exceeded | monthly_quota_exceeded. answer: what
-- to tell the caller of an accepted or replayed request.
--
-- A list tells the planner nothing of its length; with stale statistics it would read whole tables for it. Every
-- statement here is to go by index, row by row, add_job's as well: planned anew each time it costs 1 ms.
CREATE TYPE draft_recipient AS (
  id uuid,
  recipient text,
  destination text,
  visible_in text, -- to, cc or bcc
  reserved boolean,
  simulated boolean
);

CREATE TYPE draft AS (
  "position" integer,
  account_id uuid,
  id uuid,
  domain text,
  key_domain_id uuid,
  route text,
  key text,
  fingerprint text, -- hex
  message_id text,
  sender text,
  "to" text[],
  cc text[],
  bcc text[],
  reply_to text[],
  subject text,
  headers jsonb,
  tags jsonb,
  html text,
  text text,
  scheduled_at timestamptz,
  recipients draft_recipient[]
);

-- given: a list of draft.
CREATE FUNCTION accept_emails(given json) RETURNS TABLE ("position" integer, outcome text, answer jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  drafts draft[];
  limited uuid[];             -- accounts that have a quota
  decisions quota_decision[];
  bound integer[];            -- their key has an answer already
  sendable integer[];         -- their domain may send ...
  domain_ids uuid[];          -- ... and is this one
  forbidden integer[];        -- their key may not send from this domain
  suppressed_recipients uuid[];
  unreachable integer[];      -- every `to` recipient is dropped
  candidates integer[];
  accepted integer[];
  job_email_ids jsonb;
BEGIN
  SELECT array_agg(d) INTO drafts FROM json_populate_recordset(NULL::draft, given) AS d;

  -- 1. The usage of accounts that have a quota is locked before anything else.
  limited := lock_usage(ARRAY(SELECT d.account_id FROM unnest(drafts) AS d));

  -- 2. Keys that are bound already. A retry replays even if its domain is gone by now.
  SELECT coalesce(array_agg(d.position), '{}') INTO bound
  FROM unnest(drafts) AS d
  JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
  WHERE k.created_at > now() - interval '24 hours';

  -- 3. What depends on time or rows: the schedule, the sender's domain, suppressions, quotas.
  SELECT coalesce(array_agg(d.position), '{}'), coalesce(array_agg(o.id), '{}'),
    coalesce(array_agg(d.position) FILTER (WHERE d.key_domain_id <> o.id), '{}')
  INTO sendable, domain_ids, forbidden
  FROM unnest(drafts) AS d
  JOIN domains o ON o.account_id = d.account_id AND o.name = d.domain
    AND o.status IN ('verified', 'partially_verified', 'partially_failed');

  SELECT coalesce(array_agg(r.id), '{}') INTO suppressed_recipients
  FROM unnest(drafts) AS d
  CROSS JOIN unnest(d.recipients) AS r
  JOIN suppressions s ON s.account_id = d.account_id AND s.address = lower(r.recipient)
    AND (s.expires_at IS NULL OR s.expires_at > now())
  WHERE NOT r.simulated;

  SELECT coalesce(array_agg(d.position), '{}') INTO unreachable
  FROM unnest(drafts) AS d
  WHERE NOT EXISTS (
    SELECT FROM unnest(d.recipients) AS r
    WHERE r.visible_in = 'to' AND NOT r.reserved AND r.id <> ALL (suppressed_recipients)
  );

  SELECT coalesce(array_agg(d.position), '{}') INTO candidates
  FROM unnest(drafts) AS d
  WHERE d.position <> ALL (bound) AND schedule_fault(d.scheduled_at) IS NULL AND d.position = ANY (sendable)
    AND d.position <> ALL (forbidden) AND d.position <> ALL (unreachable);

  IF limited <> '{}' THEN
    SELECT array_agg(q) INTO decisions FROM decide_quotas(ARRAY(
      SELECT ROW(d.position, d.account_id, (
        SELECT count(*) FROM unnest(d.recipients) AS r WHERE NOT r.reserved AND r.id <> ALL (suppressed_recipients)
      ))::quota_request
      FROM unnest(drafts) AS d WHERE d.position = ANY (candidates) AND d.account_id = ANY (limited)
    )) AS q;
    candidates := ARRAY(
      SELECT c.position FROM unnest(candidates) AS c(position)
      WHERE NOT EXISTS (SELECT FROM unnest(decisions) AS q WHERE q.position = c.position AND q.refusal IS NOT NULL)
    );
  END IF;

  -- 4. Bind the keys, sorted: two statements in different order would deadlock. An expired key is bound anew.
  WITH keyed AS (
    SELECT DISTINCT ON (d.account_id, d.route, d.key) d.account_id, d.route, d.key, d.fingerprint, d.id
    FROM unnest(drafts) AS d
    WHERE d.key IS NOT NULL AND d.position = ANY (candidates)
    ORDER BY d.account_id, d.route, d.key, d.position
  ), won AS (
    INSERT INTO idempotency_keys AS k (account_id, route, key, fingerprint, answer)
    SELECT account_id, route, key, decode(fingerprint, 'hex'), jsonb_build_object('id', id) FROM keyed
    ORDER BY account_id, route, key
    ON CONFLICT (account_id, route, key) DO UPDATE
      SET fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at
      WHERE k.created_at <= now() - interval '24 hours'
    RETURNING answer
  )
  SELECT coalesce(array_agg(d.position), '{}') INTO accepted
  FROM unnest(drafts) AS d
  WHERE d.position = ANY (candidates)
    AND (d.key IS NULL OR d.id IN (SELECT (won.answer ->> 'id')::uuid FROM won));

  -- 5. Debit, emails, deliveries and one job for all that are due.
  IF limited <> '{}' THEN
    PERFORM debit_usage(ARRAY(SELECT q FROM unnest(decisions) AS q WHERE q.position = ANY (accepted)));
  END IF;

  INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status,
    last_event, scheduled_at, quota_debit, credit_debit)
  SELECT d.account_id, d.id, o.domain_id, d.message_id, d.sender, d."to", d.cc, d.bcc, d.reply_to, d.subject, d.tags,
    v.status, v.status, d.scheduled_at, coalesce(q.quota_debit, 0), coalesce(q.credit_debit, 0)
  FROM unnest(drafts) AS d
  CROSS JOIN LATERAL (SELECT CASE WHEN d.scheduled_at IS NULL THEN 'queued' ELSE 'scheduled' END) AS v(status)
  JOIN unnest(sendable, domain_ids) AS o(position, domain_id) ON o.position = d.position
  LEFT JOIN unnest(decisions) AS q ON q.position = d.position
  WHERE d.position = ANY (accepted);

  INSERT INTO email_contents (account_id, email_id, headers, html, text)
  SELECT d.account_id, d.id, d.headers, d.html, d.text
  FROM unnest(drafts) AS d
  WHERE d.position = ANY (accepted);

  WITH stored AS (
    INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, reason, next_at)
    SELECT d.account_id, r.id, d.id, r.recipient, r.destination, v.state,
      CASE WHEN r.reserved THEN 'The domain is reserved for documentation and tests.'
        WHEN v.state = 'suppressed' THEN 'The address is on the suppression list.' END,
      CASE WHEN v.state = 'queued' THEN coalesce(d.scheduled_at, now()) END
    FROM unnest(drafts) AS d
    CROSS JOIN unnest(d.recipients) AS r
    CROSS JOIN LATERAL (
      SELECT CASE WHEN r.reserved OR r.id = ANY (suppressed_recipients) THEN 'suppressed' ELSE 'queued' END
    ) AS v(state)
    WHERE d.position = ANY (accepted)
    RETURNING account_id, email_id, recipient, state, reason, next_at
  ), announced AS (
    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    SELECT account_id, email_id, 'suppressed', recipient, jsonb_build_object('reason', reason)
    FROM stored WHERE state = 'suppressed'
  )
  -- What is due later needs no job.
  SELECT jsonb_agg(DISTINCT email_id) INTO job_email_ids FROM stored WHERE state = 'queued' AND next_at <= now();

  IF job_email_ids IS NOT NULL THEN
    PERFORM graphile_worker.add_job('send_emails', json_build_object('email_ids', job_email_ids), max_attempts => 5);
  END IF;

  -- 6. What each caller is told; keys lost to a commit made meanwhile replay its answer.
  RETURN QUERY
  SELECT d.position,
    CASE
      WHEN d.position = ANY (accepted) THEN 'accepted'
      WHEN k.fingerprint = decode(d.fingerprint, 'hex') THEN 'replayed'
      WHEN k.fingerprint IS NOT NULL THEN 'key_conflict'
      WHEN schedule_fault(d.scheduled_at) IS NOT NULL THEN schedule_fault(d.scheduled_at)
      WHEN d.position <> ALL (sendable) THEN 'domain_not_verified'
      WHEN d.position = ANY (forbidden) THEN 'domain_not_allowed'
      ELSE coalesce(q.refusal, 'all_suppressed')
    END,
    CASE WHEN d.position = ANY (accepted) THEN jsonb_build_object('id', d.id) ELSE k.answer END
  FROM unnest(drafts) AS d
  LEFT JOIN unnest(decisions) AS q ON q.position = d.position
  LEFT JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
    AND k.created_at > now() - interval '24 hours';
END
$$;
