DROP FUNCTION IF EXISTS runs_of(uuid, uuid);

-- All runs of a contact. Every other index of the table begins with the account: while few runs are known, a plan by one of them
-- looks as good, and would read all runs of the account. So the account is no condition of an index here, and conditions of
-- callers are applied to what was found.
CREATE FUNCTION runs_of(account uuid, contact uuid) RETURNS SETOF automation_runs LANGUAGE sql STABLE AS $$
  SELECT * FROM automation_runs r WHERE r.contact_id = contact AND (r.account_id = account) IS NOT FALSE OFFSET 0
$$;
