DROP FUNCTION IF EXISTS job_attempts();
DROP FUNCTION IF EXISTS job_priority(text);

-- How often a job is tried.
CREATE FUNCTION job_attempts() RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT 5
$$;

-- Jobs of a higher number run later. Anybody can cause a flood of parse_email, which must not keep others waiting.
CREATE FUNCTION job_priority(name text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE name WHEN 'parse_email' THEN 20 ELSE 0 END
$$;
