-- An email and what becomes of it. The emails row is what lists show; its contents never change and live apart; one
-- deliveries row per recipient is the truth about sending and changes often, so it is narrow.

CREATE TABLE emails (
  account_id uuid NOT NULL, -- an account by way of its domain: one check less for each email
  id uuid NOT NULL,
  domain_id uuid,
  message_id text NOT NULL,
  sender text NOT NULL,
  "to" text[] NOT NULL,
  cc text[] NOT NULL,
  bcc text[] NOT NULL,
  reply_to text[] NOT NULL,
  subject text NOT NULL,
  tags jsonb NOT NULL,
  status text NOT NULL CHECK (status IN ('scheduled', 'queued', 'sent', 'delivered', 'delivery_delayed', 'bounced',
    'complained', 'failed', 'canceled', 'suppressed')),
  last_event text NOT NULL,
  scheduled_at timestamptz,
  sent_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE SET NULL (domain_id)
) WITH (fillfactor = 80);

CREATE TABLE email_contents (
  account_id uuid NOT NULL,
  email_id uuid NOT NULL,
  headers jsonb NOT NULL,
  html text,
  text text,
  PRIMARY KEY (account_id, email_id),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE
);

CREATE TABLE email_events (
  account_id uuid NOT NULL,
  email_id uuid NOT NULL,
  id bigint GENERATED ALWAYS AS IDENTITY,
  type text NOT NULL,
  recipient text,
  data jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, email_id, id),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE
);

-- state    what is true of this recipient; `queued` with attempt > 0 is a deferral
-- phase    while sending: `pre` until the final dot may be written, `dot` from then on (a lost lease is then in doubt)
-- attempt  how often it was claimed; with lease_owner the token a fence or a result must show
-- next_at  when it is due: the next attempt of a queued one, the resend of one in doubt (null: held for a person)
CREATE TABLE deliveries (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  email_id uuid NOT NULL,
  recipient text NOT NULL,
  destination text NOT NULL,
  state text NOT NULL CHECK (state IN ('queued', 'sending', 'delivered', 'bounced', 'failed', 'canceled', 'suppressed',
    'in_doubt')),
  phase text CHECK (phase IN ('pre', 'dot')),
  priority smallint NOT NULL DEFAULT 0,
  attempt integer NOT NULL DEFAULT 0,
  lost_count integer NOT NULL DEFAULT 0,
  in_doubt_count integer NOT NULL DEFAULT 0,
  complained boolean NOT NULL DEFAULT false,
  next_at timestamptz,
  lease_owner uuid,
  lease_until timestamptz,
  reason text,
  last_reply text,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (email_id, account_id, recipient),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE,
  CHECK ((state = 'sending') = (lease_owner IS NOT NULL)),
  CHECK ((state = 'sending') = (phase IS NOT NULL)),
  CHECK (state <> 'queued' OR next_at IS NOT NULL)
) WITH (fillfactor = 60);

CREATE INDEX deliveries_due ON deliveries (priority, next_at, id) WHERE state = 'queued';
-- Not on lease_until: a heartbeat and a fence change it, and an update of no indexed column is far cheaper.
CREATE INDEX deliveries_leased ON deliveries (lease_owner) WHERE state = 'sending';
CREATE INDEX deliveries_in_doubt ON deliveries (next_at) WHERE state = 'in_doubt';

-- The answer of an earlier request, written by the commit that did its work.
CREATE TABLE idempotency_keys (
  account_id uuid NOT NULL REFERENCES accounts,
  route text NOT NULL,
  key text NOT NULL,
  fingerprint bytea NOT NULL,
  answer jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, route, key)
);

CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- What the capture transport took instead of sending. One row per delivery, so a repeated attempt stores nothing twice.
CREATE TABLE captured_messages (
  account_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  mail_from text NOT NULL,
  message bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, delivery_id),
  FOREIGN KEY (account_id, delivery_id) REFERENCES deliveries (account_id, id) ON DELETE CASCADE
);

-- graphile-worker keeps the jobs of a killed process locked for 4 hours; pools that stop beating are unlocked by us.
CREATE TABLE worker_heartbeats (
  pool_id text PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);
