DROP FUNCTION IF EXISTS delete_contacts(uuid, uuid[]);

-- Deletes contacts with their memberships and choices. Their opt-outs stay in contact_optouts, so that nobody gets mail
-- again by being deleted and added again. Their automation runs end.
CREATE FUNCTION delete_contacts(account uuid, contact_ids uuid[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO contact_optouts (account_id, domain_id, email_hash, topic_id)
  SELECT account, c.domain_id, sha256(convert_to(c.email, 'UTF8')), everything()
  FROM contacts c WHERE c.account_id = account AND c.id = ANY (contact_ids) AND c.unsubscribed
  UNION
  SELECT account, c.domain_id, sha256(convert_to(c.email, 'UTF8')), t.topic_id
  FROM contacts c JOIN contact_topics t ON t.account_id = account AND t.contact_id = c.id
  WHERE c.account_id = account AND c.id = ANY (contact_ids) AND t.subscription = 'opt_out'
  ON CONFLICT DO NOTHING;

  DELETE FROM contacts WHERE account_id = account AND id = ANY (contact_ids);

  SELECT end_runs(account, contact_ids);
$$;
