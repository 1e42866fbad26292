-- How events start runs of automations and wake them, and the quota of runs.

ALTER TABLE contact_events ADD COLUMN enrolled integer NOT NULL DEFAULT 0; -- runs that it started

-- The runs of a contact are found by its id alone, whatever the planner believes about the table (sql/events/runs_of.sql).
CREATE INDEX automation_runs_by_contact ON automation_runs (contact_id);

-- Events that steps of a version wait for. Filled by a trigger, whose function is replaced by sql/events/note_waits.sql.
CREATE TABLE automation_waits (
  account_id uuid NOT NULL,
  event text NOT NULL,
  automation_id uuid NOT NULL,
  version integer NOT NULL,
  PRIMARY KEY (account_id, event, automation_id, version),
  FOREIGN KEY (account_id, automation_id, version) REFERENCES automation_versions (account_id, automation_id, version)
    ON DELETE CASCADE
);
CREATE FUNCTION note_waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER note_waits AFTER INSERT ON automation_versions FOR EACH ROW EXECUTE FUNCTION note_waits();

ALTER TABLE plans ADD COLUMN automation_runs integer CHECK (automation_runs >= 0); -- in any 30 days; null: no limit
UPDATE plans SET automation_runs = 1000 WHERE name = 'free';

-- As ai_usage: a run counts until its whole hour has left the window. Accounts without a limit are not counted.
-- limited  runs that events of ours, such as email.opened, did not start for want of quota
CREATE TABLE automation_usage (
  account_id uuid NOT NULL REFERENCES accounts,
  hour timestamptz NOT NULL,
  runs integer NOT NULL DEFAULT 0 CHECK (runs >= 0),
  limited bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, hour)
);
