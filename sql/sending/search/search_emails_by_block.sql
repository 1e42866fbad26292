-- Steps of search_emails that use blocks. Dropping its type email_search drops them.

-- Returns the nearest blocks with any content, by the upper ends of their ids.
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
  -- The block with f.upto in it may end above it.
  SELECT b.upto INTO highest FROM email_blocks b
  WHERE b.account_id = given_account_id AND b.upto >= f.upto ORDER BY b.upto LIMIT 1;
  RETURN ARRAY(
    SELECT b.upto FROM email_blocks b
    WHERE b.account_id = given_account_id AND b.upto > f.above AND b.upto <= coalesce(highest, f.upto)
    ORDER BY b.upto DESC LIMIT max_count
  );
END
$$;

-- Returns the blocks that have the terms, by the upper ends of their ids, in the order of the list.
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
    -- OFFSET 0 leaves only the index of the terms to choose.
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

-- Returns the emails found in these blocks, given by the upper ends of their ids. Rows are processed one by one in the
-- order of the list until there are enough; if nothing is found, only the texts of the blocks are read.
CREATE FUNCTION search_blocks(
  given_account_id uuid, f email_search, ends uuid[], max_count integer, is_ascending boolean
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_memoize = off -- it would use a text as a key
AS $$
BEGIN
  RETURN ARRAY(
    SELECT e.id FROM unnest(ends) AS g(upto)
    CROSS JOIN LATERAL (
      SELECT b.above, b.upto, b.ids, b.text,
        b.text IS NULL OR coalesce(b.upto >= f.first_id AND b.above < f.last_id, false) AS is_to_be_read
      FROM email_blocks b WHERE b.account_id = given_account_id AND b.upto = g.upto OFFSET 0
    ) b
    CROSS JOIN LATERAL (
      -- An index has the statuses: to look at each found email would take far longer.
      SELECT CASE WHEN f.statuses IS NOT NULL THEN ARRAY(
        SELECT n.id FROM unnest(f.statuses) AS s(status) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.status = s.status AND e.id > b.above AND e.id <= b.upto OFFSET 0
        ) n
        UNION ALL
        SELECT n.id FROM unnest(f.last_events) AS v(event) CROSS JOIN LATERAL (
          SELECT e.id FROM emails e
          WHERE e.account_id = given_account_id AND e.last_event = v.event AND e.last_event IN ('opened', 'clicked')
            AND (f.folder IS NULL OR e.status = ANY (f.folder)) AND e.id > b.above AND e.id <= b.upto OFFSET 0
        ) n
      ) END AS ids OFFSET 0
    ) s
    CROSS JOIN LATERAL (
      -- The text after a needle up to the end of its email ends with the position of the email; the text between two
      -- needles of the same email ends without one.
      SELECT CASE WHEN NOT b.is_to_be_read AND (s.ids IS NULL OR s.ids <> '{}') THEN ARRAY(
        SELECT ascii(right(found.rest, 1))
        FROM (
          SELECT split_part(piece, U&'\F8FF', 1) AS rest FROM string_to_table(b.text, f.needle) AS piece OFFSET 1
        ) found
        WHERE found.rest LIKE f.marks
      ) END AS places OFFSET 0
    ) p
    CROSS JOIN LATERAL (
      SELECT k.id FROM unnest(CASE
        WHEN b.is_to_be_read THEN ARRAY(
          SELECT e.id FROM emails e WHERE e.account_id = given_account_id AND e.id > b.above AND e.id <= b.upto
        )
        ELSE ARRAY(
          SELECT i.id FROM unnest(CASE WHEN p.places <> '{}' THEN b.ids END) WITH ORDINALITY AS i(id, place)
          WHERE 61439 + i.place = ANY (p.places)
        )
      END) AS k(id)
      WHERE s.ids IS NULL OR k.id = ANY (s.ids)
      ORDER BY CASE WHEN is_ascending THEN k.id END, CASE WHEN NOT is_ascending THEN k.id END DESC
    ) k
    CROSS JOIN LATERAL (
      SELECT e.id, is_found(e, f) FROM emails e WHERE e.account_id = given_account_id AND e.id = k.id OFFSET 0
    ) e
    WHERE e.is_found AND e.id > f.above AND e.id <= f.upto
    LIMIT max_count
  );
END
$$;
