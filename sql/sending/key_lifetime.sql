DROP FUNCTION IF EXISTS key_lifetime();

-- Returns how long an idempotency key is kept.
CREATE FUNCTION key_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '24 hours'
$$;
