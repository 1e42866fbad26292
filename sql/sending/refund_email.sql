DROP FUNCTION IF EXISTS refund_email(uuid, uuid);

-- Refunds the debits of an email to the quotas. The caller must have locked the usage of its account (lock_usage).
CREATE FUNCTION refund_email(account uuid, email uuid) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  PERFORM refund_usage(account, e.quota_debit, e.credit_debit, e.created_at),
    refund_warm_up(account, e.domain_id, e.quota_debit, e.created_at)
  FROM emails e WHERE e.account_id = account AND e.id = email;
  UPDATE emails SET quota_debit = 0, credit_debit = 0 WHERE account_id = account AND id = email AND quota_debit > 0;
END
$$;
