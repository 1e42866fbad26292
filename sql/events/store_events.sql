DROP FUNCTION IF EXISTS id_time(timestamptz);
DROP FUNCTION IF EXISTS ordered_id(bigint, bigint, text);
DROP FUNCTION IF EXISTS random_tail();
DROP FUNCTION IF EXISTS store_events(new_event[], boolean);
DROP FUNCTION IF EXISTS lock_event_contacts(new_event[]);
DROP FUNCTION IF EXISTS store_events(new_event[], boolean, boolean);

-- Returns a moment in the unit of ordered_id(): 1/4096 of a millisecond.
CREATE FUNCTION id_time(moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT floor(extract(epoch FROM moment) * 4096000)::bigint
$$;

-- Returns the n-th id of a moment (from 0): a UUIDv7 whose 12 bits after the milliseconds are a fraction of them (RFC
-- 9562 6.2, method 3), so that ids of different moments are ordered even within a millisecond.
CREATE FUNCTION ordered_id(moment bigint, n bigint, tail text) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((moment + n) / 4096), 12, '0') || '7' || lpad(to_hex((moment + n) % 4096), 3, '0') || tail)::uuid
$$;

CREATE FUNCTION random_tail() RETURNS text LANGUAGE sql VOLATILE AS $$
  SELECT right(replace(gen_random_uuid()::text, '-', ''), 16)
$$;

-- Stores events, wakes the runs that wait for them and starts the runs that they trigger, in one commit. Leaves out
-- events of contacts or domains that do not exist. events: in order, with positions; may be null.
--
-- is_strict: an event that would start more runs than the quota has left is refused as a whole. Otherwise it starts as
-- many as the quota allows, and the others are counted.
--
-- is_patient: waits for transactions that hold a run that an event may wake. Otherwise events of such a contact are not
-- stored, and are returned without an id: a worker may hold the runs of one contact again and again, and other events
-- need not wait for it.
--
-- No event misses a run that starts to wait for it at the same time. All events of a contact that a trigger or a wait
-- names take turns, so no run starts unseen. Then the runs that may wait for such an event are locked: this function
-- waits for a worker that holds one, and a worker that comes later skips it. Only after that, in statements with later
-- snapshots, does it check which of them wait, and give the events their ids, which therefore rise in the order of the
-- commits.
--
-- Statements use indexes, as in accept_emails.sql.
CREATE FUNCTION store_events(events new_event[], is_strict boolean, is_patient boolean DEFAULT true) RETURNS stored_event[]
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  moment bigint;
  heard new_event[];
  busy uuid[];
  postponed stored_event[];
  entries run_entry[];
  stored stored_event[];
  ids jsonb; -- of the stored events, by position: a join of two lists compares every row with every other
  woken bigint := 0;
BEGIN
  events := lock_event_contacts(events);
  IF events IS NULL THEN
    RETURN '{}';
  END IF;
  SELECT l.heard, l.busy INTO heard, busy FROM lock_event_runs(events, is_patient) AS l;
  IF busy IS NOT NULL THEN
    SELECT array_agg(ROW(e.position, NULL, e.contact_id, NULL)::stored_event) FILTER (WHERE e.contact_id = ANY (busy)),
      array_agg(e ORDER BY e.position) FILTER (WHERE e.contact_id <> ALL (busy))
    INTO postponed, events FROM unnest(events) AS e;
    IF events IS NULL THEN
      RETURN postponed;
    END IF;
  END IF;
  moment := id_time(clock_timestamp());
  SELECT array_agg(ROW(e.position, ordered_id(moment, e.position, coalesce(e.tail, random_tail())), e.contact_id, 0)::stored_event)
  INTO stored FROM unnest(events) AS e;

  IF heard IS NOT NULL THEN
    entries := find_entries(heard, is_strict);
    IF entries IS NOT NULL THEN
      stored := start_runs(events, entries, stored, is_strict);
    END IF;
  END IF;
  SELECT jsonb_object_agg(s.position, jsonb_build_object('id', s.id, 'enrolled', s.enrolled)) INTO ids
  FROM unnest(stored) AS s WHERE s.enrolled IS NOT NULL;

  IF heard IS NOT NULL THEN
    -- After a step back of the clock an id may be lower than that of an event which the run has looked at: it looks at all again.
    UPDATE automation_runs r SET due_at = now(), seen_event = CASE WHEN r.seen_event < e.first_id THEN r.seen_event END
    FROM (
      SELECT e.account_id, e.contact_id, e.name, min((ids -> e.position::text ->> 'id') COLLATE "C")::uuid AS first_id
      FROM unnest(heard) AS e WHERE ids ? e.position::text GROUP BY 1, 2, 3
    ) e
    CROSS JOIN LATERAL runs_of(e.account_id, e.contact_id) AS w
    WHERE w.wait_event = e.name AND w.status = 'running' AND w.due_at > now() AND r.account_id = w.account_id AND r.id = w.id;
    GET DIAGNOSTICS woken = ROW_COUNT;
  END IF;

  INSERT INTO contact_events (account_id, id, domain_id, contact_id, name, payload, depth, enrolled)
  SELECT e.account_id, (s.event ->> 'id')::uuid, e.domain_id, e.contact_id, e.name, e.payload, e.depth,
    (s.event ->> 'enrolled')::integer
  FROM unnest(events) AS e CROSS JOIN LATERAL (SELECT ids -> e.position::text AS event) s
  WHERE s.event IS NOT NULL;

  IF woken > 0 OR EXISTS (SELECT FROM unnest(stored) AS s WHERE s.enrolled > 0) THEN
    PERFORM nudge_runs();
  END IF;
  RETURN stored || postponed;
END
$$;

-- Locks contacts and their domains against deletion; returns the events of those that exist.
CREATE FUNCTION lock_event_contacts(events new_event[]) RETURNS new_event[] LANGUAGE plpgsql AS $$
DECLARE
  found uuid[];
  left_over new_event[];
BEGIN
  SELECT array_agg(l.id) INTO found FROM (
    SELECT c.id FROM (
      SELECT DISTINCT e.contact_id, e.account_id, e.domain_id FROM unnest(events) AS e ORDER BY e.contact_id
    ) w
    CROSS JOIN LATERAL (
      SELECT c.id FROM contacts c WHERE c.account_id = w.account_id AND c.id = w.contact_id AND c.domain_id = w.domain_id
      FOR KEY SHARE
    ) c
    CROSS JOIN LATERAL (
      SELECT FROM domains d WHERE d.account_id = w.account_id AND d.id = w.domain_id FOR KEY SHARE
    ) d
  ) l;
  SELECT array_agg(e ORDER BY e.position) INTO left_over FROM unnest(events) AS e WHERE e.contact_id = ANY (found);
  RETURN left_over;
END
$$;
