DROP FUNCTION IF EXISTS is_tracking_record(domain_records, text);

-- Returns true if the CNAME record of a tracking host exists, by the last check that DNS responded to: a domain is
-- `verified` only once its records were found, and stays so while DNS does not respond.
CREATE FUNCTION is_tracking_record(record domain_records, domain_status text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
  SELECT record.status = 'verified' OR record.status = 'temporary_failure' AND domain_status = 'verified'
$$;
