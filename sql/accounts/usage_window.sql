DROP FUNCTION IF EXISTS usage_window(text);

-- The window of a quota ('day', 'month'): its time and one bucket more, since the oldest bucket counts until all of it has left.
CREATE FUNCTION usage_window(win text) RETURNS interval LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE win WHEN 'day' THEN interval '24 hours 1 minute' WHEN 'month' THEN interval '30 days 1 hour' END
$$;
