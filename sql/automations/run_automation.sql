DROP FUNCTION IF EXISTS run_automation(uuid, uuid, uuid, text, jsonb);

-- Has a contact of its domain, given by id or by address, enter an automation without an event. As store_events.sql does: a
-- contact enters once at a time, whoever disables or stops the automation waits or is waited for, and a run counts for the
-- quota.
--
-- outcome  started | disabled | no_contact | reentry (it may not enter again) | limit (too often in a day) | quota
-- run_id   of a run that was started
CREATE FUNCTION run_automation(account uuid, automation uuid, contact uuid, address text, given_payload jsonb,
  OUT outcome text, OUT run_id uuid, OUT contact_id uuid)
LANGUAGE plpgsql AS $$
DECLARE
  event new_event;
  entry run_entry;
  quotas jsonb;
  stored stored_event;
BEGIN
  outcome := 'no_contact';
  event := (
    SELECT ROW(0, a.account_id, a.domain_id, c.id, a.event, given_payload, 0, NULL, random_tail())::new_event
    FROM automations a JOIN contacts c ON c.account_id = a.account_id AND c.domain_id = a.domain_id
    WHERE a.account_id = account AND a.id = automation AND (c.id = contact OR c.email = address)
  );
  IF event IS NULL OR lock_event_contacts(ARRAY[event]) IS NULL THEN
    RETURN;
  END IF;
  contact_id := event.contact_id;
  PERFORM lock_contact_runs(ARRAY[event.contact_id]);

  outcome := 'disabled';
  PERFORM FROM automation_triggers t WHERE t.account_id = account AND t.automation_id = automation FOR KEY SHARE;
  IF NOT FOUND THEN
    RETURN;
  END IF;

  outcome := 'reentry';
  SELECT n.* INTO entry FROM unnest(entries_without(ARRAY[event], '{}')) AS n WHERE n.automation_id = automation;
  IF entry.automation_id IS NULL THEN
    RETURN;
  END IF;
  outcome := coalesce(entry.obstacle, 'quota');
  quotas := lock_run_quotas(ARRAY[account]);
  IF entry.obstacle IS NOT NULL OR (quotas ->> account::text)::bigint < 1 THEN
    RETURN;
  END IF;

  stored := ROW(0, ordered_id(clock_timestamp(), 0, event.tail), event.contact_id, 0)::stored_event;
  PERFORM start_runs(ARRAY[event], ARRAY[entry], ARRAY[stored], true);
  SELECT r.id INTO run_id FROM automation_runs r
  WHERE r.account_id = account AND r.contact_id = event.contact_id AND r.automation_id = automation
    AND r.since_event = stored.id;
  outcome := CASE WHEN run_id IS NULL THEN 'reentry' ELSE 'started' END;
  IF run_id IS NOT NULL THEN
    PERFORM nudge_runs();
  END IF;
END
$$;
