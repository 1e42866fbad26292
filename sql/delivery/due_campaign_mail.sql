DROP FUNCTION IF EXISTS due_campaign_mail(integer, text[], integer);
DROP FUNCTION IF EXISTS due_at_destinations(integer, text[], integer, text, text);

-- Locks due mail of campaigns and marketing automations (priority 10), except mail to busy destinations. Each
-- destination costs one step in the index, also if it is busy or has nothing due, and a paused campaign may have mail to
-- more of them than the 2000 that a claim passes. So a claim continues where the last one on its connection ended, and
-- each destination has its turn.
CREATE FUNCTION due_campaign_mail(max_count integer, busy_destinations text[], newest_renderer integer)
RETURNS SETOF deliveries
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_sort = off AS $$
DECLARE
  start text := coalesce(current_setting('mailbrook.passed_destination', true), chr(97 + floor(random() * 26)::integer));
  place text := start;
  first_at timestamptz; -- when the first of its mail is due
  is_second_part boolean := false;
  missing integer := max_count;
  found_here integer;
BEGIN
  FOR step IN 1..2000 LOOP
    EXIT WHEN missing <= 0;
    SELECT d.destination, d.next_at INTO place, first_at FROM deliveries d
    WHERE d.state = 'queued' AND d.priority = 10 AND d.destination > place ORDER BY d.destination, d.next_at LIMIT 1;
    IF place IS NULL THEN
      place := '';
      EXIT WHEN is_second_part;
      is_second_part := true;
      CONTINUE;
    END IF;
    EXIT WHEN is_second_part AND place > start;
    CONTINUE WHEN first_at > now() OR place = ANY (busy_destinations);

    RETURN QUERY SELECT * FROM deliveries d
    WHERE d.state = 'queued' AND d.priority = 10 AND d.destination = place AND d.next_at <= now()
      AND coalesce(d.renderer, 0) <= newest_renderer
    ORDER BY d.next_at, d.id LIMIT missing FOR UPDATE SKIP LOCKED;
    GET DIAGNOSTICS found_here = ROW_COUNT;
    missing := missing - found_here;
  END LOOP;
  PERFORM set_config('mailbrook.passed_destination', place, false);
END
$$;
