-- State of runs between their steps, and the emails that they send.

-- wait_until     when its wait ends; null: it does not wait, or for an event without end
-- seen_event     events up to this one were looked at in this wait, and are not waited for
-- consumed       events that it has waited for, in their order
-- refused_since  when the email of its step was first refused for a reason that may pass
-- has_sent       whether an email of it was accepted; has_skipped: whether one was left out
ALTER TABLE automation_runs
  ADD COLUMN IF NOT EXISTS wait_until timestamptz,
  ADD COLUMN IF NOT EXISTS seen_event uuid,
  ADD COLUMN IF NOT EXISTS consumed uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN IF NOT EXISTS refused_since timestamptz,
  ADD COLUMN IF NOT EXISTS has_sent boolean NOT NULL DEFAULT false,
  ADD COLUMN IF NOT EXISTS has_skipped boolean NOT NULL DEFAULT false;

-- The automation and the version of the run that it is sent by, which are looked at once more when it is claimed.
ALTER TABLE deliveries ADD COLUMN IF NOT EXISTS automation_id uuid, ADD COLUMN IF NOT EXISTS automation_version integer;

-- Lists of the emails of an automation.
DROP INDEX CONCURRENTLY IF EXISTS emails_of_automation;
CREATE INDEX CONCURRENTLY emails_of_automation ON emails (account_id, automation_id, id) WHERE automation_id IS NOT NULL;
