-- Accounts and what they own. Every tenant table starts its key with account_id and refers to others by
-- (account_id, id), so that a reference across accounts cannot be stored.

CREATE TABLE settings (
  name text PRIMARY KEY,
  value bytea NOT NULL
);

CREATE TABLE accounts (
  id uuid PRIMARY KEY,
  name text NOT NULL UNIQUE,
  plan text NOT NULL DEFAULT 'unlimited',
  created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE domains (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  name text NOT NULL CHECK (name = lower(name)),
  status text NOT NULL DEFAULT 'not_started'
    CHECK (status IN ('not_started', 'pending', 'verified', 'partially_verified', 'partially_failed', 'failed')),
  verified_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, name)
);

-- A name belongs to one account at a time.
CREATE UNIQUE INDEX domains_sendable_name ON domains (name)
  WHERE status IN ('verified', 'partially_verified', 'partially_failed');

-- private_key is PKCS #8 DER, sealed for dkim_keys|private_key|<id>|<account_id> (lib/secrets.ts).
CREATE TABLE dkim_keys (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  selector text NOT NULL,
  algorithm text NOT NULL CHECK (algorithm IN ('rsa-sha256', 'ed25519-sha256')),
  public_key text NOT NULL,
  private_key bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain_id, selector, algorithm),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

CREATE TABLE api_keys (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  name text NOT NULL,
  prefix text NOT NULL,
  hash bytea NOT NULL UNIQUE,
  permission text NOT NULL CHECK (permission IN ('full_access', 'sending_access')),
  domain_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id)
);

-- Addresses an account must not write to. No reference to what caused the row: it outlives everything else.
CREATE TABLE suppressions (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  address text NOT NULL CHECK (address = lower(address)),
  reason text NOT NULL CHECK (reason IN ('bounced', 'complained', 'unsubscribed', 'manual')),
  detail text,
  email_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, address)
);
