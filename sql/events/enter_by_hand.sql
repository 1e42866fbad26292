DROP FUNCTION IF EXISTS enter_by_hand(uuid, uuid, uuid, jsonb);

-- Starts a run of an automation for a contact of its domain, subject to its re-entry rule, its limit and the quota.
-- Stores no event.
--
-- outcome: started | no_contact | disabled | entered (the re-entry rule forbids another run) | limit | quota
CREATE FUNCTION enter_by_hand(account uuid, automation uuid, contact uuid, given jsonb, OUT outcome text, OUT run_id uuid)
LANGUAGE plpgsql AS $$
DECLARE
  domain uuid;
  events new_event[];
  entries run_entry[];
  stored stored_event[];
BEGIN
  SELECT a.domain_id INTO domain FROM automations a
  WHERE a.account_id = account AND a.id = automation AND a.status = 'enabled';
  IF NOT FOUND THEN
    outcome := 'disabled';
    RETURN;
  END IF;
  events := lock_event_contacts(ARRAY[
    ROW(0, account, domain, contact, '', given, 0, NULL, NULL, automation)::new_event
  ]);
  IF events IS NULL THEN
    outcome := 'no_contact';
    RETURN;
  END IF;
  PERFORM lock_contact_runs(ARRAY[contact]);
  -- Locked as events do: a transaction that disables or stops the automation waits for this one, or the reverse.
  PERFORM FROM automation_triggers t WHERE t.account_id = account AND t.automation_id = automation FOR KEY SHARE;
  IF NOT FOUND THEN
    outcome := 'disabled';
    RETURN;
  END IF;
  entries := find_entries(events, true);
  IF entries IS NULL THEN
    outcome := 'entered';
    RETURN;
  END IF;
  stored := start_runs(events, entries,
    ARRAY[ROW(0, ordered_id(id_time(clock_timestamp()), 0, random_tail()), contact, 0)::stored_event], true);
  SELECT r.id INTO run_id FROM runs_of(account, contact) AS r WHERE r.since_event = stored[1].id;
  outcome := coalesce((SELECT max(n.obstacle) FROM unnest(entries) AS n), 'started');
  IF run_id IS NOT NULL THEN
    PERFORM nudge_runs();
  END IF;
END
$$;
