DROP FUNCTION IF EXISTS tell_hits(hit_group[], hit_group[]);
DROP FUNCTION IF EXISTS added_groups(hit_group[], hit_group[]);

-- Reports the first hit of each class on a delivery, and on each of its links: to the events of the email, its
-- last_event (which machines do not change), automations and webhooks.
CREATE FUNCTION tell_hits(before hit_group[], after hit_group[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  added hit_group[] := added_groups(before, after);
  removed hit_group[] := added_groups(after, before);
BEGIN
  -- These hits turned out to be a machine's.
  DELETE FROM email_events v USING unnest(removed) AS g, deliveries d
  WHERE d.account_id = g.account_id AND d.id = g.delivery_id
    AND v.account_id = g.account_id AND v.email_id = g.email_id AND v.recipient = d.recipient AND v.type = event_of_hit(g.type)
    AND v.data ->> 'class' = g.class AND (v.data ->> 'link_index')::smallint IS NOT DISTINCT FROM g.link;

  INSERT INTO email_events (account_id, email_id, type, recipient, data, created_at)
  SELECT g.account_id, g.email_id, event_of_hit(g.type), d.recipient,
    jsonb_strip_nulls(jsonb_build_object('class', t.class, 'rule', t.rule, 'link', t.url, 'link_index', t.link)), t.created_at
  FROM unnest(added) AS g
  JOIN tracking_hits t ON t.account_id = g.account_id AND t.delivery_id = g.delivery_id AND t.id = g.first_id
  JOIN deliveries d ON d.account_id = g.account_id AND d.id = g.delivery_id
  ORDER BY t.created_at, t.id;

  UPDATE emails e SET last_event = coalesce(l.last_event, e.status), updated_at = now()
  FROM (
    SELECT DISTINCT g.account_id, g.email_id FROM unnest(added || removed) AS g WHERE is_by_person(g.class)
  ) w
  LEFT JOIN LATERAL (
    SELECT CASE v.type WHEN 'in_doubt' THEN 'sent' ELSE v.type END AS last_event
    FROM email_events v WHERE v.account_id = w.account_id AND v.email_id = w.email_id AND NOT is_by_machine(v)
    ORDER BY v.id DESC LIMIT 1
  ) l ON true
  WHERE e.account_id = w.account_id AND e.id = w.email_id;

  PERFORM tell_opens_and_clicks(before, after);
  IF NOT have_webhooks(ARRAY(SELECT DISTINCT g.account_id FROM unnest(added) AS g)) THEN
    RETURN;
  END IF;
  PERFORM announce_emails(ARRAY(
    SELECT ROW(g.account_id, g.email_id, event_of_hit(g.type), ARRAY[d.recipient], jsonb_build_object(g.type,
      jsonb_strip_nulls(jsonb_build_object('ipAddress', host(t.ip), 'link', t.url, 'timestamp', iso_time(t.created_at),
        'userAgent', t.user_agent, 'class', t.class))))::email_event
    FROM unnest(added) AS g
    JOIN tracking_hits t ON t.account_id = g.account_id AND t.delivery_id = g.delivery_id AND t.id = g.first_id
    JOIN deliveries d ON d.account_id = g.account_id AND d.id = g.delivery_id
    ORDER BY t.created_at, t.id
  ));
END
$$;

-- Returns groups that did not exist before.
CREATE FUNCTION added_groups(before hit_group[], after hit_group[]) RETURNS hit_group[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(g.added) FROM (
    SELECT (array_agg(x.hits ORDER BY (x.hits).quarter))[1] AS added
    FROM (
      SELECT true AS is_new, a AS hits FROM unnest(after) AS a UNION ALL SELECT false, b FROM unnest(before) AS b
    ) x
    GROUP BY (x.hits).account_id, (x.hits).delivery_id, (x.hits).type, (x.hits).class, (x.hits).link
    HAVING bool_and(x.is_new)
  ) g
$$;

DROP FUNCTION IF EXISTS event_of_hit(text);
CREATE FUNCTION event_of_hit(type text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE type WHEN 'open' THEN 'opened' ELSE 'clicked' END
$$;

DROP FUNCTION IF EXISTS is_by_machine(email_events);

-- Returns true for events of hits that are not known to be a person's.
CREATE FUNCTION is_by_machine(event email_events) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT event.type IN ('opened', 'clicked') AND NOT is_by_person(event.data ->> 'class')
$$;
