-- Types of several files' functions, which go with them. First of all files: a type must be there before another holds it.
DROP TYPE IF EXISTS quota_request, quota_decision, delivery_change, announcement, email_event, given_contact,
  import_part CASCADE;

-- One email and how many it counts for: one for each recipient.
CREATE TYPE quota_request AS (
  "position" integer,
  account_id uuid,
  emails integer,
  domain_id uuid
);

-- refusal: daily_quota_exceeded, monthly_quota_exceeded, reputation_limit_exceeded, or null and what it takes.
CREATE TYPE quota_decision AS (
  "position" integer,
  account_id uuid,
  refusal text,
  quota_debit integer,
  credit_debit integer,
  domain_id uuid,
  warm_up_since timestamptz, -- the day of its domain's warm-up that it counts for, or null
  retry_after integer        -- seconds until its domain has room for it, when that is why it was refused
);

-- What became of a delivery by its result.
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
  domain_id uuid
);

-- Something that happened, which webhooks are told.
CREATE TYPE announcement AS (
  account_id uuid,
  type text, -- of the catalogue (lib/webhooks/event_types.ts)
  data jsonb
);

-- Something that happened to a sent email.
CREATE TYPE email_event AS (
  account_id uuid,
  email_id uuid,
  type text,         -- without `email.`
  recipients text[], -- whom it concerns; null: all
  more jsonb         -- what is told besides; may be null
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

-- Records of an import that follow each other (sql/contacts/import/merge_import_part.sql).
CREATE TYPE import_part AS (
  rows bigint,           -- all that are staged
  given given_contact[], -- those to merge
  leaving text[],        -- addresses that opt out in a record that is not merged
  wrong bigint,
  known bigint           -- repeated addresses that were noted when they were staged, as releases before did
);
