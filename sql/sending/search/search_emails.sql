DROP FUNCTION IF EXISTS search_emails(uuid, json, integer, boolean);
DROP TYPE IF EXISTS email_search CASCADE;
DROP FUNCTION IF EXISTS is_of_address(text, text);
DROP FUNCTION IF EXISTS email_text(emails);
DROP FUNCTION IF EXISTS fold_case(text);

-- The emails of an account that match some filters. The work is limited for any filter: the newest emails that are in
-- no block yet (0004_email_filters.sql), a list of blocks by index, and in the worst case the text of each block and
-- the emails whose text matches.
--
-- Null members filter nothing. q is folded, addresses are in lower case.
CREATE TYPE email_search AS (
  above uuid, -- ids: from here, exclusive, ...
  upto uuid,  -- ... to here, inclusive
  statuses text[],    -- any of these, or ...
  last_events text[], -- ... any of these, in the folder; null if and only if statuses is
  folder text[],      -- any of these statuses
  q text,
  first_id uuid,      -- q may be the prefix of an id: from here, inclusive, ...
  last_id uuid,       -- ... to here, inclusive
  domain_id uuid,
  template_id uuid,
  is_transactional boolean, -- without a campaign or automation
  tag jsonb,          -- tags contain this
  sender text,        -- addresses
  recipient text,
  created_after timestamptz, -- exclusive, both
  created_before timestamptz,
  terms integer[],    -- terms of every block with such an email (lib/sending/search_terms.ts); empty: all blocks
  needle text,        -- contained in the text of the block for every such email
  marks text          -- pattern of the text after the needle
);

-- Folds case, regardless of the locale of the database: by ICU, or for ASCII by a way that is ten times faster. Every
-- form of sigma becomes the same letter.
CREATE FUNCTION fold_case(given text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN octet_length(given) = length(given) THEN lower(given COLLATE "C")
    ELSE replace(lower(given COLLATE "und-x-icu"), 'ς', 'σ') COLLATE "C"
  END
$$;

-- Returns the text that q is matched with, one line per value.
CREATE FUNCTION email_text(e emails) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT fold_case(e.subject || chr(10) || e.sender || chr(10) || array_to_string(e."to" || e.cc || e.bcc, chr(10)))
$$;

-- mailboxes: one per line, `address` or `Name <address>`.
CREATE FUNCTION is_of_address(mailboxes text, address text) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT strpos(chr(10) || lower(mailboxes) || chr(10), chr(10) || address || chr(10)) > 0
    OR strpos(lower(mailboxes) || chr(10), '<' || address || '>' || chr(10)) > 0
$$;

-- A single expression without a query, so that Postgres inlines it.
CREATE FUNCTION is_found(e emails, f email_search) RETURNS boolean LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (f.statuses IS NULL OR e.status = ANY (f.statuses)
      OR e.last_event = ANY (f.last_events) AND (f.folder IS NULL OR e.status = ANY (f.folder)))
    AND (f.domain_id IS NULL OR e.domain_id = f.domain_id)
    AND (f.template_id IS NULL OR e.template_id = f.template_id)
    AND (f.is_transactional IS NOT TRUE OR e.campaign_id IS NULL AND e.automation_id IS NULL)
    AND (f.created_after IS NULL OR e.created_at > f.created_after)
    AND (f.created_before IS NULL OR e.created_at < f.created_before)
    AND (f.tag IS NULL OR e.tags @> f.tag)
    AND (f.sender IS NULL OR is_of_address(e.sender, f.sender))
    AND (f.recipient IS NULL OR is_of_address(array_to_string(e."to", chr(10)), f.recipient))
    AND (f.q IS NULL OR strpos(email_text(e), f.q) > 0 OR e.id BETWEEN f.first_id AND f.last_id)
$$;

-- Returns ids in the order of the list, at most max_count.
CREATE FUNCTION search_emails(given_account_id uuid, given json, max_count integer, is_ascending boolean)
RETURNS SETOF uuid
LANGUAGE plpgsql STABLE ROWS 20 SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
  SET enable_bitmapscan = off AS $$
DECLARE
  nearby constant integer := 16;
  f email_search := json_populate_record(NULL::email_search, given);
  rest email_search := f; -- the search beyond the nearest blocks
  has_more_filters boolean := f.terms <> '{}' OR f.created_after IS NOT NULL OR f.created_before IS NOT NULL;
  depth integer := CASE WHEN has_more_filters THEN 500 ELSE max_count END;
  found_ids uuid[] := '{}';
  known_ids uuid[];
  size integer;
  covered uuid; -- the newest email that a block covers
  ends uuid[];
BEGIN
  -- 1. The index of statuses is in the order of the list: it suffices if it has enough matches, or few emails at all.
  IF f.statuses IS NOT NULL THEN
    SELECT s.found_ids, s.size INTO known_ids, size FROM scan_statuses(given_account_id, f, depth, is_ascending) AS s;
    IF size < depth OR cardinality(known_ids) >= max_count THEN
      RETURN QUERY SELECT unnest(known_ids[:max_count]);
      RETURN;
    END IF;
  END IF;

  -- 2. The newest emails are in no block yet: they are read themselves.
  SELECT b.upto INTO covered FROM email_blocks b WHERE b.account_id = given_account_id ORDER BY b.upto DESC LIMIT 1;
  IF covered IS NULL OR f.terms = '{}' THEN
    RETURN QUERY SELECT unnest(scan_emails(given_account_id, f, f.above, f.upto, max_count, is_ascending));
    RETURN;
  END IF;
  IF NOT is_ascending THEN
    found_ids := scan_emails(given_account_id, f, covered, f.upto, max_count, is_ascending);
  END IF;

  -- 3. The nearest blocks first, where frequent terms have enough matches. Then the index of terms, which lists few
  -- blocks for a rare one.
  ends := list_nearest_blocks(given_account_id, f, nearby, is_ascending);
  found_ids := found_ids || search_blocks(given_account_id, f, ends, max_count - cardinality(found_ids), is_ascending);
  IF cardinality(ends) = nearby AND cardinality(found_ids) < max_count THEN
    IF is_ascending THEN
      rest.above := greatest(f.above, ends[nearby]);
    ELSE
      SELECT least(f.upto, b.above) INTO rest.upto FROM email_blocks b
      WHERE b.account_id = given_account_id AND b.upto = ends[nearby];
    END IF;
    ends := list_indexed_blocks(given_account_id, rest, is_ascending);
    -- With many blocks, emails of these statuses may be fewer.
    IF f.statuses IS NOT NULL AND cardinality(ends) > 200 THEN
      SELECT s.found_ids, s.size INTO known_ids, size FROM scan_statuses(given_account_id, f, 2000, is_ascending) AS s;
      IF size < 2000 OR cardinality(known_ids) >= max_count THEN
        RETURN QUERY SELECT unnest(known_ids[:max_count]);
        RETURN;
      END IF;
    END IF;
    found_ids := found_ids || search_blocks(given_account_id, rest, ends, max_count - cardinality(found_ids), is_ascending);
  END IF;

  IF is_ascending AND cardinality(found_ids) < max_count THEN
    found_ids := found_ids
      || scan_emails(given_account_id, f, covered, f.upto, max_count - cardinality(found_ids), is_ascending);
  END IF;
  RETURN QUERY SELECT unnest(found_ids[:max_count]);
END
$$;
