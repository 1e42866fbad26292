DROP FUNCTION IF EXISTS find_bursts(tracking_hit[]);
DROP FUNCTION IF EXISTS find_machine_opens(tracking_hit[]);
DROP FUNCTION IF EXISTS count_links(uuid, uuid);

-- Classifies clicks as a machine's if they follow each other faster than a person clicks: 3 links of an email within 10
-- seconds, or both of two; or at least 3 that are half of its links within 60 seconds. All clicks of a burst are
-- classified, including those recorded before. A click outside a burst counts as a person's again.
CREATE FUNCTION find_bursts(given tracking_hit[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
  accounts uuid[];
  deliveries uuid[];
  bursts tstzmultirange[];
BEGIN
  WITH near AS MATERIALIZED (
    -- The first click per moment and link is enough: somebody may follow a link a thousand times.
    SELECT w.account_id, w.delivery_id, t.email_id, t.link, min(t.created_at) AS at
    FROM (
      SELECT g.account_id, g.delivery_id, min(g.created_at) - interval '60 seconds' AS since,
        max(g.created_at) + interval '60 seconds' AS until
      FROM unnest(given) AS g WHERE g.type = 'click'
      GROUP BY g.account_id, g.delivery_id
    ) w
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_hits h WHERE h.account_id = w.account_id AND h.delivery_id = w.delivery_id OFFSET 0
    ) t
    WHERE t.type = 'click' AND t.rule <> 'simulator' AND t.created_at BETWEEN w.since AND w.until
    GROUP BY w.account_id, w.delivery_id, t.email_id, t.link, date_bin('200 ms', t.created_at, 'epoch')
  ), several AS MATERIALIZED (
    SELECT account_id, delivery_id, count_links(account_id, email_id) AS links, array_agg(link) AS clicked, array_agg(at) AS times
    FROM near GROUP BY account_id, delivery_id, email_id HAVING count(DISTINCT link) > 1
  ), pairs AS (
    -- Within each delivery: a join would compare the clicks of all deliveries.
    SELECT s.account_id, s.delivery_id, n.link, n.at, s.links, m.link AS other, m.at - n.at AS later
    FROM several s
    CROSS JOIN LATERAL unnest(s.clicked, s.times) AS n(link, at)
    JOIN LATERAL unnest(s.clicked, s.times) AS m(link, at) ON m.at BETWEEN n.at AND n.at + interval '60 seconds'
  ), counted AS (
    SELECT account_id, delivery_id, at, links, count(DISTINCT other) AS slow,
      count(DISTINCT other) FILTER (WHERE later <= interval '10 seconds') AS quick
    FROM pairs GROUP BY account_id, delivery_id, link, at, links
  ), found AS (
    SELECT account_id, delivery_id, range_agg(tstzrange(at, at + CASE WHEN slow >= 3 AND slow * 2 >= links
      THEN interval '60 seconds' ELSE interval '10 seconds' END, '[]')) AS bursts
    FROM counted WHERE quick >= least(3, links) OR slow >= 3 AND slow * 2 >= links
    GROUP BY account_id, delivery_id
  )
  SELECT array_agg(f.account_id), array_agg(f.delivery_id), array_agg(f.bursts) INTO accounts, deliveries, bursts FROM found f;
  IF accounts IS NULL THEN
    RETURN;
  END IF;

  UPDATE tracking_hits t SET class = 'machine', rule = 'burst'
  FROM unnest(accounts, deliveries, bursts) AS b(account_id, delivery_id, bursts)
  WHERE t.account_id = b.account_id AND t.delivery_id = b.delivery_id AND t.type = 'click' AND t.class <> 'machine'
    AND t.rule <> 'simulator' AND t.created_at <@ b.bursts;
END
$$;

-- Classifies opens as a machine's if their client follows links of the email like a machine within a minute: a scanner
-- fetches the images too, under the name of a browser.
CREATE FUNCTION find_machine_opens(given tracking_hit[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  WITH scanners AS MATERIALIZED (
    SELECT t.account_id, t.delivery_id, t.ip, t.user_agent,
      range_agg(tstzrange(t.created_at - interval '60 seconds', t.created_at + interval '60 seconds', '[]')) AS around
    FROM (SELECT DISTINCT account_id, delivery_id FROM unnest(given)) w
    CROSS JOIN LATERAL (
      SELECT * FROM tracking_hits h WHERE h.account_id = w.account_id AND h.delivery_id = w.delivery_id OFFSET 0
    ) t
    -- Without `prefetch`, which is the browser of a person.
    WHERE t.type = 'click' AND t.class = 'machine' AND t.rule IN ('burst', 'early', 'head', 'isbot')
    GROUP BY t.account_id, t.delivery_id, t.ip, t.user_agent
  )
  UPDATE tracking_hits t SET class = 'machine', rule = 'beside_clicks' FROM scanners s
  WHERE t.account_id = s.account_id AND t.delivery_id = s.delivery_id AND t.type = 'open' AND t.class = 'human'
    AND t.rule <> 'simulator' AND t.ip = s.ip AND t.user_agent = s.user_agent AND t.created_at <@ s.around;
END
$$;

-- Returns the approximate number of trackable links of an email, at least 2; its html is not parsed.
CREATE FUNCTION count_links(account uuid, email uuid) RETURNS integer LANGUAGE sql STABLE AS $$
  SELECT greatest(2, regexp_count(coalesce(c.html, s.html), '<a(rea)?\s[^>]*href\s*=\s*["'']?\s*https?:', 1, 'i'))
  FROM email_contents c LEFT JOIN contents s ON s.account_id = c.account_id AND s.id = c.content_id
  WHERE c.account_id = account AND c.email_id = email
$$;
