DROP FUNCTION IF EXISTS receive_emails; -- whatever it took before
DROP FUNCTION IF EXISTS quota_room(uuid);
DROP TYPE IF EXISTS received CASCADE;

-- One message, for one of the accounts that it is for.
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
  start integer -- where its content begins in `bytes`, counted from 1; null: it is in its blob already
);

-- Stores every message that is waiting, in one round trip and one commit: with what is short of them, and one job for all
-- (a hundred each). What was stored before, in 7 days for the same recipients, is not stored again: its sender did not
-- hear the answer. That is so of what has a Message-ID; two alarms of a device that writes none are two.
--
-- given: a list of received, whose positions count from 0. bytes: the contents that are in no blob yet. short: as many of
-- them lie in the row of their blob. Statements go by index, as in accept_emails.sql.
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

  -- 1. The usage of accounts that is limited is locked before anything else, as when emails are accepted.
  limited := lock_usage(ARRAY(SELECT r.account_id FROM unnest(emails) AS r));

  -- 2. The bytes, sorted: two statements in different order would deadlock. From here on nobody else stores the same message
  -- until this transaction ends: its blob is locked, one that was written before as well, even when it is left as it is
  -- (blobs.ts says when, and what is short).
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

  -- 3. What is new, of what was stored before and of what came twice just now. By the hash alone (OFFSET 0): a plan that is
  -- made while there is little mail takes the index of the account as well, and reads all of its mail for it later.
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

  -- 4. A domain may have gone since its recipient was accepted: the message has not.
  INSERT INTO received_emails (account_id, id, domain_id, mail_from, received_for, client, sha256, size, raw_blob_id)
  SELECT r.account_id, r.id, o.id, r.mail_from, r.received_for, r.client, r.sha256, r.size, b.id
  FROM unnest(emails) AS r
  JOIN blobs b ON b.account_id = r.account_id AND b.sha256 = r.sha256
  LEFT JOIN domains o ON o.account_id = r.account_id AND o.id = r.domain_id
  WHERE r.position = ANY (fresh);

  -- 5. What was accepted counts, even beyond the quota: whoever is over it is refused at the next recipient.
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

-- How many emails the account may still send or receive, now; null is any number.
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
