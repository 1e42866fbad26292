-- Emails to be stored, and the decisions about them. After _types.sql, since it uses a type of that file.
DROP TYPE IF EXISTS draft_recipient, draft_attachment, draft, judgement CASCADE;

CREATE TYPE draft_recipient AS (
  id uuid,
  recipient text,
  destination text,
  visible_in text, -- to, cc or bcc
  reserved boolean,
  simulated boolean
);

-- The content of an attachment is in a blob, or at a path until it is sent.
CREATE TYPE draft_attachment AS (
  id uuid,
  filename text,
  content_type text,
  content_disposition text,
  content_id text,
  path text,
  blob_id uuid
);

CREATE TYPE draft AS (
  "position" integer,
  account_id uuid,
  id uuid,
  refusal jsonb, -- why it cannot be sent, if known before: then it can only replay the answer of its key
  domain text,
  key_domain_id uuid,
  route text,
  key text,
  fingerprint text, -- hex
  message_id text,
  sender text,
  "to" text[],
  cc text[],
  bcc text[],
  reply_to text[],
  subject text,
  headers jsonb,
  tags jsonb,
  html text,
  text text,
  content_id uuid,       -- the content with html and text, if these are null
  variables jsonb,       -- values that are inserted when it is sent
  rendered_size integer, -- bytes of html and text with their values
  renderer smallint,     -- version of the code that renders them
  template_id uuid,
  topic_id uuid,
  priority smallint,     -- 0: transactional, 10: campaigns
  track_opens boolean,   -- null: as set for its domain
  track_clicks boolean,
  campaign_id uuid,
  campaign_run integer,
  automation_id uuid,
  automation_version integer, -- of the run that sends it
  contact_id uuid,       -- recipient of an email of a campaign or an automation
  poll_id uuid,          -- the poll that its links answer
  poll jsonb,            -- {question, options, is_test} of a poll to store with it
  scheduled_at timestamptz,
  attachments draft_attachment[], -- in order
  recipients draft_recipient[]
);

-- The judgement of drafts whose positions count from 0 without gaps. faults, domain_ids: one per position. fault: bound |
-- wrong_clock | schedule_past | schedule_too_far | refused | domain_not_verified | domain_not_allowed | topic_unknown |
-- all_suppressed | platform_paused | account_paused | domain_paused | transport_unusable | signing_key_unusable |
-- daily_quota_exceeded | monthly_quota_exceeded | reputation_limit_exceeded, or null.
CREATE TYPE judgement AS (
  faults text[],
  domain_ids uuid[],
  dropped uuid[],            -- recipients that get nothing
  unsubscribed uuid[],       -- dropped recipients that are only not subscribed to the topic; null: none
  decisions quota_decision[] -- of drafts whose account has a quota or a domain in warm-up
);
