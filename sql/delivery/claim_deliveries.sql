DROP FUNCTION IF EXISTS claim_deliveries(uuid, double precision, integer, text[], uuid[]),
  claim_deliveries(uuid, double precision, integer, text[], uuid[], integer),
  claim_deliveries(uuid, double precision, integer, text[], uuid[], integer, integer),
  claim_deliveries(uuid, double precision, integer, text[], uuid[], integer, integer, text[]);

-- Claims due deliveries for a worker: of the given emails, or (null) any, oldest first, transactional mail before other.
-- Skips rows that another worker is claiming. has_left: the contact unsubscribed from everything or was deleted;
-- unsubscribed: this, or the recipient is not subscribed to the topic; is_stopped: the run that sent it was stopped;
-- transport: that of its domain; is_watched: fence_watched repeats these checks.
--
-- A pause, a cancel and a stop wait for current claims of their mail; from their commit on none of it is claimed. The
-- claim never waits: mail of rows that are being changed is left for the next claim.
--
-- While the platform is paused nothing is claimed. Mail of a paused account or domain is postponed until the pause
-- ends, and so is what is due next, since a backlog would delay everything behind it.
--
-- The commit does not wait for the disk, unlike that of the fence: if Postgres crashes in between, the mail is queued as
-- before, and the fence refuses this claim.
--
-- newest_renderer: the newest version that the worker knows (lib/contents); workers of an earlier release pass none,
-- and leave mail that needs one to others. max_campaigns: limit for mail of priority 10 among due mail (campaigns and
-- marketing automations); null: max_count. bulk_busy: destinations that get no such mail; null: as busy_destinations.
--
-- Both lists read an index in its own order. A queue's index is full of entries of rows that have left it: a bitmap
-- scan or a sort would read all of them and never mark them dead. Each priority is a range of its own.
CREATE FUNCTION claim_deliveries(owner uuid, lease_seconds double precision, max_count integer,
  busy_destinations text[], email_ids uuid[], newest_renderer integer DEFAULT 0, max_campaigns integer DEFAULT NULL,
  bulk_busy text[] DEFAULT NULL)
RETURNS TABLE (account_id uuid, id uuid, attempt integer, lease_owner uuid, email_id uuid, recipient text,
  destination text, renderer smallint, suppressed boolean, unsubscribed boolean, transport text, has_left boolean,
  priority smallint, is_stopped boolean, is_watched boolean, is_campaign boolean)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_bitmapscan = off
  SET enable_sort = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  is_closed boolean; has_pauses boolean; has_transports boolean;
  accounts uuid[]; ids uuid[]; parked uuid[];
  have_topics boolean; have_campaigns boolean; have_automations boolean; has_stopped boolean := false;
  outsiders uuid[] := '{}'; -- recipients not subscribed to the topic
  leavers uuid[] := '{}';   -- recipients no longer a contact of the campaign or the automation
  stopped uuid[] := '{}';   -- mail of stopped runs
BEGIN
  SELECT p.paused_at IS NOT NULL, EXISTS (SELECT FROM accounts WHERE paused_at IS NOT NULL)
    OR EXISTS (SELECT FROM domains WHERE paused_at IS NOT NULL),
    EXISTS (SELECT FROM domains WHERE transport IS NOT NULL)
  INTO is_closed, has_pauses, has_transports FROM platform p;
  IF is_closed THEN
    RETURN;
  END IF;

  bulk_busy := coalesce(bulk_busy, busy_destinations);
  FOR round IN 1..4 LOOP
    IF email_ids IS NULL AND bulk_busy <> '{}' THEN
      -- There may be far more mail of campaigns to one busy destination than to all others.
      SELECT array_agg(account_id), array_agg(id), bool_or(topic_id IS NOT NULL), bool_or(campaign_id IS NOT NULL),
        bool_or(automation_id IS NOT NULL) INTO accounts, ids, have_topics, have_campaigns, have_automations FROM (
        SELECT d.account_id, d.id, d.topic_id, d.campaign_id, d.automation_id FROM (
          SELECT * FROM deliveries d
          WHERE d.state = 'queued' AND d.priority = 0 AND d.next_at <= now()
            AND d.destination <> ALL (busy_destinations) AND coalesce(d.renderer, 0) <= newest_renderer
          ORDER BY d.next_at, d.id LIMIT max_count FOR UPDATE SKIP LOCKED
        ) d
        UNION ALL
        SELECT d.account_id, d.id, d.topic_id, d.campaign_id, d.automation_id
        FROM due_campaign_mail(coalesce(least(max_campaigns, max_count), max_count), bulk_busy, newest_renderer) AS d
        LIMIT max_count
      ) due;
    ELSIF email_ids IS NULL THEN
      SELECT array_agg(account_id), array_agg(id), bool_or(topic_id IS NOT NULL), bool_or(campaign_id IS NOT NULL),
        bool_or(automation_id IS NOT NULL) INTO accounts, ids, have_topics, have_campaigns, have_automations FROM (
        SELECT d.account_id, d.id, d.topic_id, d.campaign_id, d.automation_id FROM (VALUES (0), (10)) AS p(priority)
        CROSS JOIN LATERAL (
          SELECT * FROM deliveries d
          WHERE d.state = 'queued' AND d.priority = p.priority AND d.next_at <= now()
            AND d.destination <> ALL (busy_destinations) AND coalesce(d.renderer, 0) <= newest_renderer
          ORDER BY d.next_at, d.id LIMIT CASE p.priority WHEN 0 THEN max_count ELSE least(max_campaigns, max_count) END
          FOR UPDATE SKIP LOCKED
        ) d
        LIMIT max_count
      ) due;
    ELSE
      SELECT array_agg(account_id), array_agg(id), bool_or(topic_id IS NOT NULL), bool_or(campaign_id IS NOT NULL),
        bool_or(automation_id IS NOT NULL) INTO accounts, ids, have_topics, have_campaigns, have_automations FROM (
        SELECT d.account_id, d.id, d.topic_id, d.campaign_id, d.automation_id FROM unnest(email_ids) AS e(id)
        CROSS JOIN LATERAL (
          SELECT * FROM deliveries d
          -- Written so that the index of due mail, which has another order, does not match.
          WHERE d.email_id = e.id AND (d.state = 'queued') IS NOT FALSE AND d.next_at <= now()
            AND d.destination <> ALL (CASE d.priority WHEN 0 THEN busy_destinations ELSE bulk_busy END)
            AND (d.priority = 0 OR max_campaigns > 0 OR max_campaigns IS NULL) AND coalesce(d.renderer, 0) <= newest_renderer
          FOR UPDATE SKIP LOCKED
        ) d
        LIMIT max_count
      ) due;
    END IF;
    EXIT WHEN ids IS NULL;
    IF have_campaigns THEN
      has_stopped := has_stopped_campaigns(accounts, ids);
    END IF;
    EXIT WHEN has_pauses IS NOT TRUE AND NOT has_stopped;

    parked := park_deliveries(accounts, ids);
    EXIT WHEN parked = '{}';
    PERFORM park_deliveries(array_agg(next.account_id), array_agg(next.id)) FROM (
      SELECT d.account_id, d.id FROM (VALUES (0), (10)) AS p(priority)
      CROSS JOIN LATERAL (
        SELECT * FROM deliveries d
        WHERE d.state = 'queued' AND d.priority = p.priority AND d.next_at <= now()
        ORDER BY d.next_at, d.id LIMIT 40 * cardinality(parked)
      ) d
    ) next;
    SELECT array_agg(w.account_id), array_agg(w.id) INTO accounts, ids
    FROM unnest(accounts, ids) AS w(account_id, id) WHERE w.id <> ALL (parked);
  END LOOP;

  -- Separate statements, since most mail has no campaign and no topic and should not pay for them.
  IF have_campaigns THEN
    SELECT l.accounts, l.ids INTO accounts, ids FROM lock_campaigns(accounts, ids) AS l;
  END IF;
  IF have_automations THEN
    SELECT l.accounts, l.ids, l.stopped INTO accounts, ids, stopped FROM lock_automations(accounts, ids) AS l;
  END IF;
  IF have_campaigns OR have_automations THEN
    leavers := find_leavers(accounts, ids);
  END IF;
  IF have_topics THEN
    outsiders := find_outsiders(accounts, ids);
  END IF;

  PERFORM set_config('synchronous_commit', 'off', true);
  RETURN QUERY
  UPDATE deliveries d SET
    state = 'sending', phase = 'pre', attempt = d.attempt + 1, lease_owner = owner,
    lease_until = now() + make_interval(secs => lease_seconds), next_at = NULL, updated_at = now()
  FROM unnest(accounts, ids) AS due(account_id, id)
  -- One by one: they are locked, so they stay in place. Only the index by key has this order, so no plan reads more.
  CROSS JOIN LATERAL (SELECT k.ctid AS place FROM deliveries k WHERE k.account_id = due.account_id AND k.id >= due.id
    AND k.id <= due.id ORDER BY k.id LIMIT 1) k
  WHERE d.ctid = k.place
  RETURNING d.account_id, d.id, d.attempt, d.lease_owner, d.email_id, d.recipient, d.destination, d.renderer, EXISTS (
    SELECT FROM suppressions s WHERE s.account_id = d.account_id AND s.address = lower(d.recipient)
      AND (s.expires_at IS NULL OR s.expires_at > now())
  ), d.id = ANY (outsiders) OR d.id = ANY (leavers), CASE WHEN has_transports THEN (
    SELECT o.transport FROM emails e JOIN domains o ON o.account_id = e.account_id AND o.id = e.domain_id
    WHERE e.account_id = d.account_id AND e.id = d.email_id
  ) END, d.id = ANY (leavers), d.priority, d.id = ANY (stopped),
    coalesce(d.campaign_id, d.automation_id, d.topic_id) IS NOT NULL, d.campaign_id IS NOT NULL;
END
$$;
