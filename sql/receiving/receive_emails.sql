DROP FUNCTION IF EXISTS receive_emails; -- with any parameters
DROP FUNCTION IF EXISTS quota_room(uuid);
DROP TYPE IF EXISTS received CASCADE;

-- A received message as one of the accounts that it is for stores it.
CREATE TYPE received AS (
  "position" integer,
  account_id uuid,
  id uuid,
  domain_id uuid,
  mail_from text,
  received_for text[],
  client jsonb,
  sha256 bytea,
  size integer,
  has_message_id boolean,
  raw_blob_id uuid,
  start integer -- where its content begins in `bytes`, counted from 1; null: its blob is stored already
);

-- Stores all waiting messages in one round trip and one commit, with their short contents and one job per hundred
-- messages. A message stored in the last 7 days for the same recipients is not stored again: its sender did not get the
-- response. That applies only to messages with a Message-ID; two alarms from a device that writes none are separate.
--
-- given: a list of received, whose positions count from 0. bytes: the contents without a blob. short: contents of at
-- most this many bytes are stored in the row of their blob. Statements use indexes, as in accept_emails.sql.
CREATE FUNCTION receive_emails(given json, bytes bytea, short integer) RETURNS void
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off
  SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
  emails received[];
  limited uuid[];
  fresh integer[];
BEGIN
  SELECT array_agg(r) INTO emails FROM json_populate_recordset(NULL::received, given) AS r;

  -- 1. Limited usage of accounts is locked before anything else, as when emails are accepted.
  limited := lock_usage(ARRAY(SELECT r.account_id FROM unnest(emails) AS r));

  -- 2. The contents, sorted: two statements in different order would deadlock. From here on no other transaction stores
  --   the same message until this one ends: its blob is locked, even if it was written earlier and stays unchanged
  --   (blobs.ts says when, and what is short).
  INSERT INTO blobs (account_id, id, store, sha256, size, data)
  SELECT DISTINCT ON (r.account_id, r.sha256) r.account_id, r.raw_blob_id, 'postgres', r.sha256, r.size,
    CASE WHEN r.size <= short THEN substring(bytes FROM r.start FOR r.size) END
  FROM unnest(emails) AS r WHERE r.start IS NOT NULL
  ORDER BY r.account_id, r.sha256
  ON CONFLICT (account_id, sha256) DO UPDATE SET used_at = now() WHERE blobs.used_at < now() - interval '1 hour';
  IF EXISTS (SELECT FROM unnest(emails) AS r WHERE r.start IS NOT NULL AND r.size > short) THEN
    INSERT INTO blob_chunks (account_id, blob_id, position, data)
    SELECT r.account_id, r.raw_blob_id, 0, substring(bytes FROM r.start FOR r.size)
    FROM unnest(emails) AS r JOIN blobs b ON b.account_id = r.account_id AND b.id = r.raw_blob_id
    WHERE r.start IS NOT NULL AND r.size > short;
  END IF;
  IF EXISTS (SELECT FROM unnest(emails) AS r WHERE r.start IS NULL) THEN
    PERFORM FROM (SELECT DISTINCT r.account_id, r.raw_blob_id FROM unnest(emails) AS r ORDER BY 1, 2) w
    CROSS JOIN LATERAL (
      SELECT FROM blobs b WHERE b.account_id = w.account_id AND b.id = w.raw_blob_id FOR NO KEY UPDATE
    ) l;
  END IF;

  -- 3. Find new messages, compared with stored ones and with each other. Only by the hash (OFFSET 0): a plan made while
  --   there is little mail also uses the index of the account, and later reads all of its mail.
  SELECT coalesce(array_agg(n.position), '{}') INTO fresh FROM (
    SELECT DISTINCT ON (r.account_id, r.sha256, ARRAY(SELECT unnest(r.received_for) ORDER BY 1), lone) r.position
    FROM unnest(emails) AS r CROSS JOIN LATERAL (SELECT CASE WHEN NOT r.has_message_id THEN r.position END AS lone) l
    WHERE NOT r.has_message_id OR NOT EXISTS (
      SELECT FROM (SELECT * FROM received_emails WHERE sha256 = r.sha256 OFFSET 0) e
      WHERE e.account_id = r.account_id
        AND e.received_for @> r.received_for AND e.received_for <@ r.received_for
        AND e.created_at > now() - interval '7 days'
    )
    ORDER BY r.account_id, r.sha256, ARRAY(SELECT unnest(r.received_for) ORDER BY 1), lone, r.position
  ) n;

  -- 4. The domain may have been deleted since the recipient was accepted; the message is stored anyway. Waits for a deletion
  --   that has begun.
  INSERT INTO received_emails (account_id, id, domain_id, mail_from, received_for, client, sha256, size, raw_blob_id)
  SELECT r.account_id, r.id, o.id, r.mail_from, r.received_for, r.client, r.sha256, r.size, b.id
  FROM unnest(emails) AS r
  JOIN blobs b ON b.account_id = r.account_id AND b.sha256 = r.sha256
  LEFT JOIN LATERAL (
    SELECT id FROM domains d WHERE d.account_id = r.account_id AND d.id = r.domain_id FOR KEY SHARE
  ) o ON true
  WHERE r.position = ANY (fresh);

  -- 5. Accepted messages count even beyond the quota: the next recipient is then refused.
  IF limited <> '{}' THEN
    PERFORM debit_usage(ARRAY(
      SELECT ROW(q.position, q.account_id, NULL, q.quota_debit,
        CASE WHEN q.refusal IS NULL THEN q.credit_debit ELSE 0 END, NULL, NULL, NULL)::quota_decision
      FROM decide_quotas(ARRAY(
        SELECT ROW(r.position, r.account_id, cardinality(r.received_for), NULL)::quota_request
        FROM unnest(emails) AS r WHERE r.account_id = ANY (limited) AND r.position = ANY (fresh)
      )) AS q
    ));
  END IF;

  IF fresh <> '{}' THEN
    PERFORM graphile_worker.add_jobs(array_agg(
      json_populate_record(NULL::graphile_worker.job_spec, json_build_object(
        'identifier', 'parse_email', 'payload', json_build_object('ids', j.ids), 'max_attempts', job_attempts(),
        'priority', job_priority('parse_email')))
    )) FROM (
      SELECT json_agg(json_build_object('account_id', f.account_id, 'id', f.id) ORDER BY f.n) AS ids FROM (
        SELECT r.account_id, r.id, row_number() OVER (ORDER BY r.position) AS n
        FROM unnest(emails) AS r WHERE r.position = ANY (fresh)
      ) f GROUP BY (f.n - 1) / 100
    ) j;
  END IF;
END
$$;

-- Returns how many emails the account may still send or receive now; null: no limit.
CREATE FUNCTION quota_room(account uuid) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
  plan plans;
  room bigint;
BEGIN
  SELECT p.* INTO plan FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = account;
  IF plan.emails_per_day IS NOT NULL THEN
    room := plan.emails_per_day - (SELECT coalesce(sum(emails), 0) FROM usage_minutes m
      WHERE m.account_id = account AND m.minute > now() - usage_window('day'));
  END IF;
  IF plan.emails_per_month IS NOT NULL THEN
    room := least(room, (SELECT u.credits FROM account_usage u WHERE u.account_id = account)
      + greatest(0, plan.emails_per_month - (SELECT coalesce(sum(emails), 0) FROM usage_hours h
        WHERE h.account_id = account AND h.hour > now() - usage_window('month'))));
  END IF;
  RETURN room;
END
$$;
