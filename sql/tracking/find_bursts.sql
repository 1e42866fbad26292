DROP FUNCTION IF EXISTS find_bursts(tracking_hit[]);
DROP FUNCTION IF EXISTS count_links(uuid, uuid);

-- Classes clicks as a machine's that follow each other as no person clicks: 3 links of an email within 10 seconds, or both of
-- two; or at least 3 that are half of its links within 60 seconds. All of a burst are classed, those that were recorded
-- before included. A click outside of it is a person's again.
CREATE FUNCTION find_bursts(given tracking_hit[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  UPDATE tracking_hits t SET class = 'machine', rule = 'burst'
  FROM (
    WITH near AS MATERIALIZED (
      SELECT w.account_id, w.delivery_id, t.email_id, t.link, t.created_at
      FROM (
        SELECT g.account_id, g.delivery_id, min(g.created_at) - interval '60 seconds' AS since,
          max(g.created_at) + interval '60 seconds' AS until
        FROM unnest(given) AS g WHERE g.type = 'click' GROUP BY g.account_id, g.delivery_id
      ) w
      JOIN tracking_hits t ON t.account_id = w.account_id AND t.delivery_id = w.delivery_id
        AND t.type = 'click' AND t.rule <> 'simulator' AND t.created_at BETWEEN w.since AND w.until
    ), several AS MATERIALIZED (
      SELECT account_id, delivery_id, count_links(account_id, email_id) AS links
      FROM near GROUP BY account_id, delivery_id, email_id HAVING count(DISTINCT link) > 1
    )
    SELECT n.account_id, n.delivery_id, n.created_at AS since,
      n.created_at + CASE WHEN c.quick >= least(3, s.links) THEN interval '10 seconds' ELSE interval '60 seconds' END AS until
    FROM several s
    JOIN near n ON n.account_id = s.account_id AND n.delivery_id = s.delivery_id
    CROSS JOIN LATERAL (
      SELECT count(DISTINCT m.link) AS slow,
        count(DISTINCT m.link) FILTER (WHERE m.created_at <= n.created_at + interval '10 seconds') AS quick
      FROM near m
      WHERE m.account_id = n.account_id AND m.delivery_id = n.delivery_id
        AND m.created_at BETWEEN n.created_at AND n.created_at + interval '60 seconds'
    ) c
    WHERE c.quick >= least(3, s.links) OR c.slow >= 3 AND c.slow * 2 >= s.links
  ) b
  WHERE t.account_id = b.account_id AND t.delivery_id = b.delivery_id AND t.type = 'click' AND t.class <> 'machine'
    AND t.created_at BETWEEN b.since AND b.until;
END
$$;

-- How many links of an email may be tracked: more or less, as its html is not parsed. At least 2.
CREATE FUNCTION count_links(account uuid, email uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT greatest(2, regexp_count(coalesce(c.html, s.html), '<a(rea)?\s[^>]*href\s*=\s*["'']?\s*https?:', 1, 'i'))
  FROM email_contents c LEFT JOIN contents s ON s.account_id = c.account_id AND s.id = c.content_id
  WHERE c.account_id = account AND c.email_id = email
$$;
