DROP FUNCTION IF EXISTS first_id(timestamptz);

-- Returns the smallest id of a moment: ids begin with their time in milliseconds (RFC 9562 5.7).
CREATE FUNCTION first_id(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;
