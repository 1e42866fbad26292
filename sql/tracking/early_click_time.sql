DROP FUNCTION IF EXISTS early_click_time();

-- Returns how soon after the delivery a click is a machine's: nobody opens and follows an email that fast.
CREATE FUNCTION early_click_time() RETURNS interval LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT interval '3 seconds'
$$;
