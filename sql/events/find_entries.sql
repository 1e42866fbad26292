DROP FUNCTION IF EXISTS find_entries(new_event[], boolean);
DROP FUNCTION IF EXISTS entries_without(new_event[], integer[]);
DROP FUNCTION IF EXISTS max_event_depth();
DROP FUNCTION IF EXISTS max_daily_runs();

-- Events of this depth start nothing, so that automations that start each other come to an end.
CREATE FUNCTION max_event_depth() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 5';

-- Maximum number of runs of one automation that a contact may start in 24 hours.
CREATE FUNCTION max_daily_runs() RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT 10';

-- Returns the runs that these events would start without a quota, in the order of the events. Callers must hold
-- lock_contact_runs() and have a later snapshot.
CREATE FUNCTION entries_without(events new_event[], refused integer[]) RETURNS run_entry[] LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN (
    SELECT array_agg(ROW(n.position, n.account_id, n.id, n.version, n.contact_id, n.reentry,
      CASE WHEN n.depth >= max_event_depth() OR n.recent + n.nth > max_daily_runs() THEN 'limit' END)::run_entry
      ORDER BY n.position, n.id)
    FROM (
      SELECT e.position, e.contact_id, e.depth, a.account_id, a.id, a.version, a.reentry, own.recent,
        row_number() OVER (PARTITION BY a.account_id, a.id, e.contact_id ORDER BY e.position) AS nth
      FROM unnest(events) AS e
      CROSS JOIN LATERAL (
        SELECT t.automation_id FROM automation_triggers t
        WHERE e.entered_id IS NULL AND t.account_id = e.account_id AND t.domain_id = e.domain_id AND t.event = e.name
        UNION ALL SELECT e.entered_id WHERE e.entered_id IS NOT NULL
      ) t
      JOIN automations a ON a.account_id = e.account_id AND a.id = t.automation_id AND a.domain_id = e.domain_id AND a.status = 'enabled'
      CROSS JOIN LATERAL (
        SELECT count(*) AS runs, count(*) FILTER (WHERE r.id >= first_id(now() - interval '24 hours')) AS recent,
          count(*) FILTER (WHERE r.status = 'running' AND r.version > a.stopped_version) AS running
        FROM runs_of(e.account_id, e.contact_id) AS r WHERE r.automation_id = a.id
      ) own
      WHERE e.position <> ALL (refused) AND e.automation_id IS DISTINCT FROM a.id
        AND CASE a.reentry WHEN 'once' THEN own.runs WHEN 'while_not_running' THEN own.running ELSE 0 END = 0
    ) n
    WHERE n.reentry = 'always' OR n.nth = 1
  );
END
$$;

-- Returns the runs that these events start; null: none. An event that the quota refuses (is_strict) has one entry with
-- the obstacle `quota`, and another event of its contact may start the run instead.
CREATE FUNCTION find_entries(events new_event[], is_strict boolean) RETURNS run_entry[] LANGUAGE plpgsql AS $$
DECLARE
  entries run_entry[] := entries_without(events, '{}');
  quotas jsonb;
  rooms jsonb;
  room bigint;
  needed record;
  refused integer[] := '{}';
  changed uuid[];
  is_complete boolean := false;
BEGIN
  quotas := lock_run_quotas(ARRAY(SELECT DISTINCT n.account_id FROM unnest(entries) AS n WHERE n.obstacle IS NULL));
  IF quotas IS NULL THEN
    RETURN entries;
  END IF;

  IF NOT is_strict THEN
    RETURN (
      SELECT array_agg(ROW(n.position, n.account_id, n.automation_id, n.version, n.contact_id, n.reentry,
        CASE WHEN n.nth > (quotas ->> n.account_id::text)::bigint THEN 'quota' ELSE n.obstacle END)::run_entry ORDER BY n.at)
      FROM (
        SELECT x.*, CASE WHEN x.obstacle IS NULL THEN
          row_number() OVER (PARTITION BY x.account_id, x.obstacle IS NULL ORDER BY x.at) END AS nth
        FROM unnest(entries) WITH ORDINALITY AS x("position", account_id, automation_id, version, contact_id, reentry, obstacle, at)
      ) n
    );
  END IF;

  WHILE NOT is_complete LOOP
    is_complete := true;
    rooms := quotas;
    changed := '{}';
    FOR needed IN
      SELECT n.position, n.account_id, n.contact_id, count(*) AS runs FROM unnest(entries) AS n WHERE n.obstacle IS NULL
      GROUP BY n.position, n.account_id, n.contact_id ORDER BY n.position
    LOOP
      room := (rooms ->> needed.account_id::text)::bigint;
      IF needed.runs > room THEN
        refused := refused || needed.position;
        is_complete := false;
        IF room > 0 THEN
          changed := changed || needed.contact_id;
        END IF;
      ELSIF needed.contact_id = ANY (changed) THEN
        EXIT; -- without the refused event of this contact, this one may need more runs
      ELSIF room IS NOT NULL THEN
        rooms := rooms || jsonb_build_object(needed.account_id, room - needed.runs);
      END IF;
    END LOOP;
    IF NOT is_complete THEN
      entries := entries_without(events, refused);
    END IF;
  END LOOP;
  RETURN entries || ARRAY(
    SELECT ROW(e.position, e.account_id, NULL, NULL, e.contact_id, NULL, 'quota')::run_entry
    FROM unnest(events) AS e WHERE e.position = ANY (refused)
  );
END
$$;
