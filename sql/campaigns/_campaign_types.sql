-- Created before the functions that take it, like the types of sql/_types.sql.
DROP TYPE IF EXISTS campaign_move, settled_mail CASCADE;

-- A change of a figure of a campaign (sql/campaigns/counts.ts names them).
CREATE TYPE campaign_move AS (
  account_id uuid,
  campaign_id uuid,
  run integer,
  variant smallint,
  name text,
  by integer
);

-- The change of a delivery of a campaign (delivery_change), with the recipient that it was for.
CREATE TYPE settled_mail AS (
  account_id uuid,
  email_id uuid,
  campaign_id uuid,
  run integer,
  contact_id uuid,
  variant smallint,
  outcome text,
  state text,
  was text,
  reply text,
  at timestamptz
);
