DROP FUNCTION IF EXISTS schedule_fault(timestamptz);

-- Why an email cannot be scheduled for that moment: schedule_past, schedule_too_far, or null. By the database's clock,
-- since that decides what is due.
CREATE FUNCTION schedule_fault(scheduled_at timestamptz) RETURNS text
LANGUAGE sql STABLE AS $$
  SELECT CASE
    WHEN scheduled_at <= now() THEN 'schedule_past'
    WHEN scheduled_at > now() + interval '30 days' THEN 'schedule_too_far'
  END
$$;
