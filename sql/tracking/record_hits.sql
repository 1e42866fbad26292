DROP FUNCTION IF EXISTS record_hits(json);
DROP FUNCTION IF EXISTS is_by_person(text);

-- Records hits with all their effects in one commit: classes, figures, events and webhooks. A hit that is recorded
-- already changes nothing, since everything is computed from the hits before and after.
--
-- given: a list of tracking_hit. Hits of deleted emails, through a link of another email's content, or by a contact who has
-- asked since not to be tracked, are left out.
CREATE FUNCTION record_hits(given json) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  hits tracking_hit[];
  before hit_group[];
  after hit_group[];
BEGIN
  -- Emails are locked first and in order, as when their deliveries are settled. So hits of an email take turns.
  PERFORM 1
  FROM (
    SELECT DISTINCT d.account_id, d.email_id FROM json_populate_recordset(NULL::tracking_hit, given) AS h
    JOIN deliveries d ON d.account_id = h.account_id AND d.id = h.delivery_id
  ) w
  JOIN emails e ON e.account_id = w.account_id AND e.id = w.email_id
  ORDER BY e.id FOR NO KEY UPDATE OF e;

  hits := look_up_hits(given);
  IF hits IS NULL THEN
    RETURN;
  END IF;

  before := group_hits(hits);
  INSERT INTO tracking_hits (account_id, delivery_id, id, email_id, type, class, rule, link, url, ip, user_agent, created_at)
  SELECT h.account_id, h.delivery_id, h.id, h.email_id, h.type, h.class, h.rule, h.link, h.url, h.ip, h.user_agent, h.created_at
  FROM unnest(hits) AS h
  ON CONFLICT DO NOTHING;
  PERFORM find_bursts(hits);
  PERFORM find_machine_opens(hits);
  after := group_hits(hits);

  PERFORM count_hits(before, after);
  PERFORM count_metrics(metrics_between(before, after));
  PERFORM tell_hits(before, after);
END
$$;

-- Returns true for hits by a person. A proxy fetches for a person who opens the email at that moment; for Apple's (mpp)
-- this is not known.
CREATE FUNCTION is_by_person(class text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT class IN ('human', 'proxy')
$$;

DROP FUNCTION IF EXISTS delivery_time(deliveries);

-- Returns when the receiver accepted the mail, or may have; null if it did not or the events were deleted.
CREATE FUNCTION delivery_time(d deliveries) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT min(v.created_at) FROM email_events v
  WHERE v.account_id = d.account_id AND v.email_id = d.email_id AND v.recipient = d.recipient AND v.type IN ('delivered', 'in_doubt')
$$;

DROP FUNCTION IF EXISTS look_up_hits(json);

-- Returns the valid hits with their emails. A click is a machine's if it comes before the receiver has accepted the mail
-- (filters may follow links of mail that they then refuse or put off) or soon after that (early_click_time). So is a hit within
-- 10 minutes after it from a network that is probably a mail filter's; this rule comes first, since judge_early_clicks
-- may take back the other.
CREATE FUNCTION look_up_hits(given json) RETURNS tracking_hit[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(h.account_id, h.delivery_id, h.id, d.email_id, h.type, CASE WHEN x.rule IS NULL THEN h.class ELSE 'machine' END,
    coalesce(x.rule, h.rule), h.source_id, h.link, h.url, h.ip, h.user_agent, h.created_at, h.suspect)::tracking_hit)
  FROM json_populate_recordset(NULL::tracking_hit, given) AS h
  JOIN deliveries d ON d.account_id = h.account_id AND d.id = h.delivery_id
  JOIN email_contents c ON c.account_id = d.account_id AND c.email_id = d.email_id
  CROSS JOIN LATERAL (
    SELECT CASE WHEN h.class <> 'machine' AND h.rule <> 'simulator' AND (h.type = 'click' OR h.suspect IS NOT NULL) THEN coalesce(delivery_time(d), CASE WHEN d.state NOT IN ('delivered', 'in_doubt') THEN 'infinity'::timestamptz END) END AS delivered_at OFFSET 0
  ) s
  CROSS JOIN LATERAL (
    SELECT CASE WHEN h.suspect IS NOT NULL AND h.created_at - interval '10 minutes' < s.delivered_at THEN h.suspect
      WHEN h.type = 'click' AND h.created_at - early_click_time() < s.delivered_at THEN 'early' END AS rule
  ) x
  WHERE (h.type = 'open' OR h.source_id IN (c.content_id, d.email_id)) AND NOT EXISTS (
    SELECT FROM emails e
    JOIN contacts p ON p.account_id = e.account_id AND p.domain_id = e.domain_id AND p.email = lower(d.recipient)
    WHERE e.account_id = d.account_id AND e.id = d.email_id AND p.do_not_track
  ) AND NOT EXISTS (
    SELECT FROM emails e
    CROSS JOIN LATERAL ( -- by key, as in upsert_contacts.sql
      SELECT FROM contact_optouts p WHERE p.account_id = e.account_id AND p.domain_id = e.domain_id
        AND p.email_hash = sha256(convert_to(lower(d.recipient), 'UTF8')) AND p.topic_id = being_tracked() OFFSET 0
    ) p
    WHERE e.account_id = d.account_id AND e.id = d.email_id
  )
$$;

DROP FUNCTION IF EXISTS group_hits(tracking_hit[]);

-- Returns all recorded hits of the deliveries of these hits, grouped.
CREATE FUNCTION group_hits(given tracking_hit[]) RETURNS hit_group[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(g.*)::hit_group) FROM (
    SELECT t.account_id, t.email_id, t.delivery_id, t.type, t.link, t.class, quarter_of(t.created_at), count(*)::integer,
      (array_agg(t.id ORDER BY t.created_at, t.id))[1], min(t.created_at), max(t.created_at)
    FROM (SELECT DISTINCT account_id, delivery_id FROM unnest(given)) w
    -- By key, whatever the planner assumes about the table.
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_hits h WHERE h.account_id = w.account_id AND h.delivery_id = w.delivery_id OFFSET 0
    ) t
    GROUP BY t.account_id, t.email_id, t.delivery_id, t.type, t.link, t.class, quarter_of(t.created_at)
  ) g
$$;
