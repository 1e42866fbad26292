DROP FUNCTION IF EXISTS usage_window(text);

-- Returns the window of a quota ('day', 'month'): its length plus one bucket, since the oldest bucket counts until all
-- of it has left the window.
CREATE FUNCTION usage_window(win text) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE win WHEN 'day' THEN interval '24 hours 1 minute' WHEN 'month' THEN interval '30 days 1 hour' END
$$;
