-- Types of several files, which come after this one as sql/_types.sql has it.
DROP TYPE IF EXISTS tracking_hit, hit_group, campaign_hits CASCADE;

-- An opening of a tracked email, or a click on one of its links, as tracking_hits has them.
CREATE TYPE tracking_hit AS (
  account_id uuid,
  delivery_id uuid,
  id uuid,
  email_id uuid,  -- null of one that was not looked up yet
  type text,
  class text,
  rule text,
  source_id uuid, -- what the token of the link names: contents.id, or the email's id
  link smallint,
  url text,
  ip inet,
  user_agent text,
  created_at timestamptz,
  suspect text    -- the rule by which it is a machine's soon after the delivery alone; null if there is none
);

-- The hits of one type and class on one delivery, and on one of its links, in a quarter of an hour.
CREATE TYPE hit_group AS (
  account_id uuid,
  email_id uuid,
  delivery_id uuid,
  type text,
  link smallint,
  class text,
  quarter timestamptz,
  hits integer,
  first_id uuid,
  first_at timestamptz,
  last_at timestamptz
);

-- All hits on an email of a campaign. A click of a person is an open too, if no other is known.
CREATE TYPE campaign_hits AS (
  account_id uuid,
  email_id uuid,
  campaign_id uuid,
  run integer,
  variant smallint,
  contact_id uuid,
  opens integer,
  clicks integer,
  mpp_opens integer,
  machine_opens integer,
  machine_clicks integer,
  opened_at timestamptz,
  clicked_at timestamptz,
  last_opened_at timestamptz,
  last_clicked_at timestamptz
);
