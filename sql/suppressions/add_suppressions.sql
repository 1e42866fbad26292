DROP FUNCTION IF EXISTS add_suppressions(suppressions[]);

-- Suppresses addresses because of bounces and complaints. Returns the entries that were added or replaced.
--
-- A complaint replaces any other entry; otherwise an entry that has expired, or expires earlier, is replaced. An active
-- complaint stays the reason when its address bounces as well, until the later of both ends.
CREATE FUNCTION add_suppressions(given suppressions[]) RETURNS suppressions[]
LANGUAGE plpgsql AS $$
DECLARE
  added suppressions[];
BEGIN
  WITH stored AS (
    INSERT INTO suppressions AS s (account_id, id, address, reason, cause, source_email_id, expires_at)
    SELECT DISTINCT ON (g.account_id, g.address) g.account_id, g.id, g.address, g.reason, g.cause, g.source_email_id,
      g.expires_at
    FROM unnest(given) AS g
    ORDER BY g.account_id, g.address, coalesce(g.expires_at, 'infinity') DESC
    ON CONFLICT (account_id, address) DO UPDATE SET (id, reason, cause, source_email_id, created_at, expires_at) = (
      SELECT s.id, s.reason, s.cause, s.source_email_id, s.created_at, excluded.expires_at
      WHERE s.reason = 'complaint' AND excluded.reason <> 'complaint' AND s.expires_at > now()
      UNION ALL
      SELECT excluded.id, excluded.reason, excluded.cause, excluded.source_email_id, excluded.created_at, excluded.expires_at
      WHERE (s.reason = 'complaint' AND excluded.reason <> 'complaint' AND s.expires_at > now()) IS NOT TRUE
    )
      WHERE s.expires_at < coalesce(excluded.expires_at, 'infinity')
        OR excluded.reason = 'complaint' AND s.reason <> 'complaint'
    RETURNING s
  )
  SELECT array_agg(x.s) INTO added FROM stored x
  WHERE (x.s).id IN (SELECT g.id FROM unnest(given) AS g);
  RETURN added;
END
$$;
