-- Recurring campaigns, sending in the time zones of recipients, and the frequency cap.

-- recurrence_every    days, weeks or months from one run to the next; null without recurrence
-- timezone            zone of `scheduled_at`: later runs, and local times, are at the same time of day there
-- first_run_at        scheduled_at of the first run, from which all others are counted
-- begins_at           when a scheduled campaign begins if that is before scheduled_at: it is earlier in the first time zone
ALTER TABLE campaigns
  ADD COLUMN recurrence text CHECK (recurrence IN ('daily', 'weekly', 'monthly')),
  ADD COLUMN recurrence_every integer,
  ADD COLUMN timezone text NOT NULL DEFAULT 'UTC',
  ADD COLUMN send_in_local_time boolean NOT NULL DEFAULT false,
  ADD COLUMN first_run_at timestamptz,
  ADD COLUMN begins_at timestamptz,
  ADD COLUMN skip_if_mailed_within_hours integer,
  ADD COLUMN exclude_unengaged_days integer;

-- scheduled_at  null: it was sent at once
-- outcome       null while it goes on, and of runs that ended before this migration: the status of the campaign
-- skipped       runs that were due before this one ended, and were left out
-- sender, subject, reply_to  as it is sent; null: those of the campaign
ALTER TABLE campaign_runs
  ADD COLUMN scheduled_at timestamptz,
  ADD COLUMN outcome text CHECK (outcome IN ('sent', 'canceled', 'failed')),
  ADD COLUMN skipped integer NOT NULL DEFAULT 0,
  ADD COLUMN sender text,
  ADD COLUMN subject text,
  ADD COLUMN reply_to text[];

ALTER TABLE campaign_links ADD COLUMN run integer NOT NULL DEFAULT 1;
ALTER TABLE campaign_links DROP CONSTRAINT campaign_links_pkey;
ALTER TABLE campaign_links ADD PRIMARY KEY (account_id, campaign_id, run, variant, link);

-- An IANA name, as it was given.
ALTER TABLE contacts ADD COLUMN timezone text;
ALTER TABLE import_rows ADD COLUMN timezone text;

-- first_email_at  when the first email of a campaign to it was stored, as far as that is known; last_email_at, last_email_id: the last
ALTER TABLE contact_engagement
  ADD COLUMN first_email_at timestamptz,
  ADD COLUMN last_email_at timestamptz,
  ADD COLUMN last_email_id uuid;
