DROP FUNCTION IF EXISTS forget_expired_emails(integer, integer);

-- Deletes contents, files, events, polls and recipients of at most max_count settled emails older than `days`. Their
-- rows in emails are kept for counts (quotas, reputation), without addresses and subject. Returns how many.
CREATE FUNCTION forget_expired_emails(days integer, max_count integer) RETURNS integer
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
DECLARE
  accounts uuid[];
  ids uuid[];
BEGIN
  -- Emails are locked first and in order, as when their deliveries are settled.
  SELECT array_agg(e.account_id), array_agg(e.id) INTO accounts, ids FROM (
    SELECT e.account_id, e.id FROM (
      SELECT old.account_id, old.email_id FROM accounts a
      CROSS JOIN LATERAL (
        SELECT c.account_id, c.email_id FROM email_contents c
        WHERE c.account_id = a.id AND c.email_id < first_id(now() - make_interval(days => days)) AND NOT EXISTS (
          -- OFFSET 0: those of each email by the index. Otherwise Postgres may read all deliveries of the account.
          SELECT FROM deliveries d WHERE d.email_id = c.email_id AND d.account_id = c.account_id
            AND d.state IN ('queued', 'sending', 'in_doubt') OFFSET 0
        )
        ORDER BY c.email_id LIMIT max_count
      ) old
      LIMIT max_count
    ) expired
    JOIN emails e ON e.account_id = expired.account_id AND e.id = expired.email_id
    ORDER BY e.id FOR NO KEY UPDATE OF e
  ) e;
  IF ids IS NULL THEN
    RETURN 0;
  END IF;

  PERFORM forget_emails(accounts, ids);
  RETURN cardinality(ids);
END
$$;

DROP FUNCTION IF EXISTS forget_emails(uuid[], uuid[]);

-- The same for given emails, which must be locked.
CREATE FUNCTION forget_emails(accounts uuid[], ids uuid[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
  -- The poll of a step still counts them as sent (countSent in sql/polls/polls.ts), under an option that no poll has.
  INSERT INTO poll_counts AS n (account_id, poll_id, option, shard, count)
  SELECT p.account_id, p.id, '', pg_backend_pid() % 16, s.emails FROM (
    SELECT c.account_id, c.poll_id, count(*) AS emails FROM unnest(accounts, ids) AS x(account_id, id)
    JOIN email_contents c ON c.account_id = x.account_id AND c.email_id = x.id
    JOIN emails e ON e.account_id = x.account_id AND e.id = x.id
    WHERE c.poll_id IS NOT NULL AND e.automation_id IS NOT NULL AND e.sent_at IS NOT NULL
    GROUP BY 1, 2 ORDER BY 1, 2
  ) s
  -- Leaves out polls that are being deleted.
  CROSS JOIN LATERAL (
    SELECT * FROM polls p WHERE p.account_id = s.account_id AND p.id = s.poll_id FOR KEY SHARE
  ) p
  ON CONFLICT (account_id, poll_id, option, shard) DO UPDATE SET count = n.count + excluded.count;
  DELETE FROM email_events v USING unnest(accounts, ids) AS x(account_id, id)
  WHERE v.account_id = x.account_id AND v.email_id = x.id;
  DELETE FROM attachments f USING unnest(accounts, ids) AS x(account_id, id)
  WHERE f.account_id = x.account_id AND f.email_id = x.id;
  DELETE FROM deliveries d USING unnest(accounts, ids) AS x(account_id, id)
  WHERE d.account_id = x.account_id AND d.email_id = x.id;
  DELETE FROM email_contents c USING unnest(accounts, ids) AS x(account_id, id)
  WHERE c.account_id = x.account_id AND c.email_id = x.id;
  DELETE FROM polls p USING unnest(accounts, ids) AS x(account_id, id)
  WHERE p.account_id = x.account_id AND p.email_id = x.id;
  UPDATE campaign_recipients r SET email = NULL FROM unnest(accounts, ids) AS x(account_id, id)
  JOIN emails e ON e.account_id = x.account_id AND e.id = x.id
  WHERE e.campaign_id IS NOT NULL AND r.account_id = e.account_id AND r.campaign_id = e.campaign_id
    AND r.contact_id = e.contact_id AND r.run = e.campaign_run;
  UPDATE emails e SET "to" = '{}', cc = '{}', bcc = '{}', reply_to = '{}', subject = '', updated_at = now()
  FROM unnest(accounts, ids) AS x(account_id, id) WHERE e.account_id = x.account_id AND e.id = x.id;
  PERFORM empty_blocks_of(accounts, ids);
END
$$;

DROP FUNCTION IF EXISTS forget_settled_emails(uuid, uuid[]);

-- Does the same for the given emails of an account, except for those that are not settled. Returns for how many.
CREATE FUNCTION forget_settled_emails(account uuid, given uuid[]) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  ids uuid[];
BEGIN
  SELECT coalesce(array_agg(e.id), '{}') INTO ids FROM (
    SELECT m.id FROM emails m WHERE m.account_id = account AND m.id = ANY (given) AND NOT EXISTS (
      SELECT FROM deliveries d WHERE d.account_id = account AND d.email_id = m.id AND d.state IN ('queued', 'sending', 'in_doubt')
      OFFSET 0 -- as above
    )
    ORDER BY m.id FOR NO KEY UPDATE
  ) e;
  PERFORM forget_emails(array_fill(account, ARRAY[cardinality(ids)]), ids);
  RETURN cardinality(ids);
END
$$;
