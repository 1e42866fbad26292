DROP FUNCTION IF EXISTS fence_deliveries(uuid[], uuid[], integer[], uuid[], double precision);
DROP FUNCTION IF EXISTS fence_watched(uuid[], uuid[], integer[], uuid[], double precision);

-- The last step before a final dot: only a claim with a valid lease may go on, and from here on a lost lease is in
-- doubt. Returns the tokens that may; the dot of any other must not be written.
--
-- Locks rows one by one by key, in the order of ids, so that two statements cannot deadlock. The plan is made once:
-- planning costs twice as much as running it, and it runs for every few messages.
CREATE FUNCTION fence_deliveries(accounts uuid[], ids uuid[], attempts integer[], owners uuid[], lease_seconds double precision)
RETURNS TABLE (account_id uuid, id uuid, attempt integer, lease_owner uuid)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH mine AS MATERIALIZED (
    SELECT d.account_id, d.id
    FROM (SELECT * FROM unnest(accounts, ids, attempts, owners) AS t(account_id, id, attempt, lease_owner) ORDER BY t.id) t
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = t.account_id AND d.id = t.id AND d.attempt = t.attempt AND d.lease_owner = t.lease_owner
      FOR NO KEY UPDATE
    ) d
    WHERE d.phase = 'pre' AND d.lease_until > now()
  )
  UPDATE deliveries d SET phase = 'dot', lease_until = now() + make_interval(secs => lease_seconds)
  FROM mine WHERE d.account_id = mine.account_id AND d.id = mine.id
  RETURNING d.account_id, d.id, d.attempt, d.lease_owner;
END
$$;

-- The same for mail of campaigns, automations and topics. It may have waited for a slot since its claim, so this
-- repeats the checks of the claim. Returns each token with a valid lease: `is_allowed` if its dot may be written, else
-- the reason. A delivery that is not allowed stays in the phase `pre` and must be settled.
CREATE FUNCTION fence_watched(accounts uuid[], ids uuid[], attempts integer[], owners uuid[], lease_seconds double precision)
RETURNS TABLE (account_id uuid, id uuid, attempt integer, lease_owner uuid, is_allowed boolean, suppressed boolean,
  unsubscribed boolean, has_left boolean, is_stopped boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  is_closed boolean := (SELECT p.paused_at IS NOT NULL FROM platform p);
BEGIN
  RETURN QUERY
  WITH mine AS MATERIALIZED (
    SELECT d.*
    FROM (SELECT * FROM unnest(accounts, ids, attempts, owners) AS t(account_id, id, attempt, lease_owner) ORDER BY t.id) t
    CROSS JOIN LATERAL (
      SELECT * FROM deliveries d
      WHERE d.account_id = t.account_id AND d.id = t.id AND d.attempt = t.attempt AND d.lease_owner = t.lease_owner
      FOR NO KEY UPDATE
    ) d
    WHERE d.phase = 'pre' AND d.lease_until > now()
  ), halted AS MATERIALIZED (
    -- OFFSET 0: otherwise the campaign is looked up for each delivery.
    SELECT c.campaign_id FROM (
      SELECT DISTINCT d.account_id, d.campaign_id FROM mine d WHERE d.campaign_id IS NOT NULL OFFSET 0
    ) c
    WHERE is_stopped(c.account_id, c.campaign_id)
  ), seen AS MATERIALIZED (
    SELECT d.account_id, d.id, d.attempt, d.lease_owner,
      EXISTS (
        SELECT FROM suppressions s WHERE s.account_id = d.account_id AND s.address = lower(d.recipient)
          AND (s.expires_at IS NULL OR s.expires_at > now())
      ) AS suppressed,
      d.topic_id IS NOT NULL AND (
        SELECT NOT s.is_subscribed FROM topic_subscription(d.account_id, e.domain_id, lower(d.recipient), d.topic_id) AS s
      ) AS unsubscribed,
      l.has_left,
      d.automation_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM automations a WHERE a.account_id = d.account_id AND a.id = d.automation_id
          AND (d.automation_version <= a.stopped_version) IS NOT TRUE
      ) AS is_stopped,
      is_closed OR d.campaign_id IS NOT NULL AND d.campaign_id IN (SELECT h.campaign_id FROM halted h)
        OR EXISTS (SELECT FROM accounts a WHERE a.id = d.account_id AND a.paused_at IS NOT NULL)
        OR EXISTS (SELECT FROM domains o WHERE o.account_id = d.account_id AND o.id = e.domain_id AND o.paused_at IS NOT NULL)
        AS is_paused
    FROM mine d CROSS JOIN email_of(d.account_id, d.email_id) AS e
    CROSS JOIN LATERAL contact_left(d.account_id, e.contact_id, d.campaign_id, d.automation_id, d.priority) AS l
  ), allowed AS (
    UPDATE deliveries d SET phase = 'dot', lease_until = now() + make_interval(secs => lease_seconds)
    FROM seen s WHERE d.account_id = s.account_id AND d.id = s.id
      AND NOT (s.suppressed OR s.unsubscribed OR s.has_left OR s.is_stopped OR s.is_paused)
    RETURNING d.id
  )
  SELECT s.account_id, s.id, s.attempt, s.lease_owner, s.id IN (SELECT a.id FROM allowed a), s.suppressed,
    s.unsubscribed OR s.has_left, s.has_left, s.is_stopped
  FROM seen s;
END
$$;
