DROP FUNCTION IF EXISTS runs_of(uuid, uuid);
DROP FUNCTION IF EXISTS lock_event_runs(new_event[]);
DROP FUNCTION IF EXISTS lock_event_runs(new_event[], boolean);
DROP FUNCTION IF EXISTS lock_contact_runs(uuid[]);
DROP FUNCTION IF EXISTS contact_runs_key(uuid);
DROP FUNCTION IF EXISTS runs_to_wake(new_event[]);
DROP FUNCTION IF EXISTS without_contacts(new_event[], uuid[]);

-- Returns all runs of a contact. Every other index of the table begins with the account: while few runs are known, a
-- plan that uses one of them looks as good, but would read all runs of the account. So the account is written so that
-- it matches no index here, and conditions of callers apply to the result.
CREATE FUNCTION runs_of(account uuid, contact uuid) RETURNS SETOF automation_runs LANGUAGE sql STABLE AS $$
  SELECT * FROM automation_runs r WHERE r.contact_id = contact AND (r.account_id = account) IS NOT FALSE OFFSET 0
$$;

-- heard: the events that a trigger or a wait names; null: none. Locks the triggers and the runs that they may start or
-- wake: a transaction that disables, stops or deletes such an automation, or advances such a run, waits for this one,
-- or this one for it. busy: contacts whose runs another transaction has locked; their events are left out of `heard`.
-- Null if there are none, or with is_patient, which waits for the locks.
CREATE FUNCTION lock_event_runs(events new_event[], is_patient boolean, OUT heard new_event[], OUT busy uuid[])
LANGUAGE plpgsql AS $$
DECLARE
  known uuid[];
BEGIN
  SELECT array_agg(e ORDER BY e.position) INTO heard FROM unnest(events) AS e
  WHERE EXISTS (
    SELECT FROM automation_triggers t WHERE t.account_id = e.account_id AND t.domain_id = e.domain_id AND t.event = e.name
  ) OR EXISTS (SELECT FROM automation_waits w WHERE w.account_id = e.account_id AND w.event = e.name);
  IF heard IS NULL THEN
    RETURN;
  END IF;

  -- Contacts that this transaction has added need no lock, since no other one knows them. Their event has no tail,
  -- unlike one of the same name that a caller sends.
  known := ARRAY(SELECT DISTINCT e.contact_id FROM unnest(heard) AS e WHERE e.name <> 'contact.created' OR e.tail IS NOT NULL);
  IF is_patient THEN
    PERFORM lock_contact_runs(known);
  ELSE
    SELECT array_agg(l.id) FILTER (WHERE NOT l.is_locked) INTO busy
    FROM (SELECT id, pg_try_advisory_xact_lock(contact_runs_key(id)) AS is_locked FROM unnest(known) AS id OFFSET 0) l;
    heard := without_contacts(heard, busy);
  END IF;

  PERFORM FROM (SELECT DISTINCT e.account_id, e.domain_id, e.name FROM unnest(heard) AS e) e
  JOIN automation_triggers t ON t.account_id = e.account_id AND t.domain_id = e.domain_id AND t.event = e.name
  ORDER BY t.automation_id FOR KEY SHARE OF t;

  IF is_patient THEN
    PERFORM FROM runs_to_wake(heard) AS w
    CROSS JOIN LATERAL (
      SELECT FROM automation_runs r WHERE r.account_id = w.account_id AND r.id = w.id FOR NO KEY UPDATE
    ) l;
  ELSE
    busy := busy || (
      SELECT array_agg(w.contact_id) FROM runs_to_wake(heard) AS w WHERE NOT EXISTS (
        SELECT FROM automation_runs r WHERE r.account_id = w.account_id AND r.id = w.id FOR NO KEY UPDATE SKIP LOCKED
      )
    );
    heard := without_contacts(heard, busy);
  END IF;
END
$$;

-- Runs that these events may wake, in the order in which they are locked.
CREATE FUNCTION runs_to_wake(events new_event[]) RETURNS TABLE (account_id uuid, id uuid, contact_id uuid)
LANGUAGE sql STABLE AS $$
  SELECT r.account_id, r.id, r.contact_id FROM (SELECT DISTINCT e.account_id, e.contact_id, e.name FROM unnest(events) AS e) e
  JOIN automation_waits w ON w.account_id = e.account_id AND w.event = e.name
  CROSS JOIN LATERAL runs_of(e.account_id, e.contact_id) AS r
  WHERE r.automation_id = w.automation_id AND r.version = w.version AND r.status = 'running'
  ORDER BY r.id
$$;

-- Returns the events, except the events of these contacts; null if none is left.
CREATE FUNCTION without_contacts(events new_event[], contact_ids uuid[]) RETURNS new_event[] LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN contact_ids IS NULL THEN events ELSE (
    SELECT array_agg(e ORDER BY e.position) FROM unnest(events) AS e WHERE e.contact_id <> ALL (contact_ids)
  ) END
$$;

-- Makes transactions that start runs of these contacts take turns.
CREATE FUNCTION lock_contact_runs(contact_ids uuid[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(l.key)
  FROM (SELECT DISTINCT contact_runs_key(id) AS key FROM unnest(contact_ids) AS id ORDER BY 1) l;
END
$$;

CREATE FUNCTION contact_runs_key(contact uuid) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT hashtextextended('runs of ' || contact, 0)
$$;
