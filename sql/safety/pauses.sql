DROP FUNCTION IF EXISTS park_deliveries(uuid[], uuid[]);
DROP FUNCTION IF EXISTS release_deliveries(integer);

-- Postpones due deliveries until they are released, so that claims do not read them over and over: among these, the ones
-- whose account, domain or campaign is paused, or whose campaign was canceled (they are canceled later). Returns the ids
-- of the postponed deliveries; skips rows that another worker has locked, and mail of a campaign that is being changed:
-- one that is resumed at this moment releases what was postponed before.
CREATE FUNCTION park_deliveries(accounts uuid[], ids uuid[]) RETURNS uuid[]
LANGUAGE plpgsql AS $$
DECLARE
  stopped uuid[];
  parked uuid[];
BEGIN
  stopped := share_campaigns(accounts, ids, true);
  WITH waiting AS MATERIALIZED (
    SELECT d.account_id, d.id
    FROM unnest(accounts, ids) AS w(account_id, id)
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = w.account_id AND d.id = w.id AND d.state = 'queued' AND d.next_at <= now()
        AND (
          EXISTS (SELECT FROM accounts a WHERE a.id = d.account_id AND a.paused_at IS NOT NULL)
          OR EXISTS (
            SELECT FROM emails e JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
            WHERE e.account_id = d.account_id AND e.id = d.email_id AND o.paused_at IS NOT NULL
          )
          OR d.campaign_id = ANY (stopped)
        )
      FOR UPDATE SKIP LOCKED
    ) d
  ), changed AS (
    UPDATE deliveries d SET next_at = 'infinity', updated_at = now()
    FROM waiting w WHERE d.account_id = w.account_id AND d.id = w.id
    RETURNING d.id
  )
  SELECT coalesce(array_agg(id), '{}') INTO parked FROM changed;
  RETURN parked;
END
$$;

-- Makes at most max_count deliveries whose pause is over due again. Returns how many.
CREATE FUNCTION release_deliveries(max_count integer) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  released integer;
BEGIN
  WITH over AS MATERIALIZED (
    SELECT d.account_id, d.id FROM accounts a
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = a.id AND d.state = 'queued' AND d.next_at = 'infinity' AND NOT EXISTS (
        SELECT FROM emails e JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
        WHERE e.account_id = d.account_id AND e.id = d.email_id AND o.paused_at IS NOT NULL
      ) AND (d.campaign_id IS NULL OR NOT is_stopped(d.account_id, d.campaign_id))
      LIMIT max_count FOR UPDATE SKIP LOCKED
    ) d
    WHERE a.paused_at IS NULL
    LIMIT max_count
  )
  UPDATE deliveries d SET next_at = now(), resumed_at = now(), updated_at = now()
  FROM over WHERE d.account_id = over.account_id AND d.id = over.id;
  GET DIAGNOSTICS released = ROW_COUNT;
  RETURN released;
END
$$;
