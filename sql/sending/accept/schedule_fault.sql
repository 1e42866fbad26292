DROP FUNCTION IF EXISTS schedule_fault(timestamptz);

-- Why an email cannot be scheduled for that moment: schedule_past, schedule_too_far, or null. The process that read the
-- request has judged its schedule to the second (lib/sending/schedule.ts), when it arrived and by its copy of this clock. This only
-- stops one whose copy is wrong, by as much as ids may be off (judge_drafts.sql).
CREATE FUNCTION schedule_fault(scheduled_at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN scheduled_at < now() - interval '1 minute' THEN 'schedule_past'
    WHEN scheduled_at > now() + interval '30 days 1 minute' THEN 'schedule_too_far'
  END
$$;
