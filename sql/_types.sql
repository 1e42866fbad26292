-- Types that functions of several files use; dropping a type drops these functions too. This file comes first, since a
-- type must exist before its users.
DROP TYPE IF EXISTS quota_request, quota_decision, delivery_result, delivery_change, announcement, email_event,
  given_contact, import_part CASCADE;

-- An email to count. emails: how many it counts as, one per recipient.
CREATE TYPE quota_request AS (
  "position" integer,
  account_id uuid,
  emails integer,
  domain_id uuid
);

-- The answer to a quota_request. refusal: daily_quota_exceeded, monthly_quota_exceeded or reputation_limit_exceeded; if
-- null, the debits apply.
CREATE TYPE quota_decision AS (
  "position" integer,
  account_id uuid,
  refusal text,
  quota_debit integer,
  credit_debit integer,
  domain_id uuid,
  warm_up_since timestamptz, -- day of its domain's warm-up that it counts toward, or null
  retry_after integer        -- seconds until its domain has room for it, if refused for that reason
);

-- The result of a delivery (sql/delivery/settle_deliveries.sql).
CREATE TYPE delivery_result AS (
  account_id uuid, email_id uuid, id uuid, lease_owner uuid, attempt integer,
  outcome text,
  delay double precision, -- seconds
  reason text,
  reply text,
  via text,
  suppression_id uuid,
  hold boolean,
  class text, -- cause of a refusal
  bounce jsonb, -- the refusal as events show it (lib/delivery/bounce_details.ts)
  age double precision -- seconds since it happened: it may have waited for the database
);

-- The change of a delivery by its result.
CREATE TYPE delivery_change AS (
  account_id uuid,
  email_id uuid,
  id uuid,
  recipient text,
  outcome text,
  state text,
  reason text,
  reply text,
  via text,
  suppression_id uuid,
  class text,
  bounce jsonb,
  was text,        -- the state before
  campaign_id uuid, -- of an email of a campaign
  domain_id uuid,
  at timestamptz   -- when it happened
);

-- An event to announce to webhooks.
CREATE TYPE announcement AS (
  account_id uuid,
  type text, -- of the catalogue (lib/webhooks/event_types.ts)
  data jsonb
);

-- An event of a sent email.
CREATE TYPE email_event AS (
  account_id uuid,
  email_id uuid,
  type text,         -- without `email.`
  recipients text[], -- recipients concerned; null: all
  more jsonb         -- additional fields; may be null
);

-- A contact as a caller gives it (sql/contacts/upsert_contacts.sql).
CREATE TYPE given_contact AS (
  id uuid,
  email text, -- in lower case
  first_name text,
  last_name text,
  unsubscribed boolean,
  properties jsonb,
  do_not_track boolean,
  timezone text
);

-- Consecutive records of an import (sql/contacts/import/merge_import_part.sql).
CREATE TYPE import_part AS (
  rows bigint,           -- all staged rows
  given given_contact[], -- contacts to merge
  leaving text[],        -- addresses that opt out in a record that is not merged
  untracked text[],      -- addresses that opt out of tracking in such a record, while the merged one says nothing
  wrong bigint,
  known bigint           -- repeated addresses that were noted at staging, as earlier releases did
);
