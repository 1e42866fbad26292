-- Created before the functions that take it, like the types of sql/_types.sql.
DROP TYPE IF EXISTS metric_move CASCADE;

-- A change of a figure of email_metrics (count_metrics.sql).
CREATE TYPE metric_move AS (
  account_id uuid,
  email_id uuid, -- null: of several emails
  domain_id uuid,
  campaign_id uuid,
  at timestamptz,
  name text,
  by integer
);
