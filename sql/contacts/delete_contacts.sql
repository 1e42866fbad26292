DROP FUNCTION IF EXISTS delete_contacts(uuid, uuid[]);
DROP FUNCTION IF EXISTS given_contacts(json);
DROP FUNCTION IF EXISTS everything();
DROP FUNCTION IF EXISTS being_tracked();

-- Deletes contacts with their memberships and choices. Their opt-outs stay in contact_optouts, so that nobody gets mail
-- again, or is tracked, by being deleted and added again. Their automation runs end.
-- (SELECT account): contact_by_address.sql says why.
CREATE FUNCTION delete_contacts(account uuid, contact_ids uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO contact_optouts (account_id, domain_id, email_hash, topic_id)
  SELECT account, c.domain_id, sha256(convert_to(c.email, 'UTF8')), everything()
  FROM contacts c WHERE c.account_id = (SELECT account) AND c.id = ANY (contact_ids) AND c.unsubscribed
  UNION
  SELECT account, c.domain_id, sha256(convert_to(c.email, 'UTF8')), being_tracked()
  FROM contacts c WHERE c.account_id = (SELECT account) AND c.id = ANY (contact_ids) AND c.do_not_track
  UNION
  SELECT account, c.domain_id, sha256(convert_to(c.email, 'UTF8')), t.topic_id
  FROM contacts c JOIN contact_topics t ON t.account_id = account AND t.contact_id = c.id
  WHERE c.account_id = (SELECT account) AND c.id = ANY (contact_ids) AND t.subscription = 'opt_out'
  ON CONFLICT DO NOTHING;

  DELETE FROM contacts WHERE account_id = (SELECT account) AND id = ANY (contact_ids);

  SELECT end_runs(account, contact_ids);
$$;

-- The topic_id of the opt-out of a deleted contact that had do_not_track. No topic has this id.
CREATE FUNCTION being_tracked() RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid
$$;

-- The topic_id of an opt-out from all mail.
CREATE FUNCTION everything() RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
  SELECT '00000000-0000-0000-0000-000000000000'::uuid
$$;
