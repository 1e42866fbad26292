-- Accepts every request that is waiting, in one round trip and one commit. Several statements, each with a fresh
-- snapshot: a single CTE could neither replay the answer of a key it lost to a concurrent commit nor leave the key of a
-- refused request unbound.
--
-- drafts: [{ position, account_id, id, domain, key_domain_id, route, key, fingerprint (hex), message_id, sender, to, cc,
--   bcc, reply_to, subject, headers, tags, html, text,
--   recipients: [{ id, recipient, destination, visible_in ('to', 'cc' or 'bcc'), reserved, simulated }] }]
--
-- Answers one row per draft. outcome: accepted | replayed | key_conflict | domain_not_verified | domain_not_allowed |
-- all_suppressed. answer: what to tell the caller of an accepted or replayed request.
--
-- A list in JSON tells the planner nothing of its length; with stale statistics it would read whole tables for it. Every
-- statement here is to go by index, row by row.
CREATE FUNCTION accept_emails(drafts jsonb) RETURNS TABLE ("position" integer, outcome text, answer jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
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
  -- 1. Usage rows of accounts with a quota are locked here, in order of account_id, before anything else.

  -- 2. Keys that are bound already. A retry replays even if its domain is gone by now.
  SELECT coalesce(array_agg(d.position), '{}') INTO bound
  FROM jsonb_to_recordset(drafts) AS d(position integer, account_id uuid, route text, key text)
  JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
  WHERE k.created_at > now() - interval '24 hours';

  -- 3. What depends on rows: the sender's domain, suppressions; quota follows here, greedy in order of arrival.
  SELECT coalesce(array_agg(d.position), '{}'), coalesce(array_agg(o.id), '{}'),
    coalesce(array_agg(d.position) FILTER (WHERE d.key_domain_id <> o.id), '{}')
  INTO sendable, domain_ids, forbidden
  FROM jsonb_to_recordset(drafts) AS d(position integer, account_id uuid, domain text, key_domain_id uuid)
  JOIN domains o ON o.account_id = d.account_id AND o.name = d.domain
    AND o.status IN ('verified', 'partially_verified', 'partially_failed');

  SELECT coalesce(array_agg(r.id), '{}') INTO suppressed_recipients
  FROM jsonb_to_recordset(drafts) AS d(account_id uuid, recipients jsonb)
  CROSS JOIN jsonb_to_recordset(d.recipients) AS r(id uuid, recipient text, simulated boolean)
  JOIN suppressions s ON s.account_id = d.account_id AND s.address = lower(r.recipient)
    AND (s.expires_at IS NULL OR s.expires_at > now())
  WHERE NOT r.simulated;

  SELECT coalesce(array_agg(d.position), '{}') INTO unreachable
  FROM jsonb_to_recordset(drafts) AS d(position integer, recipients jsonb)
  WHERE NOT EXISTS (
    SELECT FROM jsonb_to_recordset(d.recipients) AS r(id uuid, visible_in text, reserved boolean)
    WHERE r.visible_in = 'to' AND NOT r.reserved AND r.id <> ALL (suppressed_recipients)
  );

  SELECT coalesce(array_agg(d.position), '{}') INTO candidates
  FROM jsonb_to_recordset(drafts) AS d(position integer)
  WHERE d.position <> ALL (bound) AND d.position = ANY (sendable) AND d.position <> ALL (forbidden)
    AND d.position <> ALL (unreachable);

  -- 4. Bind the keys, sorted: two statements in different order would deadlock. An expired key is bound anew.
  WITH keyed AS (
    SELECT DISTINCT ON (d.account_id, d.route, d.key) d.*
    FROM jsonb_to_recordset(drafts)
      AS d(position integer, account_id uuid, route text, key text, fingerprint text, id uuid)
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
  FROM jsonb_to_recordset(drafts) AS d(position integer, key text, id uuid)
  WHERE d.position = ANY (candidates)
    AND (d.key IS NULL OR d.id IN (SELECT (won.answer ->> 'id')::uuid FROM won));

  -- 5. Emails, deliveries and one job for all of them.
  INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags, status,
    last_event)
  SELECT d.account_id, d.id, o.domain_id, d.message_id, d.sender, d."to", d.cc, d.bcc, d.reply_to, d.subject, d.tags,
    'queued', 'queued'
  FROM jsonb_to_recordset(drafts) AS d(position integer, account_id uuid, id uuid, message_id text, sender text,
    "to" text[], cc text[], bcc text[], reply_to text[], subject text, tags jsonb)
  JOIN unnest(sendable, domain_ids) AS o(position, domain_id) ON o.position = d.position
  WHERE d.position = ANY (accepted);

  INSERT INTO email_contents (account_id, email_id, headers, html, text)
  SELECT d.account_id, d.id, d.headers, d.html, d.text
  FROM jsonb_to_recordset(drafts)
    AS d(position integer, account_id uuid, id uuid, headers jsonb, html text, text text)
  WHERE d.position = ANY (accepted);

  WITH stored AS (
    INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, reason, next_at)
    SELECT d.account_id, r.id, d.id, r.recipient, r.destination, v.state,
      CASE WHEN r.reserved THEN 'The domain is reserved for documentation and tests.'
        WHEN v.state = 'suppressed' THEN 'The address is on the suppression list.' END,
      CASE WHEN v.state = 'queued' THEN now() END
    FROM jsonb_to_recordset(drafts) AS d(position integer, account_id uuid, id uuid, recipients jsonb)
    CROSS JOIN jsonb_to_recordset(d.recipients) AS r(id uuid, recipient text, destination text, reserved boolean)
    CROSS JOIN LATERAL (
      SELECT CASE WHEN r.reserved OR r.id = ANY (suppressed_recipients) THEN 'suppressed' ELSE 'queued' END
    ) AS v(state)
    WHERE d.position = ANY (accepted)
    RETURNING account_id, email_id, recipient, state, reason
  ), announced AS (
    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    SELECT account_id, email_id, 'suppressed', recipient, jsonb_build_object('reason', reason)
    FROM stored WHERE state = 'suppressed'
  )
  SELECT jsonb_agg(DISTINCT email_id) INTO job_email_ids FROM stored WHERE state = 'queued';

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
      WHEN d.position <> ALL (sendable) THEN 'domain_not_verified'
      WHEN d.position = ANY (forbidden) THEN 'domain_not_allowed'
      ELSE 'all_suppressed'
    END,
    CASE WHEN d.position = ANY (accepted) THEN jsonb_build_object('id', d.id) ELSE k.answer END
  FROM jsonb_to_recordset(drafts)
    AS d(position integer, account_id uuid, id uuid, route text, key text, fingerprint text)
  LEFT JOIN idempotency_keys k ON k.account_id = d.account_id AND k.route = d.route AND k.key = d.key
    AND k.created_at > now() - interval '24 hours';
END
$$;
