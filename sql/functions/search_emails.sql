DROP FUNCTION IF EXISTS search_emails(uuid, json, integer, boolean);
DROP TYPE IF EXISTS email_search CASCADE;
DROP FUNCTION IF EXISTS is_of_address(text, text);
DROP FUNCTION IF EXISTS email_text(emails);
DROP FUNCTION IF EXISTS fold_case(text);

-- Which emails of an account some filters let through. Whatever is asked, the work is bounded: the newest emails that
-- are in no block yet (0004_email_filters.sql), a list of blocks by index, and at the very worst the text of each block.
--
-- What is null filters nothing. q and addresses are in lower case.
CREATE TYPE email_search AS (
  above uuid, -- ids: from here, exclusive, ...
  upto uuid,  -- ... to here, inclusive
  folder text[],      -- any of these statuses
  statuses text[],    -- any of these, or of last_events; null just if those are
  last_events text[],
  q text,
  first_id uuid,      -- q may be the beginning of an id: from here, inclusive, ...
  last_id uuid,       -- ... to here, inclusive
  domain_id uuid,
  tag jsonb,          -- what tags contain
  sender text,        -- addresses
  recipient text,
  created_after timestamptz, -- exclusive, both
  created_before timestamptz,
  terms integer[],    -- what every block with such an email has (lib/search_terms.ts); empty: all of them
  marks text[]        -- what every such email has in the text of its block besides q: 4 at the most
);

-- Whatever the locale of the database: the case comes from ICU, but of ASCII alone, which is ten times faster. A sigma is
-- one wherever it stands in a word.
CREATE FUNCTION fold_case(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN octet_length(given) = length(given) THEN lower(given COLLATE "C")
    ELSE replace(lower(given COLLATE "und-x-icu"), 'ς', 'σ') COLLATE "C"
  END
$$;

-- What q looks at, a line for each value.
CREATE FUNCTION email_text(e emails) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT fold_case(e.subject || chr(10) || e.sender || chr(10) || array_to_string(e."to" || e.cc || e.bcc, chr(10)))
$$;

-- mailboxes: a line for each, `address` or `Name <address>`.
CREATE FUNCTION is_of_address(mailboxes text, address text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT strpos(chr(10) || lower(mailboxes) || chr(10), chr(10) || address || chr(10)) > 0
    OR strpos(lower(mailboxes) || chr(10), '<' || address || '>' || chr(10)) > 0
$$;

-- One expression without a query in it, so that it becomes part of the statement that calls it.
CREATE FUNCTION is_found(e emails, f email_search) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (f.folder IS NULL OR e.status = ANY (f.folder))
    AND (f.statuses IS NULL OR e.status = ANY (f.statuses) OR e.last_event = ANY (f.last_events))
    AND (f.domain_id IS NULL OR e.domain_id = f.domain_id)
    AND (f.created_after IS NULL OR e.created_at > f.created_after)
    AND (f.created_before IS NULL OR e.created_at < f.created_before)
    AND (f.tag IS NULL OR e.tags @> f.tag)
    AND (f.sender IS NULL OR is_of_address(e.sender, f.sender))
    AND (f.recipient IS NULL OR is_of_address(array_to_string(e."to", chr(10)), f.recipient))
    AND (f.q IS NULL OR strpos(email_text(e), f.q) > 0 OR e.id BETWEEN f.first_id AND f.last_id)
$$;

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

-- Answers ids in the order of the list, max_count at most.
CREATE FUNCTION search_emails(given_account_id uuid, given json, max_count integer, is_ascending boolean)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 20 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
  SET enable_bitmapscan = off AS $$
DECLARE
  nearby constant integer := 16;
  many constant integer := 200;
  f email_search := json_populate_record(NULL::email_search, given);
  has_more_filters boolean := f.terms <> '{}' OR f.created_after IS NOT NULL OR f.created_before IS NOT NULL;
  depth integer := CASE WHEN has_more_filters THEN 500 ELSE max_count END;
  found_ids uuid[];
  known_ids uuid[];
  size integer;
  covered uuid; -- up to here there are blocks
  ends uuid[];
  block_end uuid;
  block record;
BEGIN
  IF f.statuses IS NOT NULL THEN
    SELECT s.found_ids, s.size INTO found_ids, size FROM scan_statuses(given_account_id, f, depth, is_ascending) AS s;
    IF size < depth OR cardinality(found_ids) >= max_count THEN
      RETURN QUERY SELECT unnest(found_ids[:max_count]);
      RETURN;
    END IF;
  END IF;

  SELECT b.upto INTO covered FROM email_blocks b WHERE b.account_id = given_account_id ORDER BY b.upto DESC LIMIT 1;
  IF covered IS NULL OR f.terms = '{}' THEN
    RETURN QUERY SELECT unnest(scan_emails(given_account_id, f, f.above, f.upto, max_count, is_ascending));
    RETURN;
  END IF;

  found_ids := '{}';
  IF NOT is_ascending THEN
    found_ids := scan_emails(given_account_id, f, covered, f.upto, max_count, is_ascending);
  END IF;
  FOR round IN 1..2 LOOP
    IF round = 1 THEN
      ends := list_nearest_blocks(given_account_id, f, nearby, is_ascending);
      size := cardinality(ends);
    ELSE
      ends := list_indexed_blocks(given_account_id, f, is_ascending);
      -- Few of these statuses may be among many blocks: then they are fewer to look at.
      IF f.statuses IS NOT NULL AND cardinality(ends) > many THEN
        SELECT s.found_ids, s.size INTO known_ids, size FROM scan_statuses(given_account_id, f, 10000, is_ascending) AS s;
        IF size < 10000 THEN
          RETURN QUERY SELECT unnest((found_ids || known_ids)[:max_count]);
          RETURN;
        END IF;
      END IF;
    END IF;
    FOREACH block_end IN ARRAY ends LOOP
      EXIT WHEN cardinality(found_ids) >= max_count;
      SELECT b.above, b.text IS NULL OR coalesce(b.upto >= f.first_id AND b.above < f.last_id, false) AS is_read, ARRAY(
        SELECT left(entry, 36)::uuid FROM string_to_table(b.text, E'\n\x1e') AS entry
        WHERE (f.q IS NULL OR strpos(entry, f.q) > 0)
          AND (f.marks[1] IS NULL OR strpos(entry, f.marks[1]) > 0) AND (f.marks[2] IS NULL OR strpos(entry, f.marks[2]) > 0)
          AND (f.marks[3] IS NULL OR strpos(entry, f.marks[3]) > 0) AND (f.marks[4] IS NULL OR strpos(entry, f.marks[4]) > 0)
      ) AS ids INTO block
      FROM email_blocks b
      WHERE b.account_id = given_account_id AND b.upto = block_end AND (
        (f.q IS NULL OR strpos(b.text, f.q) > 0) AND (f.marks[1] IS NULL OR strpos(b.text, f.marks[1]) > 0)
        OR b.text IS NULL OR b.upto >= f.first_id AND b.above < f.last_id
      );
      IF block.is_read THEN
        found_ids := found_ids
          || scan_emails(given_account_id, f, block.above, block_end, max_count - cardinality(found_ids), is_ascending);
      ELSIF block.ids <> '{}' THEN
        found_ids := found_ids || check_emails(given_account_id, f, block.ids, is_ascending);
      END IF;
    END LOOP;
    EXIT WHEN cardinality(found_ids) >= max_count OR size < nearby;
    IF is_ascending THEN
      f.above := greatest(f.above, ends[nearby]);
    ELSE
      SELECT least(f.upto, b.above) INTO f.upto FROM email_blocks b
      WHERE b.account_id = given_account_id AND b.upto = ends[nearby];
    END IF;
  END LOOP;
  IF is_ascending AND cardinality(found_ids) < max_count THEN
    f.upto := (given ->> 'upto')::uuid;
    found_ids := found_ids
      || scan_emails(given_account_id, f, covered, f.upto, max_count - cardinality(found_ids), is_ascending);
  END IF;
  RETURN QUERY SELECT unnest(found_ids[:max_count]);
END
$$;
