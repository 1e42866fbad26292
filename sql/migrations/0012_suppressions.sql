-- The suppression list is told by the API now, and mail of a domain leaves as the operator says.

-- cause             what was said: the server's reply, or the operator
-- source_email_id   what was sent to it then; the email may be long gone
ALTER TABLE suppressions RENAME COLUMN detail TO cause;
ALTER TABLE suppressions RENAME COLUMN email_id TO source_email_id;
ALTER TABLE suppressions DROP CONSTRAINT suppressions_reason_check;
UPDATE suppressions SET
  cause = CASE WHEN reason = 'unsubscribed' THEN coalesce(cause, 'Unsubscribed.') ELSE cause END,
  reason = CASE reason WHEN 'bounced' THEN 'bounce' WHEN 'complained' THEN 'complaint' ELSE 'manual' END;
ALTER TABLE suppressions ADD CONSTRAINT suppressions_reason_check
  CHECK (reason IN ('bounce', 'complaint', 'manual', 'import'));

-- Of what stands behind the last @, as sql/suppressions.ts asks for it.
CREATE INDEX suppressions_domain ON suppressions (account_id, substring(address FROM '[^@]*$'), id);
CREATE INDEX suppressions_expiry ON suppressions (expires_at) WHERE expires_at IS NOT NULL;

-- When a worker last found that the transport it asks for is not configured.
ALTER TABLE domains ADD COLUMN transport_fault_at timestamptz;

-- Most installations have none, which each claim asks.
CREATE INDEX domains_transport ON domains (id) WHERE transport IS NOT NULL;
