-- Progress of campaigns that are being sent.

-- next_at  when the run is looked at again, at the latest; its job moves it on while it works, so that a job that died is noticed
-- judged   figures of the campaign when its bounces and complaints were last judged
ALTER TABLE campaign_runs
  ADD COLUMN next_at timestamptz NOT NULL DEFAULT now(),
  ADD COLUMN judged jsonb NOT NULL DEFAULT '{}';
-- Runs that are under way or not yet cleared away.
CREATE INDEX campaign_runs_open ON campaign_runs (next_at) WHERE finished_at IS NULL;
