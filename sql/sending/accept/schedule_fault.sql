DROP FUNCTION IF EXISTS schedule_fault(timestamptz);

-- Returns why an email cannot be scheduled for that moment: schedule_past, schedule_too_far, or null. The process that
-- read the request has checked the schedule to the second on arrival, by its copy of this clock
-- (lib/sending/schedule.ts). This only catches a process whose copy is wrong by more than ids may be off
-- (judge_drafts.sql).
CREATE FUNCTION schedule_fault(scheduled_at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN scheduled_at < now() - interval '1 minute' THEN 'schedule_past'
    WHEN scheduled_at > now() + interval '30 days 1 minute' THEN 'schedule_too_far'
  END
$$;
