-- What stops sending: the operator, mail that too many refuse or complain of, and a configuration that cannot work.

-- Of the whole installation: one row, since every request to send reads it.
CREATE TABLE platform (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  paused_at timestamptz,
  pause_reason text,
  resumed_at timestamptz,
  warm_up_per_day integer NOT NULL DEFAULT 0 CHECK (warm_up_per_day >= 0), -- of a new domain's first day; 0: no limit
  transport_fault text, -- why the transport cannot work, and when a worker last saw it
  transport_fault_at timestamptz
);

INSERT INTO platform DEFAULT VALUES;

-- paused_at    nothing of it is accepted or sent
-- resumed_at   what was sent before then is not held against it again
ALTER TABLE accounts
  ADD COLUMN paused_at timestamptz,
  ADD COLUMN paused_by text CHECK (paused_by IN ('operator', 'bounces', 'complaints')),
  ADD COLUMN pause_reason text,
  ADD COLUMN resumed_at timestamptz;
ALTER TABLE domains
  ADD COLUMN paused_at timestamptz,
  ADD COLUMN paused_by text CHECK (paused_by IN ('operator', 'bounces', 'complaints')),
  ADD COLUMN pause_reason text,
  ADD COLUMN resumed_at timestamptz;

CREATE INDEX accounts_paused ON accounts (id) WHERE paused_at IS NOT NULL;
CREATE INDEX domains_paused ON domains (account_id, id) WHERE paused_at IS NOT NULL;

-- When it could be sent again after a pause: only then does its time to be given up begin.
ALTER TABLE deliveries ADD COLUMN resumed_at timestamptz;

-- What waits for the end of a pause is due at infinity, where no claim reads it.
CREATE INDEX deliveries_parked ON deliveries (account_id) WHERE state = 'queued' AND next_at = 'infinity';

-- When a worker last failed to open the key or to make sense of it.
ALTER TABLE dkim_keys ADD COLUMN unusable_at timestamptz;

-- What a new domain has taken of its warm-up, in each 24 hours since it was verified.
CREATE TABLE warm_up_usage (
  account_id uuid NOT NULL,
  domain_id uuid NOT NULL,
  since timestamptz NOT NULL,
  emails integer NOT NULL CHECK (emails >= 0),
  PRIMARY KEY (account_id, domain_id, since),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);
