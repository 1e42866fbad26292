-- Steps of search_emails that go by blocks. Its type email_search takes them along when it is dropped.

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

-- Those found in these blocks, given by the upper ends of their ids. One row after the other, in the order of the list,
-- until there are enough; of what is not found no more is read than the text of its block.
CREATE FUNCTION search_blocks(
  given_account_id uuid, f email_search, ends uuid[], max_count integer, is_ascending boolean
) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
AS $$
BEGIN
  RETURN ARRAY(
    SELECT e.id FROM unnest(ends) AS g(upto)
    CROSS JOIN LATERAL (
      -- The concatenation unpacks the text once for all that read it.
      SELECT b.above, b.upto, b.ids, b.text || '' AS text,
        b.text IS NULL OR coalesce(b.upto >= f.first_id AND b.above < f.last_id, false) AS is_to_be_read
      FROM email_blocks b WHERE b.account_id = given_account_id AND b.upto = g.upto OFFSET 0
    ) b
    CROSS JOIN LATERAL (
      SELECT k.id FROM (
        -- What follows the needle, up to the end of its email, ends with the place of the email.
        SELECT b.ids[ascii(right(found.rest, 1)) - 61439] AS id
        FROM (
          SELECT left(piece, strpos(piece, U&'\F8FF') - 1) AS rest
          FROM (SELECT piece FROM string_to_table(b.text, f.needle) AS piece OFFSET 1) AS pieces
          WHERE strpos(piece, U&'\F8FF') > 0
        ) found
        WHERE NOT b.is_to_be_read AND strpos(b.text, f.needle) > 0
          AND (f.marks[1] IS NULL OR strpos(rest, f.marks[1]) > 0) AND (f.marks[2] IS NULL OR strpos(rest, f.marks[2]) > 0)
          AND (f.marks[3] IS NULL OR strpos(rest, f.marks[3]) > 0) AND (f.marks[4] IS NULL OR strpos(rest, f.marks[4]) > 0)
          AND (f.marks[5] IS NULL OR strpos(rest, f.marks[5]) > 0)
        UNION ALL
        SELECT e.id FROM emails e
        WHERE b.is_to_be_read AND e.account_id = given_account_id AND e.id > b.above AND e.id <= b.upto
      ) k
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
