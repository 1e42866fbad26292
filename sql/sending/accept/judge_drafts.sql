-- Judges emails before they are stored, by what depends on time or rows: the schedule, the sender's domain,
-- suppressions, topics, pauses, quotas. limited: the accounts whose usage is locked. Drafts whose key is bound are not
-- judged and take no quota. Callers set the plans of the statements (accept_emails.sql says why).
CREATE FUNCTION judge_drafts(drafts draft[], limited uuid[], bound integer[]) RETURNS judgement
LANGUAGE plpgsql AS $$
DECLARE
  -- Lists are ordered by id, and searches use the time in ids: an id with a wrong time could be missed forever.
  earliest constant uuid := first_id(now() - interval '1 minute');
  latest constant uuid := first_id(now() + interval '1 minute');
  judged judgement;
  switches platform;
  decided jsonb;
BEGIN
  SELECT * INTO switches FROM platform;
  SELECT array_agg(r.id) INTO judged.dropped
  FROM unnest(drafts) AS d
  CROSS JOIN unnest(d.recipients) AS r
  LEFT JOIN suppressions s ON s.account_id = d.account_id AND s.address = lower(r.recipient)
    AND (s.expires_at IS NULL OR s.expires_at > now()) AND NOT r.simulated
  WHERE r.reserved OR s.id IS NOT NULL;
  judged.dropped := coalesce(judged.dropped, '{}');
  IF EXISTS (SELECT FROM unnest(drafts) AS d WHERE d.topic_id IS NOT NULL) THEN
    judged.unsubscribed := ARRAY(
      SELECT r.id
      FROM unnest(drafts) AS d
      JOIN domains o ON o.account_id = d.account_id AND o.name = d.domain
      CROSS JOIN unnest(d.recipients) AS r
      CROSS JOIN LATERAL topic_subscription(d.account_id, o.id, lower(r.recipient), d.topic_id) AS s
      WHERE d.topic_id IS NOT NULL AND NOT r.simulated AND r.id <> ALL (judged.dropped) AND NOT s.is_subscribed
    );
    judged.dropped := judged.dropped || judged.unsubscribed;
  END IF;

  -- Locks their domains against deletion and handover to another account until these emails are stored
  -- (sql/domains/name_owners.ts).
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
      WHEN d.topic_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM topics t WHERE t.account_id = d.account_id AND t.id = d.topic_id
          AND (t.domain_id IS NULL OR t.domain_id = o.id)
      ) THEN 'topic_unknown'
      WHEN NOT EXISTS (
        SELECT FROM unnest(d.recipients) AS r WHERE r.visible_in = 'to' AND r.id <> ALL (judged.dropped)
      ) THEN 'all_suppressed'
      WHEN switches.paused_at IS NOT NULL THEN 'platform_paused'
      WHEN EXISTS (SELECT FROM accounts a WHERE a.id = d.account_id AND a.paused_at IS NOT NULL) THEN 'account_paused'
      WHEN o.paused_at IS NOT NULL THEN 'domain_paused'
      -- A fault that no worker has seen for a minute may be fixed: one email finds out.
      WHEN switches.transport_fault_at > now() - interval '60 seconds' AND coalesce(o.transport, 'relay') = 'relay'
        THEN 'transport_unusable'
      WHEN o.transport_fault_at > now() - interval '60 seconds' THEN 'transport_unusable'
      -- Mail is sent without an Ed25519 signature, but never without an RSA signature.
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
    decided := decisions_by_position(judged.decisions);
    judged.faults := ARRAY(
      SELECT coalesce(judged.faults[d.position + 1], decided -> d.position::text ->> 'refusal')
      FROM unnest(drafts) AS d ORDER BY d.position
    );
  END IF;
  RETURN judged;
END
$$;
