DROP FUNCTION IF EXISTS count_engagement(campaign_hits[], campaign_hits[]);
DROP FUNCTION IF EXISTS count_link_clicks(hit_group[], hit_group[]);

-- Updates the engagement of contacts over all campaigns.
CREATE FUNCTION count_engagement(was campaign_hits[], now_is campaign_hits[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  WITH changes AS MATERIALIZED (
    SELECT h.account_id, h.contact_id, max(h.last_opened_at) FILTER (WHERE h.sign = 1) AS last_opened_at,
      max(h.last_clicked_at) FILTER (WHERE h.sign = 1) AS last_clicked_at,
      sum(h.sign * (h.opens > 0)::integer)::integer AS opened, sum(h.sign * (h.clicks > 0)::integer)::integer AS clicked
    FROM (SELECT -1 AS sign, w.* FROM unnest(was) AS w UNION ALL SELECT 1, n.* FROM unnest(now_is) AS n) h
    WHERE h.opens > 0
    GROUP BY h.account_id, h.contact_id
  )
  INSERT INTO contact_engagement AS e (account_id, contact_id, last_opened_at, last_clicked_at, opened_count, clicked_count)
  SELECT c.account_id, c.contact_id, c.last_opened_at, c.last_clicked_at, c.opened, c.clicked
  FROM changes c
  -- Leaves out contacts that are being deleted.
  CROSS JOIN LATERAL (
    SELECT FROM contacts k WHERE k.account_id = c.account_id AND k.id = c.contact_id FOR KEY SHARE
  ) k
  ORDER BY c.contact_id
  ON CONFLICT (account_id, contact_id) DO UPDATE SET
    opened_count = e.opened_count + excluded.opened_count,
    clicked_count = e.clicked_count + excluded.clicked_count,
    -- If hits turned out to be a machine's, the newest hit on another email counts.
    last_opened_at = CASE WHEN excluded.opened_count < 0 THEN newest_engagement(e.account_id, e.contact_id, false)
      ELSE greatest(e.last_opened_at, excluded.last_opened_at) END,
    last_clicked_at = CASE WHEN excluded.clicked_count < 0 THEN newest_engagement(e.account_id, e.contact_id, true)
      ELSE greatest(e.last_clicked_at, excluded.last_clicked_at) END;
END
$$;

DROP FUNCTION IF EXISTS newest_engagement(uuid, uuid, boolean);

-- Returns the newest first open (or first click) of a contact over all campaigns. One lookup per campaign.
CREATE FUNCTION newest_engagement(account uuid, contact uuid, by_click boolean) RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT max(CASE WHEN by_click THEN r.first_clicked_at ELSE r.first_opened_at END)
  FROM campaigns g
  JOIN campaign_recipients r ON r.account_id = g.account_id AND r.campaign_id = g.id AND r.contact_id = contact
  WHERE g.account_id = account
$$;

-- Updates the clicks on the links of campaigns.
CREATE FUNCTION count_link_clicks(before hit_group[], after hit_group[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  UPDATE campaign_links l SET clicks = l.clicks + m.clicks, unique_clicks = l.unique_clicks + m.unique_clicks
  FROM (
    SELECT k.account_id, k.campaign_id, k.run, k.variant, k.link, s.clicks, s.unique_clicks
    FROM (
      SELECT e.account_id, e.campaign_id, e.campaign_run AS run, coalesce(r.variant, 0::smallint) AS variant, p.link,
        sum(p.sign * p.hits) AS clicks,
        sum(p.sign) AS unique_clicks
      FROM (
        SELECT x.account_id, x.email_id, x.delivery_id, x.link, x.sign, sum(x.hits) AS hits
        FROM (
          SELECT -1 AS sign, b.* FROM unnest(before) AS b UNION ALL SELECT 1, a.* FROM unnest(after) AS a
        ) x
        WHERE x.type = 'click' AND is_by_person(x.class)
        GROUP BY x.account_id, x.email_id, x.delivery_id, x.link, x.sign
      ) p
      JOIN emails e ON e.account_id = p.account_id AND e.id = p.email_id
      LEFT JOIN campaign_recipients r ON r.account_id = e.account_id AND r.campaign_id = e.campaign_id
        AND r.contact_id = e.contact_id AND r.run = e.campaign_run
      GROUP BY e.account_id, e.campaign_id, e.campaign_run, coalesce(r.variant, 0::smallint), p.link
    ) s
    -- Locked in order, since hits of a campaign share a few links.
    JOIN campaign_links k ON k.account_id = s.account_id AND k.campaign_id = s.campaign_id AND k.run = s.run
      AND k.variant = s.variant AND k.link = s.link
    WHERE s.clicks <> 0 OR s.unique_clicks <> 0
    ORDER BY k.campaign_id, k.run, k.variant, k.link FOR NO KEY UPDATE OF k
  ) m
  WHERE l.account_id = m.account_id AND l.campaign_id = m.campaign_id AND l.run = m.run AND l.variant = m.variant
    AND l.link = m.link;
END
$$;
