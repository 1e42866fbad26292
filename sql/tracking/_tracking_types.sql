-- Types that functions of several files use, created before them like those of sql/_types.sql.
DROP TYPE IF EXISTS tracking_hit, hit_group, campaign_hits CASCADE;

-- An open of a tracked email, or a click on one of its links, as a row of tracking_hits.
CREATE TYPE tracking_hit AS (
  account_id uuid,
  delivery_id uuid,
  id uuid,
  email_id uuid,  -- null until it is looked up
  type text,
  class text,
  rule text,
  source_id uuid, -- named by the token of the link: contents.id, or the email's id
  link smallint,
  url text,
  ip inet,
  user_agent text,
  created_at timestamptz,
  suspect text    -- the rule that makes it a machine's only soon after the delivery; null: none
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

-- All hits on an email of a campaign. A click by a person counts as an open if there is no other.
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
