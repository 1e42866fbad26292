DROP FUNCTION IF EXISTS take_ai_credit(uuid);

-- Takes one credit. Returns the hour that it was counted in, `infinity` for an account without a limit; null if all are
-- used up.
CREATE FUNCTION take_ai_credit(account uuid) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
  most integer;
  taken integer;
  this_hour timestamptz := date_trunc('hour', now(), 'UTC');
BEGIN
  SELECT p.ai_credits INTO most FROM accounts a JOIN plans p ON p.name = a.plan WHERE a.id = account;
  IF most IS NULL THEN
    RETURN 'infinity';
  END IF;
  -- No other transaction counts until this one ends; earlier counts are visible to the next statement.
  PERFORM 1 FROM account_usage WHERE account_id = account FOR NO KEY UPDATE;
  SELECT coalesce(sum(credits), 0) INTO taken FROM ai_usage
  WHERE account_id = account AND hour > now() - usage_window('month');
  IF taken >= most THEN
    RETURN NULL;
  END IF;
  INSERT INTO ai_usage AS u VALUES (account, this_hour, 1)
  ON CONFLICT (account_id, hour) DO UPDATE SET credits = u.credits + 1;
  RETURN this_hour;
END
$$;
