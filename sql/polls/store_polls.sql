-- Stores the polls of accepted emails. Callers set the plans of the statements (sql/sending/accept/accept_emails.sql says why).
CREATE FUNCTION store_polls(drafts draft[], judged judgement, made_at timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM unnest(drafts) AS d WHERE d.poll IS NOT NULL) THEN
    RETURN;
  END IF;
  INSERT INTO polls (account_id, id, domain_id, email_id, question, options, is_test, created_at)
  SELECT d.account_id, d.poll_id, judged.domain_ids[d.position + 1], d.id, d.poll ->> 'question', d.poll -> 'options',
    (d.poll ->> 'is_test')::boolean, made_at
  FROM unnest(drafts) AS d
  WHERE d.poll IS NOT NULL;
END
$$;
