DROP FUNCTION IF EXISTS due_campaign_mail(integer, text[], integer);
DROP FUNCTION IF EXISTS due_at_destinations(integer, text[], integer, text, text);

-- Locks due mail of campaigns and marketing automations (priority 10), except mail to busy destinations. Each
-- destination, busy or not, costs one step in the index. Starts at a random destination, so that none is always last.
CREATE FUNCTION due_campaign_mail(max_count integer, busy_destinations text[], newest_renderer integer)
RETURNS SETOF deliveries
LANGUAGE plpgsql AS $$
DECLARE
  start text := chr(97 + floor(random() * 26)::integer);
  found integer;
BEGIN
  RETURN QUERY SELECT * FROM due_at_destinations(max_count, busy_destinations, newest_renderer, start, NULL);
  GET DIAGNOSTICS found = ROW_COUNT;
  IF found < max_count THEN
    RETURN QUERY SELECT * FROM due_at_destinations(max_count - found, busy_destinations, newest_renderer, '', start);
  END IF;
END
$$;

-- Locks due mail from one destination up to another (null: to the last), at most 500 destinations.
CREATE FUNCTION due_at_destinations(max_count integer, busy_destinations text[], newest_renderer integer, since text,
  until text) RETURNS SETOF deliveries
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  RETURN QUERY
  WITH RECURSIVE places AS (
    SELECT (
      SELECT d.destination FROM deliveries d WHERE d.state = 'queued' AND d.priority = 10 AND d.destination >= since
      ORDER BY d.destination LIMIT 1
    ) AS name, 1 AS n
    UNION ALL
    SELECT (
      SELECT d.destination FROM deliveries d WHERE d.state = 'queued' AND d.priority = 10 AND d.destination > p.name
      ORDER BY d.destination LIMIT 1
    ), p.n + 1
    FROM places p WHERE (p.name < until OR until IS NULL AND p.name IS NOT NULL) AND p.n < 500
  )
  SELECT d.* FROM places p
  CROSS JOIN LATERAL (
    SELECT * FROM deliveries d
    WHERE d.state = 'queued' AND d.priority = 10 AND d.destination = p.name AND d.next_at <= now()
      AND coalesce(d.renderer, 0) <= newest_renderer
    ORDER BY d.next_at, d.id LIMIT max_count FOR UPDATE SKIP LOCKED
  ) d
  WHERE p.name <> ALL (busy_destinations) AND (until IS NULL OR p.name < until)
  LIMIT max_count;
END
$$;
