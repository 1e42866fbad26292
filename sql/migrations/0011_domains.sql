-- Domains of the world: how they are proven by DNS, signed for by keys that change, and how their mail leaves.

-- is_trusted            the operator vouches for it, and DNS is never asked
-- custom_return_path    the label below the domain that bounces come back to, once its MX record is there
-- transport             how its mail leaves; null: as MAIL_TRANSPORT says
-- window_since          since when it is being verified, or what it needs has been missing: 72 hours are allowed for
--                       either; or since when its features are not there yet
-- check_at              when DNS is asked next; null: not before somebody asks for it
ALTER TABLE domains
  ADD COLUMN region text NOT NULL DEFAULT 'us-east-1'
    CHECK (region IN ('us-east-1', 'eu-west-1', 'sa-east-1', 'ap-northeast-1')),
  ADD COLUMN sending boolean NOT NULL DEFAULT true,
  ADD COLUMN receiving boolean NOT NULL DEFAULT false,
  ADD COLUMN open_tracking boolean NOT NULL DEFAULT false,
  ADD COLUMN click_tracking boolean NOT NULL DEFAULT false,
  ADD COLUMN tracking_subdomain text,
  ADD COLUMN tls text NOT NULL DEFAULT 'opportunistic' CHECK (tls IN ('opportunistic', 'enforced')),
  ADD COLUMN custom_return_path text NOT NULL DEFAULT 'send',
  ADD COLUMN return_path_verified boolean NOT NULL DEFAULT false,
  ADD COLUMN transport text CHECK (transport IN ('capture', 'relay', 'direct')),
  ADD COLUMN is_trusted boolean NOT NULL DEFAULT false,
  ADD COLUMN window_since timestamptz,
  ADD COLUMN check_at timestamptz,
  ADD CHECK (sending OR receiving);

-- Until now only operators could say that a domain is verified.
UPDATE domains SET is_trusted = true WHERE status = 'verified';

CREATE INDEX domains_to_check ON domains (check_at) WHERE check_at IS NOT NULL;

-- For names below a name: read backwards they begin with it.
CREATE INDEX domains_sendable_below ON domains (reverse(name) COLLATE "C")
  WHERE status IN ('verified', 'partially_verified', 'partially_failed');

-- What DNS last said of a record that a domain is to have (lib/domain_records.ts). `name` is whole, without a dot at its
-- end. One that was never looked up has no row: its status is not_started.
CREATE TABLE domain_records (
  account_id uuid NOT NULL,
  domain_id uuid NOT NULL,
  name text NOT NULL,
  type text NOT NULL CHECK (type IN ('TXT', 'MX', 'CNAME')),
  status text NOT NULL CHECK (status IN ('pending', 'verified', 'failed', 'temporary_failure')),
  problem text, -- what to mend, of one that is not verified
  checked_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, domain_id, name, type),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

-- state           staged: published first, to sign from then on; active: signs; retired: signs no more, but its record must
--                 stay while mail that it signed is on its way
-- generation      counts the pairs of keys of a domain; the newest is kept as long as the domain, and so no number comes twice
-- is_published    its record was there when DNS was last asked; nothing is signed with an Ed25519 key before, as the RSA
--                 signature is enough
ALTER TABLE dkim_keys
  ADD COLUMN state text NOT NULL DEFAULT 'active' CHECK (state IN ('staged', 'active', 'retired')),
  ADD COLUMN generation integer NOT NULL DEFAULT 1,
  ADD COLUMN is_published boolean NOT NULL DEFAULT false,
  ADD COLUMN activated_at timestamptz,
  ADD COLUMN retired_at timestamptz;

UPDATE dkim_keys SET activated_at = created_at,
  is_published = EXISTS (SELECT FROM domains d WHERE d.account_id = dkim_keys.account_id AND d.id = domain_id AND d.is_trusted);

CREATE INDEX dkim_keys_retired ON dkim_keys (retired_at) WHERE state = 'retired';

-- An account proves by DNS that a name is its own which another account has verified.
-- proven_at    when its TXT record was first found; what then blocks it does so for 72 hours at most
CREATE TABLE domain_claims (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  token text NOT NULL,
  status text NOT NULL DEFAULT 'pending'
    CHECK (status IN ('pending', 'verified', 'completed', 'blocked', 'expired', 'superseded', 'canceled', 'failed')),
  blocked_reason text CHECK (blocked_reason IN ('grace_period', 'recent_owner_activity', 'pending_scheduled_emails')),
  failure_reason text,
  proven_at timestamptz,
  check_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL DEFAULT now() + interval '7 days',
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX domain_claims_open ON domain_claims (account_id, domain_id)
  WHERE status IN ('pending', 'verified', 'blocked');
CREATE INDEX domain_claims_to_check ON domain_claims (check_at) WHERE check_at IS NOT NULL;

-- A key that may send from one domain alone goes with it: without it, it would be one for all.
ALTER TABLE api_keys DROP CONSTRAINT api_keys_account_id_domain_id_fkey,
  ADD FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE;

-- Emails are history: they keep the id of a domain that is gone, as to unlink a million of them would take longer than a
-- statement may. Nothing keeps the id of another account's domain out any more, but it leads nowhere: whoever follows it does
-- so by both columns, and account_id is the email's own.
ALTER TABLE emails DROP CONSTRAINT emails_account_id_domain_id_fkey, ADD FOREIGN KEY (account_id) REFERENCES accounts;

ALTER TABLE plans ADD COLUMN domains integer CHECK (domains >= 0); -- that an account may have; null: no limit
UPDATE plans SET domains = 1 WHERE name = 'free';

-- Policies of receivers (RFC 8461), kept for as long as they say: who suppresses the answers of DNS later on cannot make
-- us forget them. `mode` none: it has no policy.
CREATE TABLE mta_sts_policies (
  domain text PRIMARY KEY,
  policy_id text NOT NULL,
  mode text NOT NULL CHECK (mode IN ('enforce', 'testing', 'none')),
  mx text[] NOT NULL,
  fetched_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
