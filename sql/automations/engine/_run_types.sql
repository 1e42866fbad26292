-- Types of the parameters of store_runs (sql/automations/engine/store_runs.sql).
DROP TYPE IF EXISTS advanced_run, taken_step CASCADE;

-- A run after its steps. expected: its seq before them.
CREATE TYPE advanced_run AS (
  account_id uuid,
  id uuid,
  expected integer,
  status text,
  step smallint,
  seq integer,
  due_at timestamptz,
  wait_event text,
  wait_until timestamptz,
  seen_event uuid,
  consumed uuid[],
  event jsonb,
  refused_since timestamptz,
  has_sent boolean,
  has_skipped boolean,
  error text
);

-- A step that a run has taken, or waits in.
CREATE TYPE taken_step AS (
  account_id uuid,
  run_id uuid,
  seq integer,
  step smallint,
  status text,
  output jsonb,
  error text
);
