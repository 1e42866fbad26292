DROP FUNCTION IF EXISTS is_stopped(uuid, uuid);
DROP FUNCTION IF EXISTS has_stopped_campaigns(uuid[], uuid[]);
DROP FUNCTION IF EXISTS share_campaigns(uuid[], uuid[], boolean);
DROP FUNCTION IF EXISTS lock_campaigns(uuid[], uuid[]);

-- Returns true if no mail of the campaign may be sent at the moment, or any more.
CREATE FUNCTION is_stopped(account uuid, campaign uuid) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM campaigns g WHERE g.account_id = account AND g.id = campaign AND g.status IN ('paused', 'canceled', 'failed')
  );
END
$$;

-- Returns true if any of these deliveries belongs to such a campaign.
CREATE FUNCTION has_stopped_campaigns(accounts uuid[], ids uuid[]) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN EXISTS (
    SELECT FROM (
      SELECT DISTINCT d.account_id, d.campaign_id FROM deliveries_by_key(accounts, ids) AS d WHERE d.campaign_id IS NOT NULL
      OFFSET 0 -- otherwise the campaign is looked up for each delivery
    ) c
    WHERE is_stopped(c.account_id, c.campaign_id)
  );
END
$$;

-- Locks the campaigns of these deliveries that are stopped, or those that are not, until the transaction ends; skips those
-- that are being changed. Returns their ids.
CREATE FUNCTION share_campaigns(accounts uuid[], ids uuid[], are_stopped boolean) RETURNS uuid[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT g.id FROM (
      SELECT DISTINCT d.account_id, d.campaign_id FROM deliveries_by_key(accounts, ids) AS d WHERE d.campaign_id IS NOT NULL
    ) c
    CROSS JOIN LATERAL (
      SELECT id FROM campaigns g
      WHERE g.account_id = c.account_id AND g.id = c.campaign_id
        AND (g.status IN ('paused', 'canceled', 'failed')) = are_stopped
      FOR SHARE SKIP LOCKED
    ) g
  );
END
$$;

-- Locks the campaigns of deliveries that are about to be claimed against being paused or canceled. Returns the
-- deliveries without those of campaigns that are stopped or being changed.
CREATE FUNCTION lock_campaigns(INOUT accounts uuid[], INOUT ids uuid[])
LANGUAGE plpgsql AS $$
DECLARE
  locked uuid[];
BEGIN
  locked := share_campaigns(accounts, ids, false);
  -- Mail of a deleted campaign cannot be stopped any more.
  SELECT array_agg(d.account_id), array_agg(d.id) INTO accounts, ids FROM deliveries_by_key(accounts, ids) AS d
  WHERE d.campaign_id IS NULL OR d.campaign_id = ANY (locked) OR NOT EXISTS (
    SELECT FROM campaigns g WHERE g.account_id = d.account_id AND g.id = d.campaign_id
  );
END
$$;
