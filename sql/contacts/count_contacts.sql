-- Triggers that keep audience_counts exact (migrations/0028_contacts.sql).

-- Returns the shard to count in. Concurrent transactions of different backends mostly use different shards and do not
-- wait for each other. An import selects its own by the setting `mailbrook.count_shard`, since it holds the shard for a
-- whole slice.
CREATE OR REPLACE FUNCTION count_shard() RETURNS smallint LANGUAGE sql STABLE AS $$
  SELECT coalesce(nullif(current_setting('mailbrook.count_shard', true), '')::smallint, (pg_backend_pid() % 8)::smallint)
$$;

CREATE OR REPLACE FUNCTION add_to_count(account uuid, audience uuid, change bigint) RETURNS void LANGUAGE sql AS $$
  INSERT INTO audience_counts AS a (account_id, audience_id, shard, contacts)
  VALUES (account, audience, count_shard(), change)
  ON CONFLICT (account_id, audience_id, shard) DO UPDATE SET contacts = a.contacts + excluded.contacts
$$;

-- All contacts of a domain are in its default audience, which has its id.
CREATE OR REPLACE FUNCTION count_contacts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_count(n.account_id, n.domain_id, CASE tg_op WHEN 'INSERT' THEN n.contacts ELSE -n.contacts END)
  FROM (SELECT account_id, domain_id, count(*) AS contacts FROM changed GROUP BY 1, 2 ORDER BY 1, 2) n;
  RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_audience_members() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_count(n.account_id, n.audience_id, CASE tg_op WHEN 'INSERT' THEN n.contacts ELSE -n.contacts END)
  FROM (SELECT account_id, audience_id, count(*) AS contacts FROM changed GROUP BY 1, 2 ORDER BY 1, 2) n;
  RETURN NULL;
END $$;
