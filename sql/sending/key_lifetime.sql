DROP FUNCTION IF EXISTS key_lifetime();

-- How long an idempotency key is remembered (contract 1.3).
CREATE FUNCTION key_lifetime() RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT interval '24 hours'
$$;
