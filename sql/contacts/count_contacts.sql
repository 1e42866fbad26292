-- Triggers that keep audience_counts exact (migrations/0028_contacts.sql).

-- Concurrent transactions of different backends mostly take different shards and wait for nobody. An import names one of
-- its own by the setting `mailbrook.count_shard`, which it holds as long as its slice takes.
CREATE OR REPLACE FUNCTION count_shard() RETURNS smallint LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('mailbrook.count_shard', true), '')::smallint, (pg_backend_pid() % 8)::smallint)
$$;

-- All contacts of a domain are in its default audience, which has its id.
CREATE OR REPLACE FUNCTION count_contacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audience_counts AS a (account_id, audience_id, shard, contacts)
  SELECT account_id, domain_id, count_shard(), CASE tg_op WHEN 'INSERT' THEN count(*) ELSE -count(*) END
  FROM changed GROUP BY account_id, domain_id
  ORDER BY account_id, domain_id
  ON CONFLICT (account_id, audience_id, shard) DO UPDATE SET contacts = a.contacts + excluded.contacts;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_audience_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audience_counts AS a (account_id, audience_id, shard, contacts)
  SELECT account_id, audience_id, count_shard(), CASE tg_op WHEN 'INSERT' THEN count(*) ELSE -count(*) END
  FROM changed GROUP BY account_id, audience_id
  ORDER BY account_id, audience_id
  ON CONFLICT (account_id, audience_id, shard) DO UPDATE SET contacts = a.contacts + excluded.contacts;
  RETURN NULL;
END $$;
