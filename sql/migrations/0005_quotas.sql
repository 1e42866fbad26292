-- What an account may send and receive. The limits are of its plan; null is none.
CREATE TABLE plans (
  name text PRIMARY KEY,
  emails_per_day integer CHECK (emails_per_day >= 0), -- in any 24 hours, sent plus received
  emails_per_month integer CHECK (emails_per_month >= 0) -- in any 30 days, sent plus received
);

INSERT INTO plans VALUES ('free', 100, 3000), ('unlimited', NULL, NULL);

UPDATE accounts SET plan = 'unlimited' WHERE plan NOT IN (SELECT name FROM plans);
ALTER TABLE accounts ADD FOREIGN KEY (plan) REFERENCES plans;

-- Locked by whoever debits an account that has a quota. Apart from accounts, whose rows are referred to all the time.
CREATE TABLE account_usage (
  account_id uuid PRIMARY KEY REFERENCES accounts,
  credits integer NOT NULL DEFAULT 0 CHECK (credits >= 0) -- emails beyond the quota of the month, bought once
);

INSERT INTO account_usage (account_id) SELECT id FROM accounts;

-- Rolling windows in steps: an email counts until its whole minute, or hour, has left the window, and never less.
-- Accounts without a quota are not counted.
CREATE TABLE usage_minutes (
  account_id uuid NOT NULL REFERENCES accounts,
  minute timestamptz NOT NULL,
  emails integer NOT NULL CHECK (emails >= 0),
  PRIMARY KEY (account_id, minute)
);

CREATE TABLE usage_hours (
  account_id uuid NOT NULL REFERENCES accounts,
  hour timestamptz NOT NULL,
  emails integer NOT NULL CHECK (emails >= 0), -- without those that credits paid for
  PRIMARY KEY (account_id, hour)
);

-- What it took of its account's quotas when it was accepted, and what of that was paid by credits: a cancel gives it back.
ALTER TABLE emails
  ADD COLUMN quota_debit integer NOT NULL DEFAULT 0,
  ADD COLUMN credit_debit integer NOT NULL DEFAULT 0;
