DROP FUNCTION IF EXISTS give_up_after();

-- Returns how long a delivery is retried, counted from when it was first due. RFC 5321 4.5.4.1 advises 4 to 5 days;
-- callers of an API stop waiting sooner.
CREATE FUNCTION give_up_after() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '72 hours'
$$;
