DROP FUNCTION IF EXISTS unsent_reason(boolean);

-- Emails that are not stored yet: what speaks against them, and how they are stored. Whoever calls these functions has set
-- the plans of their statements (accept_emails.sql says why).

-- What depends on time or rows: the schedule, the sender's domain, suppressions, pauses, quotas. limited: the accounts whose
-- usage is locked. What is bound to an answer is not judged, and takes nothing of a quota.
CREATE FUNCTION judge_drafts(drafts draft[], limited uuid[], bound integer[]) RETURNS judgement
LANGUAGE plpgsql AS $$
DECLARE
  -- Lists are in order of ids, and searches go by the time in them: an id of another time could be missed for good.
  earliest constant uuid := first_id(now() - interval '1 minute');
  latest constant uuid := first_id(now() + interval '1 minute');
  judged judgement;
  switches platform;
BEGIN
  SELECT * INTO switches FROM platform;
  SELECT array_agg(r.id) INTO judged.dropped
  FROM unnest(drafts) AS d
  CROSS JOIN unnest(d.recipients) AS r
  LEFT JOIN suppressions s ON s.account_id = d.account_id AND s.address = lower(r.recipient)
    AND (s.expires_at IS NULL OR s.expires_at > now()) AND NOT r.simulated
  WHERE r.reserved OR s.id IS NOT NULL;
  judged.dropped := coalesce(judged.dropped, '{}');

  -- Until these are stored nobody deletes their domains, or hands one over to another account (sql/domains/name_owners.ts).
  PERFORM FROM unnest(drafts) AS d JOIN domains o ON o.account_id = d.account_id AND o.name = d.domain
    AND o.status IN ('verified', 'partially_verified', 'partially_failed')
  FOR KEY SHARE OF o;
  SELECT array_agg(o.id ORDER BY d.position), array_agg(
    CASE
      WHEN d.position = ANY (bound) THEN 'bound'
      WHEN d.id < earliest OR d.id > latest THEN 'wrong_clock'
      WHEN schedule_fault(d.scheduled_at) IS NOT NULL THEN schedule_fault(d.scheduled_at)
      WHEN d.refusal IS NOT NULL THEN 'refused'
      WHEN o.id IS NULL THEN 'domain_not_verified'
      WHEN d.key_domain_id <> o.id THEN 'domain_not_allowed'
      WHEN NOT EXISTS (
        SELECT FROM unnest(d.recipients) AS r WHERE r.visible_in = 'to' AND r.id <> ALL (judged.dropped)
      ) THEN 'all_suppressed'
      WHEN switches.paused_at IS NOT NULL THEN 'platform_paused'
      WHEN EXISTS (SELECT FROM accounts a WHERE a.id = d.account_id AND a.paused_at IS NOT NULL) THEN 'account_paused'
      WHEN o.paused_at IS NOT NULL THEN 'domain_paused'
      -- A fault that no worker has seen for a minute may be mended: one email finds out.
      WHEN switches.transport_fault_at > now() - interval '60 seconds' AND coalesce(o.transport, 'relay') = 'relay'
        THEN 'transport_unusable'
      WHEN o.transport_fault_at > now() - interval '60 seconds' THEN 'transport_unusable'
      -- Mail goes out without a signature of Ed25519, and never without one of RSA.
      WHEN NOT EXISTS (
        SELECT FROM dkim_keys k WHERE k.account_id = o.account_id AND k.domain_id = o.id
          AND k.state = 'active' AND k.algorithm = 'rsa-sha256'
          AND (k.unusable_at > now() - interval '60 seconds') IS NOT TRUE
      ) THEN 'signing_key_unusable'
    END ORDER BY d.position
  ) INTO judged.domain_ids, judged.faults
  FROM unnest(drafts) AS d
  LEFT JOIN domains o ON o.account_id = d.account_id AND o.name = d.domain AND o.sending
    AND o.status IN ('verified', 'partially_verified', 'partially_failed');

  IF limited <> '{}' THEN
    judged.decisions := ARRAY(SELECT q FROM decide_quotas(ARRAY(
      SELECT ROW(d.position, d.account_id, (
        SELECT count(*) FROM unnest(d.recipients) AS r WHERE r.id <> ALL (judged.dropped)
      ), judged.domain_ids[d.position + 1])::quota_request
      FROM unnest(drafts) AS d WHERE judged.faults[d.position + 1] IS NULL AND d.account_id = ANY (limited)
    )) AS q);
    judged.faults := ARRAY(
      SELECT coalesce(judged.faults[d.position + 1], q.refusal)
      FROM unnest(drafts) AS d LEFT JOIN unnest(judged.decisions) AS q ON q.position = d.position
      ORDER BY d.position
    );
  END IF;
  RETURN judged;
END
$$;

-- Why a recipient gets nothing.
CREATE FUNCTION unsent_reason(is_reserved boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN is_reserved THEN 'The domain is reserved for documentation and tests.'
    ELSE 'The address is on the suppression list.' END
$$;

-- Stores the accepted ones as emails made at that moment, with one job for all that are due.
CREATE FUNCTION store_drafts(drafts draft[], judged judgement, accepted integer[], made_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  job_email_ids jsonb;
BEGIN
  INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags,
    template_id, status, last_event, scheduled_at, created_at, quota_debit, credit_debit)
  SELECT d.account_id, d.id, judged.domain_ids[d.position + 1], d.message_id, d.sender, d."to", d.cc, d.bcc, d.reply_to,
    d.subject, d.tags, d.template_id, v.status, v.status, d.scheduled_at, made_at, coalesce(q.quota_debit, 0),
    coalesce(q.credit_debit, 0)
  FROM unnest(drafts) AS d
  CROSS JOIN LATERAL (SELECT CASE WHEN d.scheduled_at IS NULL THEN 'queued' ELSE 'scheduled' END) AS v(status)
  LEFT JOIN unnest(judged.decisions) AS q ON q.position = d.position
  WHERE d.position = ANY (accepted);

  INSERT INTO email_contents (account_id, email_id, headers, html, text, content_id, variables, rendered_size, renderer)
  SELECT d.account_id, d.id, d.headers, d.html, d.text, d.content_id, d.variables, d.rendered_size, d.renderer
  FROM unnest(drafts) AS d
  WHERE d.position = ANY (accepted);

  -- A Message-ID of ours begins with the id of its email, by which replies find it.
  IF EXISTS (SELECT FROM unnest(drafts) AS d WHERE left(d.message_id, 36) <> d.id::text) THEN
    INSERT INTO kept_message_ids (account_id, message_id, email_id)
    SELECT d.account_id, lower(d.message_id), d.id
    FROM unnest(drafts) AS d
    WHERE left(d.message_id, 36) <> d.id::text AND d.position = ANY (accepted);
  END IF;

  IF EXISTS (SELECT FROM unnest(drafts) AS d WHERE d.attachments <> '{}') THEN
    INSERT INTO attachments (account_id, id, email_id, position, filename, content_type, content_disposition, content_id,
      path, blob_id)
    SELECT d.account_id, a.id, d.id, a.position, a.filename, a.content_type, a.content_disposition, a.content_id, a.path,
      a.blob_id
    FROM unnest(drafts) AS d
    CROSS JOIN unnest(d.attachments) WITH ORDINALITY AS a(id, filename, content_type, content_disposition, content_id,
      path, blob_id, position)
    WHERE d.position = ANY (accepted);
  END IF;

  WITH stored AS (
    INSERT INTO deliveries (account_id, id, email_id, recipient, destination, renderer, state, reason, next_at)
    SELECT d.account_id, r.id, d.id, r.recipient, r.destination, d.renderer, v.state,
      CASE WHEN v.state = 'suppressed' THEN unsent_reason(r.reserved) END,
      CASE WHEN v.state = 'queued' THEN coalesce(d.scheduled_at, now()) END
    FROM unnest(drafts) AS d
    CROSS JOIN unnest(d.recipients) AS r
    CROSS JOIN LATERAL (SELECT CASE WHEN r.id = ANY (judged.dropped) THEN 'suppressed' ELSE 'queued' END) AS v(state)
    WHERE d.position = ANY (accepted)
    RETURNING account_id, email_id, recipient, state, reason, next_at
  ), announced AS (
    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    SELECT account_id, email_id, 'suppressed', recipient, jsonb_build_object('reason', reason)
    FROM stored WHERE state = 'suppressed'
  )
  -- What is due later needs no job.
  SELECT jsonb_agg(DISTINCT email_id) INTO job_email_ids FROM stored WHERE state = 'queued' AND next_at <= now();

  IF have_webhooks(ARRAY(SELECT DISTINCT d.account_id FROM unnest(drafts) AS d)) THEN
    PERFORM announce_emails(ARRAY(
      SELECT ROW(d.account_id, d.id, t.type, t.recipients, t.more)::email_event
      FROM unnest(drafts) AS d
      CROSS JOIN LATERAL (
        SELECT 'scheduled' AS type, NULL::text[] AS recipients, jsonb_build_object('scheduled_at', iso_time(d.scheduled_at)) AS more
        WHERE d.scheduled_at IS NOT NULL
        UNION ALL
        SELECT 'suppressed', ARRAY[r.recipient], suppressed_data(d.account_id, r.recipient, r.reserved, unsent_reason(r.reserved))
        FROM unnest(d.recipients) AS r WHERE r.id = ANY (judged.dropped)
      ) t
      WHERE d.position = ANY (accepted)
    ));
  END IF;

  IF job_email_ids IS NOT NULL THEN
    PERFORM graphile_worker.add_job('send_emails', json_build_object('email_ids', job_email_ids), max_attempts => 5);
  END IF;
END
$$;
