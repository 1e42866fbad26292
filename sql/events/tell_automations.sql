DROP FUNCTION IF EXISTS have_automations(uuid[], text[]), tell_automations(new_event[]);
DROP FUNCTION IF EXISTS tell_contacts(uuid, text, uuid[], uuid, integer);
DROP FUNCTION IF EXISTS tell_deliveries(delivery_change[]);
DROP FUNCTION IF EXISTS tell_opens_and_clicks(hit_group[], hit_group[]);
DROP FUNCTION IF EXISTS tell_reply(uuid, uuid, uuid);
DROP FUNCTION IF EXISTS email_happening(emails, text, jsonb, uuid), contact_of(emails, text);

-- Built-in events, such as email.opened: they start automations and wake runs in the commit that they report.

-- Returns true if an automation of these accounts may use events of these names. For most accounts none does.
CREATE FUNCTION have_automations(accounts uuid[], names text[]) RETURNS boolean LANGUAGE sql STABLE AS $$
  SELECT EXISTS (
    SELECT FROM unnest(accounts) AS a(id) JOIN automation_triggers t ON t.account_id = a.id AND t.event = ANY (names)
  ) OR EXISTS (
    SELECT FROM unnest(accounts) AS a(id) JOIN automation_waits w ON w.account_id = a.id AND w.event = ANY (names)
  )
$$;

-- Stores events that start an automation, or that a run of the contact waits for or may wait for later. Runs beyond the
-- quota are counted, not started. events: in order; their positions are assigned here.
CREATE FUNCTION tell_automations(events new_event[]) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
BEGIN
  PERFORM store_events((
    SELECT array_agg(ROW(e.at, e.account_id, e.domain_id, e.contact_id, e.name, e.payload, e.depth, e.automation_id, NULL,
      NULL)::new_event ORDER BY e.at)
    FROM unnest(events) WITH ORDINALITY
      AS e("position", account_id, domain_id, contact_id, name, payload, depth, automation_id, tail, entered_id, at)
    WHERE EXISTS (
      SELECT FROM automation_triggers t WHERE t.account_id = e.account_id AND t.domain_id = e.domain_id AND t.event = e.name
    ) OR EXISTS (
      SELECT FROM automation_waits w
      CROSS JOIN LATERAL runs_of(e.account_id, e.contact_id) AS r
      WHERE w.account_id = e.account_id AND w.event = e.name AND r.automation_id = w.automation_id AND r.version = w.version
        AND r.status = 'running'
    )
  ), false);
END
$$;

-- (SELECT account): contact_by_address.sql says why.
-- event: contact.created or contact.unsubscribed. automation, run_depth: of the run that caused it; null: no run did.
CREATE FUNCTION tell_contacts(account uuid, event text, contact_ids uuid[], automation uuid, run_depth integer) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(contact_ids, '{}') = '{}' OR NOT have_automations(ARRAY[account], ARRAY[event]) THEN
    RETURN;
  END IF;
  PERFORM tell_automations(ARRAY(
    SELECT ROW(0, account, c.domain_id, c.id, event, jsonb_build_object('contact_id', c.id, 'email', c.email),
      coalesce(run_depth + 1, 0), automation, NULL, NULL)::new_event
    FROM contacts c WHERE c.account_id = (SELECT account) AND c.id = ANY (contact_ids) ORDER BY c.id
  ));
END
$$;

-- Returns an event of an email. Mail of an automation is one level deeper than the run that sent it, which the steps of
-- the run identify.
CREATE FUNCTION email_happening(e emails, event text, more jsonb, contact uuid) RETURNS new_event LANGUAGE sql STABLE AS $$
  SELECT ROW(0, e.account_id, e.domain_id, contact, event, jsonb_strip_nulls(jsonb_build_object('email_id', e.id,
    'contact_id', contact, 'subject', e.subject, 'template_id', e.template_id, 'campaign_id', e.campaign_id,
    'automation_id', e.automation_id)) || more, CASE WHEN e.automation_id IS NULL THEN 0 ELSE 1 + coalesce((
      SELECT r.depth FROM runs_of(e.account_id, contact) AS r WHERE r.automation_id = e.automation_id AND EXISTS (
        SELECT FROM automation_run_steps s
        WHERE s.account_id = r.account_id AND s.run_id = r.id AND s.output ->> 'email_id' = e.id::text OFFSET 0
      ) LIMIT 1
    ), 0) END, e.automation_id, NULL, NULL)::new_event
$$;

-- Returns the contact of the email's domain with this address.
CREATE FUNCTION contact_of(e emails, recipient text) RETURNS SETOF contacts LANGUAGE sql STABLE AS $$
  SELECT * FROM contact_by_address(e.account_id, e.domain_id, lower(recipient))
$$;

-- Reports email.delivered and email.bounced for recipients that are contacts of the sending domain.
CREATE FUNCTION tell_deliveries(changes delivery_change[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT have_automations(ARRAY(SELECT DISTINCT c.account_id FROM unnest(changes) AS c), '{email.delivered,email.bounced}') THEN
    RETURN;
  END IF;
  PERFORM tell_automations(ARRAY(
    SELECT email_happening(e, 'email.' || c.state, jsonb_strip_nulls(jsonb_build_object('email', p.email,
      'bounce', CASE c.state WHEN 'bounced' THEN coalesce(c.bounce, undetermined_bounce(c.reason)) END)), p.id)
    FROM unnest(changes) AS c
    CROSS JOIN LATERAL email_of(c.account_id, c.email_id) AS e
    CROSS JOIN LATERAL contact_of(e, c.recipient) AS p
    WHERE c.state IN ('delivered', 'bounced') ORDER BY c.id
  ));
END
$$;

-- Reports email.opened and email.clicked: the first by a person on a delivery, and on each of its links. A person who
-- clicks without loading images has opened it too.
CREATE FUNCTION tell_opens_and_clicks(before hit_group[], after hit_group[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT have_automations(ARRAY(SELECT DISTINCT g.account_id FROM unnest(after) AS g), '{email.opened,email.clicked}') THEN
    RETURN;
  END IF;
  PERFORM tell_automations(ARRAY(
    SELECT email_happening(e, 'email.' || g.event, jsonb_strip_nulls(jsonb_build_object('email', p.email,
      'link', CASE g.event WHEN 'clicked' THEN t.url END)), p.id)
    FROM (
      SELECT DISTINCT ON (n.account_id, n.delivery_id, v.event, v.of_link) n.*, v.event FROM unnest(after) AS n
      CROSS JOIN LATERAL (VALUES ('opened', NULL), (event_of_hit(n.type), n.link)) AS v(event, of_link)
      WHERE is_by_person(n.class) AND NOT EXISTS (
        SELECT FROM unnest(before) AS b
        WHERE b.account_id = n.account_id AND b.delivery_id = n.delivery_id AND is_by_person(b.class)
          AND (v.event = 'opened' OR b.type = 'click' AND b.link IS NOT DISTINCT FROM n.link)
      )
      ORDER BY n.account_id, n.delivery_id, v.event, v.of_link, n.type DESC, n.first_id
    ) g
    CROSS JOIN LATERAL (
      SELECT t.id, t.created_at, t.url FROM tracking_hits t
      WHERE t.account_id = g.account_id AND t.delivery_id = g.delivery_id AND t.id = g.first_id OFFSET 0
    ) t
    CROSS JOIN LATERAL (SELECT * FROM deliveries d WHERE d.account_id = g.account_id AND d.id = g.delivery_id OFFSET 0) d
    CROSS JOIN LATERAL email_of(g.account_id, g.email_id) AS e
    CROSS JOIN LATERAL contact_of(e, d.recipient) AS p
    ORDER BY t.created_at, t.id, g.event DESC
  ));
END
$$;

-- Reports email.replied for the contact that the email was sent to, or else for the author of the reply.
CREATE FUNCTION tell_reply(account uuid, replied_id uuid, received_id uuid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT have_automations(ARRAY[account], '{email.replied}') THEN
    RETURN;
  END IF;
  PERFORM tell_automations(ARRAY(
    SELECT email_happening(e, 'email.replied', jsonb_strip_nulls(jsonb_build_object('email', p.email,
      'received_email_id', r.id, 'category', r.category)), p.id)
    FROM emails e
    JOIN received_emails r ON r.account_id = e.account_id AND r.id = received_id
    CROSS JOIN LATERAL (
      SELECT c.id, c.email FROM contacts c WHERE c.account_id = e.account_id AND c.id = e.contact_id
      UNION ALL
      SELECT c.id, c.email FROM contact_of(e, r.sender) c WHERE e.contact_id IS NULL
    ) p
    WHERE e.account_id = account AND e.id = replied_id
  ));
END
$$;
