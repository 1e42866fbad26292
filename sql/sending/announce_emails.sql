DROP FUNCTION IF EXISTS announce_suppressions(text, suppressions[]);
DROP FUNCTION IF EXISTS suppression_origin(text);
DROP FUNCTION IF EXISTS suppressed_data(uuid, text, boolean, text);
DROP FUNCTION IF EXISTS suppressed_data(uuid, text, text);
DROP FUNCTION IF EXISTS undetermined_bounce(text);

-- Events of sent emails in the form of webhooks.

CREATE FUNCTION announce_emails(given email_event[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
BEGIN
  PERFORM announce(ARRAY(
    SELECT ROW(g.account_id, 'email.' || g.type, jsonb_strip_nulls(jsonb_build_object(
      'email_id', e.id, 'message_id', '<' || e.message_id || '>', 'created_at', iso_time(e.created_at), 'from', e.sender,
      'to', coalesce(g.recipients, e."to"), 'subject', e.subject, 'template_id', e.template_id,
      'campaign_id', e.campaign_id, 'broadcast_id', e.campaign_id,
      'headers', nullif(c.headers, '{}'),
      'tags', (SELECT coalesce(jsonb_object_agg(t ->> 'name', t ->> 'value'), '{}') FROM jsonb_array_elements(e.tags) AS t)
    )) || coalesce(g.more, '{}'))::announcement
    FROM unnest(given) WITH ORDINALITY AS g(account_id, email_id, type, recipients, more, position)
    CROSS JOIN email_of(g.account_id, g.email_id) AS e
    JOIN email_contents c ON c.account_id = g.account_id AND c.email_id = g.email_id
    WHERE is_heard(g.account_id, 'email.' || g.type)
    ORDER BY g.position
  ));
END
$$;

-- Must be called after the status of the emails was refreshed: an email whose first 250 came with these changes is
-- `sent`. A recipient in doubt gets no event until it is settled; a complaint may be the first sign that the email has
-- arrived.
CREATE FUNCTION announce_deliveries(changes delivery_change[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT have_webhooks(ARRAY(SELECT DISTINCT c.account_id FROM unnest(changes) AS c)) THEN
    RETURN;
  END IF;

  PERFORM announce_emails(ARRAY(
    -- `announce_emails` filters these by subscription.
    SELECT ROW(account_id, email_id, type, recipients, more)::email_event FROM (
      SELECT e.account_id, e.id AS email_id, 'sent' AS type, NULL::text[] AS recipients, NULL::jsonb AS more, 1 AS rank
      FROM (
        SELECT c.account_id, c.email_id, min(c.at) AS sent_at
        FROM unnest(changes) AS c WHERE c.state IN ('delivered', 'complained') GROUP BY c.account_id, c.email_id
      ) w
      CROSS JOIN email_of(w.account_id, w.email_id) AS e
      WHERE e.sent_at = w.sent_at
      UNION ALL
      SELECT c.account_id, c.email_id, t.type, ARRAY[c.recipient],
        CASE t.type
          WHEN 'bounced' THEN jsonb_build_object('bounce', coalesce(c.bounce, undetermined_bounce(c.reason)))
          WHEN 'failed' THEN jsonb_build_object('failed', jsonb_build_object('reason', c.reason))
          WHEN 'suppressed' THEN suppressed_data(c.account_id, c.recipient, c.reason)
          WHEN 'delivery_delayed' THEN jsonb_build_object('delay', jsonb_build_object('message', c.reason))
        END, t.rank
      FROM unnest(changes) AS c
      CROSS JOIN LATERAL (VALUES
        (2, CASE
          WHEN c.state IN ('delivered', 'bounced', 'failed', 'suppressed', 'canceled') THEN c.state
          WHEN c.state = 'in_doubt' OR c.state = 'queued' AND c.outcome = 'deferred' THEN 'delivery_delayed'
        END),
        (3, CASE WHEN c.outcome = 'complained' THEN 'complained' END)
      ) AS t(rank, type)
      WHERE t.type IS NOT NULL
    ) told
    ORDER BY email_id, rank, recipients
  ));
END
$$;

-- Returns the bounce for a refusal without details.
CREATE FUNCTION undetermined_bounce(message text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT jsonb_build_object('type', 'Undetermined', 'subType', 'Undetermined', 'message', coalesce(message, ''),
    'diagnosticCode', jsonb_build_array())
$$;

-- Returns why a recipient got nothing: its domain is reserved, it is not subscribed to the topic, it has unsubscribed
-- from everything (flows/delivery/decide_outcome.ts), or the address is on the suppression list. The simulator acts
-- like an address that was added by hand.
CREATE FUNCTION suppressed_data(account uuid, address text, message text) RETURNS jsonb
LANGUAGE sql STABLE AS $$
  SELECT jsonb_build_object('suppressed', CASE message
    WHEN unsent_reason(true, false) THEN
      jsonb_build_object('message', message, 'type', 'ReservedDomain', 'reason', 'reserved')
    WHEN unsent_reason(false, true) THEN
      jsonb_build_object('message', message, 'type', 'NotSubscribedToTopic', 'reason', 'topic')
    WHEN 'The recipient has unsubscribed.' THEN
      jsonb_build_object('message', message, 'type', 'Unsubscribed', 'reason', 'unsubscribed')
    ELSE jsonb_build_object('message', message, 'type', 'OnAccountSuppressionList', 'reason', coalesce((
      SELECT s.reason FROM suppressions s WHERE s.account_id = account AND s.address = lower(suppressed_data.address)
    ), 'manual'))
  END)
$$;

-- Returns the origin of a suppression as the resend package names it: an imported address counts as added by hand.
CREATE FUNCTION suppression_origin(reason text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE reason WHEN 'import' THEN 'manual' ELSE reason END
$$;

-- event: added | removed. rows: their current or former state; may be null.
CREATE FUNCTION announce_suppressions(event text, rows suppressions[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM announce(ARRAY(
    SELECT ROW(s.account_id, 'suppression.' || event, jsonb_build_object('object', 'suppression', 'id', s.id,
      'email', s.address, 'reason', s.reason, 'origin', suppression_origin(s.reason), 'cause', s.cause,
      'source_email_id', s.source_email_id, 'source_id', s.source_email_id, 'scope', 'account',
      'expires_at', iso_time(s.expires_at), 'created_at', iso_time(s.created_at)))::announcement
    FROM unnest(rows) AS s
    WHERE is_heard(s.account_id, 'suppression.' || event)
  ));
END
$$;
