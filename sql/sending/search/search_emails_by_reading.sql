-- Steps of search_emails that read the emails themselves. Dropping its type email_search drops them.

-- Returns found emails with ids above `lowest` and up to `highest`, read in parts.
CREATE FUNCTION scan_emails(
  given_account_id uuid, f email_search, lowest uuid, highest uuid, max_count integer, is_ascending boolean
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  part constant integer := 250;
  found_ids uuid[] := '{}';
  part_ids uuid[];
  edge uuid;
BEGIN
  lowest := greatest(lowest, f.above);
  highest := least(highest, f.upto);
  edge := lowest;
  LOOP
    -- Step over the emails of campaigns and automations by an index: there may be millions before the next other one.
    IF f.is_transactional AND is_ascending THEN
      SELECT e.id INTO lowest FROM emails e
      WHERE e.account_id = given_account_id AND e.id >= lowest AND e.id <= highest AND e.id <> edge
        AND e.campaign_id IS NULL AND e.automation_id IS NULL
      ORDER BY e.id LIMIT 1;
    ELSIF f.is_transactional THEN
      SELECT e.id INTO highest FROM emails e
      WHERE e.account_id = given_account_id AND e.id > lowest AND e.id <= highest AND e.id <> edge
        AND e.campaign_id IS NULL AND e.automation_id IS NULL
      ORDER BY e.id DESC LIMIT 1;
    END IF;
    EXIT WHEN lowest IS NULL OR highest IS NULL;
    IF is_ascending THEN
      SELECT array_agg(p.id) FILTER (WHERE p.is_found), (array_agg(p.id))[part] INTO part_ids, edge
      FROM (
        SELECT e.id, is_found(e, f) FROM emails e
        WHERE e.account_id = given_account_id AND e.id >= lowest AND e.id <= highest AND e.id <> edge
        ORDER BY e.id LIMIT part
      ) p;
      lowest := edge;
    ELSE
      SELECT array_agg(p.id) FILTER (WHERE p.is_found), (array_agg(p.id))[part] INTO part_ids, edge
      FROM (
        SELECT e.id, is_found(e, f) FROM emails e
        WHERE e.account_id = given_account_id AND e.id > lowest AND e.id <= highest AND e.id <> edge
        ORDER BY e.id DESC LIMIT part
      ) p;
      highest := edge;
    END IF;
    found_ids := found_ids || part_ids;
    EXIT WHEN edge IS NULL OR cardinality(found_ids) >= max_count;
  END LOOP;
  RETURN found_ids[:max_count];
END
$$;

-- Returns the found ones among the nearest emails of these statuses and events, at most `depth`, and how many of these
-- there are.
CREATE FUNCTION scan_statuses(
  given_account_id uuid, f email_search, depth integer, is_ascending boolean, OUT found_ids uuid[], OUT size integer
)
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  ids uuid[];
BEGIN
  IF is_ascending THEN
    ids := ARRAY(
      SELECT k.id FROM (
        SELECT n.id FROM unnest(f.statuses) AS s(status) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.status = s.status AND e.id > f.above AND e.id <= f.upto
          ORDER BY e.id LIMIT depth
        ) n
        UNION
        SELECT n.id FROM unnest(f.last_events) AS v(event) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.last_event = v.event AND e.last_event IN ('opened', 'clicked')
            AND (f.folder IS NULL OR e.status = ANY (f.folder)) AND e.id > f.above AND e.id <= f.upto
          ORDER BY e.id LIMIT depth
        ) n
      ) k ORDER BY k.id LIMIT depth
    );
  ELSE
    ids := ARRAY(
      SELECT k.id FROM (
        SELECT n.id FROM unnest(f.statuses) AS s(status) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.status = s.status AND e.id > f.above AND e.id <= f.upto
          ORDER BY e.id DESC LIMIT depth
        ) n
        UNION
        SELECT n.id FROM unnest(f.last_events) AS v(event) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.last_event = v.event AND e.last_event IN ('opened', 'clicked')
            AND (f.folder IS NULL OR e.status = ANY (f.folder)) AND e.id > f.above AND e.id <= f.upto
          ORDER BY e.id DESC LIMIT depth
        ) n
      ) k ORDER BY k.id DESC LIMIT depth
    );
  END IF;
  size := cardinality(ids);
  found_ids := ARRAY(
    SELECT e.id FROM unnest(ids) AS k(id)
    CROSS JOIN LATERAL (
      SELECT e.id, is_found(e, f) FROM emails e WHERE e.account_id = given_account_id AND e.id = k.id OFFSET 0
    ) e
    WHERE e.is_found
  );
END
$$;
