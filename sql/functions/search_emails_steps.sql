-- Steps of search_emails, whose type email_search takes all of them along when it is dropped.

-- Those with an id above the one and up to the other, read one after the other, a part at a time.
CREATE FUNCTION scan_emails(
  given_account_id uuid, f email_search, lowest uuid, highest uuid, max_count integer, is_ascending boolean
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  part constant integer := 250;
  found_ids uuid[] := '{}';
  part_ids uuid[];
  edge uuid := lowest;
BEGIN
  lowest := greatest(lowest, f.above);
  highest := least(highest, f.upto);
  LOOP
    IF is_ascending THEN
      SELECT array_agg(p.id) FILTER (WHERE p.is_found), (array_agg(p.id))[part] INTO part_ids, edge
      FROM (
        SELECT e.id, is_found(e, f) FROM emails e
        WHERE e.account_id = given_account_id AND e.id > lowest AND e.id <= highest
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

-- Those of these emails that are found, in the order of the list.
CREATE FUNCTION check_emails(given_account_id uuid, f email_search, ids uuid[], is_ascending boolean) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
  RETURN ARRAY(
    SELECT e.id FROM unnest(ids) AS k(id)
    CROSS JOIN LATERAL (
      SELECT e.id, is_found(e, f) FROM emails e WHERE e.account_id = given_account_id AND e.id = k.id OFFSET 0
    ) e
    WHERE e.is_found AND e.id > f.above AND e.id <= f.upto
    ORDER BY CASE WHEN is_ascending THEN e.id END, CASE WHEN NOT is_ascending THEN e.id END DESC
  );
END
$$;

-- Of the nearest emails of these statuses and events: those found, and how many there are.
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
        SELECT n.id FROM unnest(f.last_events) AS s(event) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.last_event = s.event AND e.last_event IN ('opened', 'clicked')
            AND e.id > f.above AND e.id <= f.upto
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
        SELECT n.id FROM unnest(f.last_events) AS s(event) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.last_event = s.event AND e.last_event IN ('opened', 'clicked')
            AND e.id > f.above AND e.id <= f.upto
          ORDER BY e.id DESC LIMIT depth
        ) n
      ) k ORDER BY k.id DESC LIMIT depth
    );
  END IF;
  size := cardinality(ids);
  found_ids := check_emails(given_account_id, f, ids, is_ascending);
END
$$;

-- The nearest blocks, whatever they hold, by the upper ends of their ids.
CREATE FUNCTION list_nearest_blocks(given_account_id uuid, f email_search, max_count integer, is_ascending boolean)
RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  highest uuid;
BEGIN
  IF is_ascending THEN
    RETURN ARRAY(
      SELECT upto FROM email_blocks b WHERE b.account_id = given_account_id AND b.upto > f.above AND b.above < f.upto
      ORDER BY upto LIMIT max_count
    );
  END IF;
  -- That with f.upto in it may end above it.
  SELECT b.upto INTO highest FROM email_blocks b
  WHERE b.account_id = given_account_id AND b.upto >= f.upto ORDER BY b.upto LIMIT 1;
  RETURN ARRAY(
    SELECT b.upto FROM email_blocks b
    WHERE b.account_id = given_account_id AND b.upto > f.above AND b.upto <= coalesce(highest, f.upto)
    ORDER BY b.upto DESC LIMIT max_count
  );
END
$$;

-- Blocks that have the terms, by the upper ends of their ids, in the order of the list.
CREATE FUNCTION list_indexed_blocks(given_account_id uuid, f email_search, is_ascending boolean) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = on
AS $$
DECLARE
  ends uuid[];
BEGIN
  SELECT array_agg(
    c.upto ORDER BY CASE WHEN is_ascending THEN c.upto END, CASE WHEN NOT is_ascending THEN c.upto END DESC
  ) INTO ends
  FROM (
    -- OFFSET 0 leaves no other index to choose than that of the terms.
    SELECT c.upto FROM (SELECT b.* FROM email_blocks b WHERE b.terms @> f.terms OFFSET 0) c
    WHERE c.account_id = given_account_id AND c.upto > f.above AND c.above < f.upto
    UNION
    SELECT b.upto FROM email_blocks b
    WHERE b.account_id = given_account_id AND b.text IS NULL AND b.upto > f.above AND b.above < f.upto
    UNION
    SELECT b.upto FROM email_blocks b
    WHERE b.account_id = given_account_id AND b.upto > f.above AND b.above < f.upto
      AND b.upto >= f.first_id AND b.above < f.last_id
  ) c;
  RETURN coalesce(ends, '{}');
END
$$;

-- Those found in these blocks, given by the upper ends of their ids, a few more than max_count perhaps.
CREATE FUNCTION search_blocks(
  given_account_id uuid, f email_search, ends uuid[], max_count integer, is_ascending boolean
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
DECLARE
  found_ids uuid[] := '{}';
  block_end uuid;
  block record;
BEGIN
  FOREACH block_end IN ARRAY ends LOOP
    EXIT WHEN cardinality(found_ids) >= max_count;
    SELECT b.above, b.text IS NULL OR coalesce(b.upto >= f.first_id AND b.above < f.last_id, false) AS is_read, ARRAY(
      SELECT left(entry, 36)::uuid FROM string_to_table(b.text, E'\n\x1e') AS entry
      WHERE (f.q IS NULL OR strpos(entry, f.q) > 0)
        AND (f.marks[1] IS NULL OR strpos(entry, f.marks[1]) > 0) AND (f.marks[2] IS NULL OR strpos(entry, f.marks[2]) > 0)
        AND (f.marks[3] IS NULL OR strpos(entry, f.marks[3]) > 0) AND (f.marks[4] IS NULL OR strpos(entry, f.marks[4]) > 0)
    ) AS ids INTO block
    -- The concatenation unpacks the text once for all that read it.
    FROM (
      SELECT above, upto, text || '' AS text FROM email_blocks
      WHERE account_id = given_account_id AND upto = block_end OFFSET 0
    ) b
    WHERE f.q IS NULL OR strpos(b.text, f.q) > 0 OR b.text IS NULL OR b.upto >= f.first_id AND b.above < f.last_id;
    IF block.is_read THEN
      found_ids := found_ids
        || scan_emails(given_account_id, f, block.above, block_end, max_count - cardinality(found_ids), is_ascending);
    ELSIF block.ids <> '{}' THEN
      found_ids := found_ids || check_emails(given_account_id, f, block.ids, is_ascending);
    END IF;
  END LOOP;
  RETURN found_ids;
END
$$;
