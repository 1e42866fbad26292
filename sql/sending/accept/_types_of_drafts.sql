-- Emails on their way into the database, and what is decided about them. After _types.sql, of which it uses a type.
DROP TYPE IF EXISTS draft_recipient, draft_attachment, draft, judgement CASCADE;

CREATE TYPE draft_recipient AS (
  id uuid,
  recipient text,
  destination text,
  visible_in text, -- to, cc or bcc
  reserved boolean,
  simulated boolean
);

-- Its content lies in a blob, or at a path until it is sent.
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
  refusal jsonb, -- why it cannot be sent, found out before: it may only replay what its key is bound to
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
  content_id uuid,       -- where html and text are, if they are not here
  variables jsonb,       -- values that are put into them when it is sent
  rendered_size integer, -- bytes of them with their values
  renderer smallint,     -- version of what makes the parts of the message from them
  template_id uuid,
  topic_id uuid,
  priority smallint,     -- 0: transactional, 10: campaigns
  track_opens boolean,   -- null: as its domain says
  track_clicks boolean,
  campaign_id uuid,
  campaign_run integer,
  automation_id uuid,
  automation_version integer, -- of the run that sends it
  contact_id uuid,       -- recipient of an email of a campaign or an automation
  poll_id uuid,          -- the poll that its links answer
  poll jsonb,            -- {question, options, is_test} of a poll that is stored with it
  scheduled_at timestamptz,
  attachments draft_attachment[], -- in order
  recipients draft_recipient[]
);

-- The judgement of drafts whose positions count from 0 without a gap. faults, domain_ids: one each, by position. fault: bound |
-- wrong_clock | schedule_past | schedule_too_far | refused | domain_not_verified | domain_not_allowed | topic_unknown |
-- all_suppressed | platform_paused | account_paused | domain_paused | transport_unusable | signing_key_unusable |
-- daily_quota_exceeded | monthly_quota_exceeded | reputation_limit_exceeded, or null.
CREATE TYPE judgement AS (
  faults text[],
  domain_ids uuid[],
  dropped uuid[],            -- recipients that get nothing
  unsubscribed uuid[],       -- those of them that are only not subscribed to the topic; null: none
  decisions quota_decision[] -- of those whose account has a quota or a domain that warms up
);
