-- Emails of campaigns, and what is tracked of emails.

-- No reference to campaigns and contacts: emails outlive them.
ALTER TABLE emails
  ADD COLUMN campaign_id uuid,
  ADD COLUMN campaign_run integer,
  ADD COLUMN contact_id uuid;
-- The same, for the worker that claims the delivery.
ALTER TABLE deliveries ADD COLUMN campaign_id uuid;

-- tracking  1: opens, 2: clicks, 3: both; null: neither
ALTER TABLE email_contents ADD COLUMN tracking smallint CHECK (tracking BETWEEN 1 AND 3);

-- Each opening of a tracked email and each click on one of its links, by whoever or whatever it was.

-- class       human, proxy (of a mail service, for a person), mpp (Apple Mail Privacy Protection: nobody can tell) or machine
-- rule        the rule that says so (lib/tracking/classify.ts)
-- link        number of the link in the html, from 0; null of an open
-- ip          the network alone, /24 or /48, once the hit is 30 days old; then user_agent is null too
CREATE TABLE tracking_hits (
  account_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  id uuid NOT NULL,
  email_id uuid NOT NULL,
  type text NOT NULL CHECK (type IN ('open', 'click')),
  class text NOT NULL CHECK (class IN ('human', 'proxy', 'mpp', 'machine')),
  rule text NOT NULL,
  link smallint,
  url text,
  ip inet,
  user_agent text,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (account_id, delivery_id, id),
  FOREIGN KEY (account_id, delivery_id) REFERENCES deliveries (account_id, id) ON DELETE CASCADE
);
CREATE INDEX tracking_hits_with_address ON tracking_hits (created_at) WHERE user_agent IS NOT NULL OR masklen(ip) IN (32, 128);
