DROP FUNCTION IF EXISTS unsent_reason(boolean);
DROP FUNCTION IF EXISTS unsent_reason(boolean, boolean);

-- Returns why a recipient gets nothing. The sending worker uses the same reasons (flows/delivery/decide_outcome.ts).
CREATE FUNCTION unsent_reason(is_reserved boolean, is_unsubscribed boolean) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN is_reserved THEN 'The domain is reserved for documentation and tests.'
    WHEN is_unsubscribed THEN 'The recipient is not subscribed to the topic.'
    ELSE 'The address is on the suppression list.'
  END
$$;

DROP FUNCTION IF EXISTS tracked_renderer();
DROP FUNCTION IF EXISTS tracking_of(draft[], judgement);

-- TRACKED_RENDERER of lib/contents/compile_content.ts.
CREATE FUNCTION tracked_renderer() RETURNS smallint LANGUAGE sql IMMUTABLE AS 'SELECT 3::smallint';

-- Returns email_contents.tracking by position of the draft, for drafts with tracking; null: none. It is decided once,
-- by the draft, else by its domain. Mail with a contact who must not be tracked is not tracked for anybody. Only html
-- can be tracked; Postgres compares it with '' by length, without reading it.
CREATE FUNCTION tracking_of(drafts draft[], judged judgement) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT jsonb_object_agg(d.position, t.bits) FILTER (WHERE t.bits > 0 AND (d.html <> '' OR EXISTS (
      SELECT FROM contents c WHERE c.account_id = d.account_id AND c.id = d.content_id AND c.html <> ''
    )) AND NOT EXISTS (
      SELECT FROM unnest(d.recipients) AS r
      JOIN contacts p ON p.account_id = o.account_id AND p.domain_id = o.id AND p.email = lower(r.recipient)
      WHERE p.do_not_track
    ) AND NOT EXISTS (
      -- Opt-outs of deleted contacts. OFFSET 0: by the key of each (upsert_contacts.sql says why).
      SELECT FROM unnest(d.recipients) AS r
      CROSS JOIN LATERAL (
        SELECT FROM contact_optouts p WHERE p.account_id = o.account_id AND p.domain_id = o.id
          AND p.email_hash = sha256(convert_to(lower(r.recipient), 'UTF8')) AND p.topic_id = being_tracked() OFFSET 0
      ) p
    ))
    FROM unnest(drafts) AS d
    LEFT JOIN domains o ON o.account_id = d.account_id AND o.id = judged.domain_ids[d.position + 1]
    CROSS JOIN LATERAL (
      SELECT coalesce(d.track_opens, o.open_tracking, false)::integer
        + 2 * coalesce(d.track_clicks, o.click_tracking, false)::integer AS bits
    ) t
  );
END
$$;

-- Stores accepted drafts as emails created at that moment, with one job for all that are due. Callers set the plans of the
-- statements (accept_emails.sql says why).
CREATE FUNCTION store_drafts(drafts draft[], judged judgement, made_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  tracking constant jsonb := tracking_of(drafts, judged);
  decided constant jsonb := decisions_by_position(judged.decisions);
  job_email_ids jsonb;
BEGIN
  INSERT INTO emails (account_id, id, domain_id, message_id, sender, "to", cc, bcc, reply_to, subject, tags,
    template_id, topic_id, campaign_id, campaign_run, automation_id, contact_id, status, last_event, scheduled_at, created_at, quota_debit,
    credit_debit)
  SELECT d.account_id, d.id, judged.domain_ids[d.position + 1], d.message_id, d.sender, d."to", d.cc, d.bcc, d.reply_to,
    d.subject, d.tags, d.template_id, d.topic_id, d.campaign_id, d.campaign_run, d.automation_id, d.contact_id, v.status, v.status,
    d.scheduled_at, made_at, coalesce((decided -> d.position::text ->> 'quota_debit')::integer, 0),
    coalesce((decided -> d.position::text ->> 'credit_debit')::integer, 0)
  FROM unnest(drafts) AS d
  CROSS JOIN LATERAL (SELECT CASE WHEN d.scheduled_at IS NULL THEN 'queued' ELSE 'scheduled' END) AS v(status);

  PERFORM store_polls(drafts, judged, made_at);
  INSERT INTO email_contents (account_id, email_id, headers, html, text, content_id, variables, rendered_size, renderer,
    tracking, poll_id)
  SELECT d.account_id, d.id, d.headers, d.html, d.text, d.content_id, d.variables, d.rendered_size,
    CASE WHEN tracking ? d.position::text THEN greatest(tracked_renderer(), d.renderer) ELSE d.renderer END,
    (tracking ->> d.position::text)::smallint, d.poll_id
  FROM unnest(drafts) AS d;

  -- Our Message-IDs begin with the id of the email, by which replies find it.
  IF EXISTS (SELECT FROM unnest(drafts) AS d WHERE left(d.message_id, 36) <> d.id::text) THEN
    INSERT INTO kept_message_ids (account_id, message_id, email_id)
    SELECT d.account_id, lower(d.message_id), d.id
    FROM unnest(drafts) AS d
    WHERE left(d.message_id, 36) <> d.id::text;
  END IF;

  IF EXISTS (SELECT FROM unnest(drafts) AS d WHERE d.attachments <> '{}') THEN
    INSERT INTO attachments (account_id, id, email_id, position, filename, content_type, content_disposition, content_id,
      path, blob_id)
    SELECT d.account_id, a.id, d.id, a.position, a.filename, a.content_type, a.content_disposition, a.content_id, a.path,
      a.blob_id
    FROM unnest(drafts) AS d
    CROSS JOIN unnest(d.attachments) WITH ORDINALITY AS a(id, filename, content_type, content_disposition, content_id,
      path, blob_id, position);
  END IF;

  WITH stored AS (
    INSERT INTO deliveries (account_id, id, email_id, recipient, destination, priority, renderer, topic_id, campaign_id,
      automation_id, automation_version, state, reason, next_at)
    SELECT d.account_id, r.id, d.id, r.recipient, r.destination, coalesce(d.priority, 0),
      CASE WHEN tracking ? d.position::text THEN greatest(tracked_renderer(), d.renderer) ELSE d.renderer END, d.topic_id, d.campaign_id,
      d.automation_id, d.automation_version, v.state,
      CASE WHEN v.state = 'suppressed' THEN unsent_reason(r.reserved, r.id = ANY (judged.unsubscribed)) END,
      CASE WHEN v.state = 'queued' THEN coalesce(d.scheduled_at, now()) END
    FROM unnest(drafts) AS d
    CROSS JOIN unnest(d.recipients) AS r
    CROSS JOIN LATERAL (SELECT CASE WHEN r.id = ANY (judged.dropped) THEN 'suppressed' ELSE 'queued' END) AS v(state)
    RETURNING account_id, email_id, recipient, state, reason, next_at
  ), announced AS (
    INSERT INTO email_events (account_id, email_id, type, recipient, data)
    SELECT account_id, email_id, 'suppressed', recipient, jsonb_build_object('reason', reason)
    FROM stored WHERE state = 'suppressed'
  )
  -- Mail that is due later needs no job.
  SELECT jsonb_agg(DISTINCT email_id) INTO job_email_ids FROM stored WHERE state = 'queued' AND next_at <= now();

  IF judged.dropped <> '{}' THEN
    PERFORM count_metrics(ARRAY(
      SELECT ROW(d.account_id, d.id, judged.domain_ids[d.position + 1], d.campaign_id, now(), 'suppressed', 1)::metric_move
      FROM unnest(drafts) AS d CROSS JOIN unnest(d.recipients) AS r
      WHERE r.id = ANY (judged.dropped)
    ));
  END IF;

  IF have_webhooks(ARRAY(SELECT DISTINCT d.account_id FROM unnest(drafts) AS d)) THEN
    PERFORM announce_emails(ARRAY(
      SELECT ROW(d.account_id, d.id, t.type, t.recipients, t.more)::email_event
      FROM unnest(drafts) AS d
      CROSS JOIN LATERAL (
        SELECT 'scheduled' AS type, NULL::text[] AS recipients, jsonb_build_object('scheduled_at', iso_time(d.scheduled_at)) AS more
        WHERE d.scheduled_at IS NOT NULL
        UNION ALL
        SELECT 'suppressed', ARRAY[r.recipient],
          suppressed_data(d.account_id, r.recipient, unsent_reason(r.reserved, r.id = ANY (judged.unsubscribed)))
        FROM unnest(d.recipients) AS r WHERE r.id = ANY (judged.dropped)
      ) t
    ));
  END IF;

  IF job_email_ids IS NOT NULL THEN
    PERFORM graphile_worker.add_job('send_emails', json_build_object('email_ids', job_email_ids), max_attempts => job_attempts());
  END IF;
END
$$;
