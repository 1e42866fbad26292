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

DROP FUNCTION IF EXISTS take_ai_credit_for(uuid, uuid);

-- Takes one credit for a received reply, unless one was taken for it before: a reply is parsed again if its result could not
-- be stored, or if its process died. The row that says so is kept as long as an idempotency key. Returns false if all
-- credits are used up.
CREATE FUNCTION take_ai_credit_for(account uuid, reply uuid) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  this_hour timestamptz;
BEGIN
  -- Waits for another job that takes one for the same reply.
  INSERT INTO idempotency_keys (account_id, route, key, fingerprint, answer)
  VALUES (account, 'ai credit', reply::text, '', 'null') ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN
    RETURN true;
  END IF;
  this_hour := take_ai_credit(account);
  IF this_hour IS NULL THEN
    DELETE FROM idempotency_keys WHERE account_id = account AND route = 'ai credit' AND key = reply::text;
    RETURN false;
  END IF;
  UPDATE idempotency_keys SET answer = to_jsonb(this_hour)
  WHERE account_id = account AND route = 'ai credit' AND key = reply::text;
  RETURN true;
END
$$;

DROP FUNCTION IF EXISTS refund_ai_credit(uuid, uuid);

-- Refunds the credit of a reply whose question had no answer, so that the next question takes one.
CREATE FUNCTION refund_ai_credit(account uuid, reply uuid) RETURNS void LANGUAGE sql AS $$
  WITH refunded AS (
    DELETE FROM idempotency_keys WHERE account_id = account AND route = 'ai credit' AND key = reply::text
    RETURNING (answer #>> '{}')::timestamptz AS hour
  )
  UPDATE ai_usage u SET credits = u.credits - 1 FROM refunded r WHERE u.account_id = account AND u.hour = r.hour
$$;
