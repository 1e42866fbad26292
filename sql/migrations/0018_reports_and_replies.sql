-- Mail that tells what became of mail, and answers to it.

-- kind   report: came to the return path of a delivery; nobody's post, and not listed; deleted after its raw message
ALTER TABLE received_emails ADD COLUMN kind text NOT NULL DEFAULT 'email' CHECK (kind IN ('email', 'report'));
CREATE INDEX received_emails_report ON received_emails (account_id, id) WHERE kind = 'report' AND raw_blob_id IS NULL; -- these go

ALTER TABLE plans ADD COLUMN ai_credits integer CHECK (ai_credits >= 0); -- questions in any 30 days; null: no limit
UPDATE plans SET ai_credits = 100 WHERE name = 'free';

-- As usage_hours: a credit counts until its whole hour has left the window. Accounts without a limit are not counted.
CREATE TABLE ai_usage (
  account_id uuid NOT NULL REFERENCES accounts,
  hour timestamptz NOT NULL,
  credits integer NOT NULL CHECK (credits >= 0),
  PRIMARY KEY (account_id, hour)
);
