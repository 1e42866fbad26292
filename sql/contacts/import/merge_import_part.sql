DROP FUNCTION IF EXISTS read_import_part(contact_imports, bigint, bigint, text[]);
DROP FUNCTION IF EXISTS merge_import_part(contact_imports, import_part);
DROP FUNCTION IF EXISTS first_record(uuid, text, bigint, boolean);

-- The first record with the address of a row, if it is another one: `repeated_n`, unless two addresses have the same hash.
-- Without repeated_n, the row was staged by a worker of the release before (migrations/0070_repeated_records.sql).
CREATE FUNCTION first_record(import uuid, address text, repeated_n bigint, may_repeat boolean) RETURNS SETOF import_rows
LANGUAGE sql STABLE ROWS 1 AS $$
  SELECT * FROM import_rows f
  WHERE first_record.repeated_n > 0 AND f.import_id = import AND f.n = first_record.repeated_n AND f.email = address
  UNION ALL
  (SELECT * FROM import_rows f
  WHERE first_record.repeated_n IS NULL AND first_record.may_repeat AND f.repeated_n IS NULL AND f.import_id = import
    -- Ordered, so that no plan reads more than the rows of the address.
    AND f.email >= address AND f.email <= address ORDER BY f.email, f.n LIMIT 1)
$$;

-- Reads the records of an import with numbers above `after`, up to `up_to`. If several have the same address, it returns
-- the first and records the others as skipped. gone: properties to leave out.
CREATE FUNCTION read_import_part(i contact_imports, after bigint, up_to bigint, gone text[]) RETURNS import_part
LANGUAGE plpgsql AS $$
DECLARE
  part import_part;
BEGIN
  SELECT count(*) FILTER (WHERE e.outcome = 'failed'), count(*) FILTER (WHERE e.outcome = 'skipped')
  INTO part.wrong, part.known
  FROM import_errors e WHERE e.account_id = i.account_id AND e.import_id = i.id AND e.n > after AND e.n <= up_to;
  WITH slice AS MATERIALIZED (
    SELECT r.*, coalesce(first.n, r.n) AS merged_n, first.line AS first_line, first.unsubscribed AS first_says,
      first.do_not_track AS first_says_untracked
    FROM import_rows r
    LEFT JOIN LATERAL first_record(r.import_id, r.email, r.repeated_n, r.may_repeat) AS first ON true
    WHERE r.import_id = i.id AND r.n > after AND r.n <= up_to
  ), noted AS (
    INSERT INTO import_errors (account_id, import_id, n, line, email, outcome, message)
    SELECT i.account_id, i.id, s.n, s.line, coalesce(s.written_email, s.email), 'skipped',
      'The address is on line ' || s.first_line || ' already.'
    FROM slice s WHERE s.merged_n < s.n AND i.skipped < 100000
  )
  SELECT count(*), coalesce(array_agg(ROW(s.id, s.email, s.first_name, s.last_name, s.unsubscribed,
    s.properties - coalesce(gone, '{}'), s.do_not_track, s.timezone)::given_contact) FILTER (WHERE s.merged_n = s.n), '{}'),
    array_agg(s.email) FILTER (WHERE s.merged_n < s.n AND s.unsubscribed
      AND NOT ((i.options ->> 'resubscribe')::boolean AND s.first_says IS FALSE)),
    array_agg(s.email) FILTER (WHERE s.merged_n < s.n AND s.do_not_track AND s.first_says_untracked IS NULL)
  INTO part.rows, part.given, part.leaving, part.untracked FROM slice s;
  RETURN part;
END $$;

-- Stores contacts of an import with their memberships and consents, and starts automations if the import asks for it.
-- Returns how many were created and updated; an unchanged one counts as updated.
CREATE FUNCTION merge_import_part(i contact_imports, part import_part, OUT created bigint, OUT updated bigint)
LANGUAGE plpgsql AS $$
DECLARE
  ids uuid[];
  changed_ids uuid[];
  created_ids uuid[];
  gone_ids uuid[];
  opt_ins text[];
  opt_outs text[];
BEGIN
  SELECT array_agg(u.id), array_agg(u.id) FILTER (WHERE u.outcome <> 'skipped'),
    array_agg(u.id) FILTER (WHERE u.outcome = 'created'),
    array_agg(u.id) FILTER (WHERE u.unsubscribed AND NOT u.was_unsubscribed), count(*) FILTER (WHERE u.outcome = 'created'),
    count(*) FILTER (WHERE u.outcome IN ('updated', 'unchanged')),
    array_agg(u.email) FILTER (WHERE u.was_unsubscribed AND NOT u.unsubscribed),
    array_agg(u.email) FILTER (WHERE u.unsubscribed AND u.was_unsubscribed IS NOT TRUE)
  INTO ids, changed_ids, created_ids, gone_ids, created, updated, opt_ins, opt_outs
  FROM upsert_contacts(i.account_id, i.domain_id, part.given, i.options ->> 'on_conflict', (i.options ->> 'resubscribe')::boolean,
    'import', i.id) u;
  IF part.leaving IS NOT NULL THEN
    SELECT gone_ids || array_agg(o.id), opt_outs || array_agg(o.email) INTO gone_ids, opt_outs
    FROM opt_out_repeated(i, part.leaving) o;
  END IF;
  IF part.untracked IS NOT NULL THEN
    PERFORM stop_tracking_repeated(i, part.untracked);
  END IF;
  PERFORM merge_memberships(i, ids, changed_ids);
  -- Most parts have none, and a statement about nothing costs as much as two records.
  IF opt_ins IS NOT NULL THEN
    PERFORM note_imported_consents(i, NULL, 'opt_in', opt_ins);
  END IF;
  IF opt_outs IS NOT NULL THEN
    PERFORM note_imported_consents(i, NULL, 'opt_out', opt_outs);
  END IF;
  IF (i.options ->> 'trigger_automations')::boolean THEN
    PERFORM tell_contacts(i.account_id, 'contact.created', created_ids, NULL, NULL);
    PERFORM tell_contacts(i.account_id, 'contact.unsubscribed', gone_ids, NULL, NULL);
  END IF;
END $$;
