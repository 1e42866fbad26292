-- Created before the functions that take it, like the types of sql/_types.sql.
DROP TYPE IF EXISTS campaign_move CASCADE;

-- A change of a figure of a campaign (sql/campaigns/counts.ts names them).
CREATE TYPE campaign_move AS (
  account_id uuid,
  campaign_id uuid,
  run integer,
  variant smallint,
  name text,
  by integer
);
