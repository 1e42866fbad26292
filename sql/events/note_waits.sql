-- Stores the events that the steps of a new version wait for.
CREATE OR REPLACE FUNCTION note_waits() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO automation_waits (account_id, event, automation_id, version)
  SELECT DISTINCT new.account_id, s.step #>> '{config,event_name}', new.automation_id, new.version
  FROM jsonb_array_elements(new.graph -> 'steps') AS s(step)
  WHERE s.step ->> 'type' = 'wait_for_event' AND s.step #>> '{config,event_name}' IS NOT NULL;
  RETURN NULL;
END $$;
