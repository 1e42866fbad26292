DROP FUNCTION IF EXISTS job_attempts();
DROP FUNCTION IF EXISTS job_priority(text);

-- Returns the most attempts of a job.
CREATE FUNCTION job_attempts() RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT 5
$$;

-- Returns the priority of a job; higher numbers run later. Anybody can cause a flood of parse_email, which must not
-- delay other jobs.
CREATE FUNCTION job_priority(name text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE name WHEN 'parse_email' THEN 20 ELSE 0 END
$$;
