DROP FUNCTION IF EXISTS count_hits(hit_group[], hit_group[]);
DROP FUNCTION IF EXISTS campaign_hits_of(hit_group[]);

-- Updates the figures of campaigns, and of their links, recipients and contacts, from `before` to `after`.
CREATE FUNCTION count_hits(before hit_group[], after hit_group[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  now_is campaign_hits[] := campaign_hits_of(after);
  was campaign_hits[];
BEGIN
  IF now_is IS NULL THEN
    RETURN;
  END IF;
  was := campaign_hits_of(before);

  UPDATE campaign_recipients r SET
    first_opened_at = h.opened_at, first_clicked_at = h.clicked_at, opens = h.opens, clicks = h.clicks,
    machine_opens = h.mpp_opens + h.machine_opens, machine_clicks = h.machine_clicks
  FROM unnest(now_is) AS h
  WHERE r.account_id = h.account_id AND r.campaign_id = h.campaign_id AND r.contact_id = h.contact_id AND r.run = h.run
    -- Ignores an email that was replaced by another.
    AND coalesce(r.email_id, h.email_id) = h.email_id;

  PERFORM count_engagement(was, now_is);
  PERFORM count_link_clicks(before, after);
  PERFORM count_campaigns(ARRAY(
    SELECT ROW(h.account_id, h.campaign_id, h.run, h.variant, f.name, sum(h.sign * f.figure))::campaign_move
    FROM (SELECT -1 AS sign, w.* FROM unnest(was) AS w UNION ALL SELECT 1, n.* FROM unnest(now_is) AS n) h
    CROSS JOIN LATERAL (VALUES
      ('opened', h.opens), ('unique_opened', (h.opens > 0)::integer),
      -- Recipients without any stronger signal.
      ('mpp_opened', (h.opens = 0 AND h.mpp_opens > 0)::integer),
      ('machine_opened', (h.opens = 0 AND h.mpp_opens = 0 AND h.machine_opens > 0)::integer),
      ('clicked', h.clicks), ('unique_clicked', (h.clicks > 0)::integer),
      ('machine_clicked', (h.clicks = 0 AND h.machine_clicks > 0)::integer)
    ) AS f(name, figure)
    GROUP BY h.account_id, h.campaign_id, h.run, h.variant, f.name
  ));
END
$$;

-- Returns the hits per campaign email; null if none of these emails belongs to a campaign.
CREATE FUNCTION campaign_hits_of(groups hit_group[]) RETURNS campaign_hits[] LANGUAGE sql STABLE AS $$
  SELECT array_agg(ROW(e.account_id, e.id, e.campaign_id, e.campaign_run, coalesce(r.variant, 0::smallint), e.contact_id,
    greatest(s.opens, (s.clicks > 0)::integer), s.clicks, s.mpp_opens, s.machine_opens, s.machine_clicks, s.opened_at,
    s.clicked_at, s.last_opened_at, s.last_clicked_at)::campaign_hits)
  FROM (
    SELECT g.account_id, g.email_id,
      coalesce(sum(g.hits) FILTER (WHERE g.type = 'open' AND is_by_person(g.class)), 0)::integer AS opens,
      coalesce(sum(g.hits) FILTER (WHERE g.type = 'click' AND is_by_person(g.class)), 0)::integer AS clicks,
      coalesce(sum(g.hits) FILTER (WHERE g.type = 'open' AND g.class = 'mpp'), 0)::integer AS mpp_opens,
      coalesce(sum(g.hits) FILTER (WHERE g.type = 'open' AND g.class = 'machine'), 0)::integer AS machine_opens,
      coalesce(sum(g.hits) FILTER (WHERE g.type = 'click' AND NOT is_by_person(g.class)), 0)::integer AS machine_clicks,
      min(g.first_at) FILTER (WHERE is_by_person(g.class)) AS opened_at,
      min(g.first_at) FILTER (WHERE g.type = 'click' AND is_by_person(g.class)) AS clicked_at,
      max(g.last_at) FILTER (WHERE is_by_person(g.class)) AS last_opened_at,
      max(g.last_at) FILTER (WHERE g.type = 'click' AND is_by_person(g.class)) AS last_clicked_at
    FROM unnest(groups) AS g GROUP BY g.account_id, g.email_id
  ) s
  JOIN emails e ON e.account_id = s.account_id AND e.id = s.email_id AND e.campaign_id IS NOT NULL
  LEFT JOIN campaign_recipients r ON r.account_id = e.account_id AND r.campaign_id = e.campaign_id
    AND r.contact_id = e.contact_id AND r.run = e.campaign_run
$$;
