DROP FUNCTION IF EXISTS nudge_runs();
DROP FUNCTION IF EXISTS start_runs(new_event[], run_entry[], stored_event[], boolean);

-- Starts the runs, counts those with an obstacle, and debits the quota. Returns the events with the number of runs that
-- each has started.
CREATE FUNCTION start_runs(events new_event[], entries run_entry[], stored stored_event[], is_strict boolean)
RETURNS stored_event[] LANGUAGE plpgsql AS $$
DECLARE
  moment constant bigint := id_time(clock_timestamp());
  -- For lookups by position: a join of two lists compares every row with every other.
  places jsonb; -- of the events
  ids jsonb;    -- of the events as they are stored
  runs jsonb;   -- how many each event has started, by its id
  refused constant integer[] := ARRAY(SELECT DISTINCT n.position FROM unnest(entries) AS n WHERE n.obstacle = 'quota');
BEGIN
  SELECT jsonb_object_agg(e.position, e.at) INTO places FROM unnest(events) WITH ORDINALITY
    AS e("position", account_id, domain_id, contact_id, name, payload, depth, automation_id, tail, entered_id, at);
  SELECT jsonb_object_agg(s.position, s.id) INTO ids FROM unnest(stored) AS s;

  -- Runs that were stopped but not ended yet (clear_runs.ts) would not let the contacts enter again.
  PERFORM skip_runs(s.account_id, array_agg(s.id), 'The automation was stopped.') FROM (
    SELECT l.account_id, l.id FROM (
      SELECT r.account_id, r.id FROM unnest(entries) AS n
      JOIN automations a ON a.account_id = n.account_id AND a.id = n.automation_id AND a.stopped_version > 0
      CROSS JOIN LATERAL runs_of(n.account_id, n.contact_id) AS r
      WHERE n.reentry = 'while_not_running' AND n.obstacle IS NULL
        AND r.automation_id = a.id AND r.status = 'running' AND r.version <= a.stopped_version
      ORDER BY r.id
    ) w
    CROSS JOIN LATERAL (
      SELECT r.account_id, r.id FROM automation_runs r
      WHERE r.account_id = w.account_id AND r.id = w.id AND r.status = 'running' FOR NO KEY UPDATE
    ) l
  ) s GROUP BY s.account_id;

  WITH started AS (
    INSERT INTO automation_runs (account_id, id, automation_id, version, domain_id, contact_id, contact_email, reentry,
      since_event, payload, depth)
    SELECT n.account_id, ordered_id(moment, n.at, random_tail()), n.automation_id, n.version, c.domain_id, c.id,
      c.email, n.reentry, (ids ->> n.position::text)::uuid, (e.event).payload, (e.event).depth
    FROM unnest(entries) WITH ORDINALITY
      AS n("position", account_id, automation_id, version, contact_id, reentry, obstacle, at)
    CROSS JOIN LATERAL (SELECT events[(places ->> n.position::text)::integer] AS event OFFSET 0) e
    CROSS JOIN LATERAL (
      SELECT c.id, c.domain_id, c.email FROM contacts c WHERE c.account_id = n.account_id AND c.id = n.contact_id OFFSET 0
    ) c
    WHERE n.obstacle IS NULL
    ORDER BY n.automation_id, n.contact_id
    ON CONFLICT DO NOTHING
    RETURNING since_event
  )
  SELECT jsonb_object_agg(r.since_event, r.runs) INTO runs
  FROM (SELECT since_event, count(*) AS runs FROM started GROUP BY since_event) r;
  stored := ARRAY(
    SELECT ROW(s.position, s.id, s.contact_id, CASE WHEN NOT is_strict OR s.position <> ALL (refused)
      THEN coalesce((runs ->> s.id::text)::integer, 0) END)::stored_event
    FROM unnest(stored) AS s
  );

  INSERT INTO automation_usage AS u (account_id, hour, runs, limited)
  SELECT d.account_id, date_trunc('hour', now(), 'UTC'), sum(d.runs), sum(d.limited) FROM (
    SELECT (events[(places ->> s.position::text)::integer]).account_id, s.enrolled AS runs, 0 AS limited
    FROM unnest(stored) AS s WHERE s.enrolled > 0
    UNION ALL
    SELECT n.account_id, 0, 1 FROM unnest(entries) AS n WHERE n.obstacle = 'quota' AND NOT is_strict
  ) d
  JOIN accounts a ON a.id = d.account_id JOIN plans p ON p.name = a.plan
  WHERE p.automation_runs IS NOT NULL
  GROUP BY d.account_id ORDER BY d.account_id
  ON CONFLICT (account_id, hour) DO UPDATE SET runs = u.runs + excluded.runs, limited = u.limited + excluded.limited;

  UPDATE automations a SET limited = a.limited + l.runs
  FROM (
    SELECT n.account_id, n.automation_id, count(*) AS runs FROM unnest(entries) AS n
    WHERE n.obstacle IS NOT NULL AND n.automation_id IS NOT NULL GROUP BY 1, 2 ORDER BY 2
  ) l
  WHERE a.account_id = l.account_id AND a.id = l.automation_id;
  RETURN stored;
END
$$;

-- Adds a job for due runs. One job per commit: with a job_key, all transactions that start runs would wait for one row.
CREATE FUNCTION nudge_runs() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM graphile_worker.add_job('advance_runs', '{}'::json, max_attempts => job_attempts(),
    priority => job_priority('advance_runs'));
END
$$;
