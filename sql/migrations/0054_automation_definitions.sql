-- event            that its newest version starts by; null: the version is empty
-- stopped_version  runs of versions up to this one are not advanced any more, and end as `skipped`
ALTER TABLE automations ADD COLUMN event text, ADD COLUMN stopped_version integer NOT NULL DEFAULT 0;

-- A stop or a deletion of an automation locks its row FOR UPDATE. A worker that takes steps of its runs locks the row FOR KEY
-- SHARE, and then reads `stopped_version`: so it holds a run up to its commit, or sees that the run was stopped. A run whose
-- automation is gone was stopped too.

CREATE UNIQUE INDEX automation_triggers_of_automation ON automation_triggers (account_id, automation_id);

-- Automations with runs that are to be ended, or removed if the automation is gone (clear_runs.ts). No reference to automations.
CREATE TABLE automation_clearings (
  account_id uuid NOT NULL REFERENCES accounts,
  automation_id uuid NOT NULL,
  next_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, automation_id)
);
