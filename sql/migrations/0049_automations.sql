-- Events of contacts, and automations that they start.

-- schema  type of each key of a payload: string, number, boolean or date; keys that are not in it may hold anything
CREATE TABLE event_definitions (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  name text NOT NULL,
  schema jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, name)
);

-- Events as they came, in the order of their ids. They are purged with time.

-- depth  0: from outside; an event that a run caused is one deeper than the event that started that run
CREATE TABLE contact_events (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  name text NOT NULL,
  payload jsonb NOT NULL DEFAULT '{}',
  depth smallint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX contact_events_of_contact ON contact_events (account_id, contact_id, name, id);
CREATE INDEX contact_events_by_name ON contact_events (account_id, name, id);

-- No reference to domains: automations are removed in slices after their domain.

-- reentry  whether a contact may have several runs: always, while_not_running, once
-- purpose  transactional: its mail is sent to contacts that have unsubscribed too
-- version  for contacts that enter from now on
-- limited  contacts that did not enter because of a limit or the quota
CREATE TABLE automations (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'disabled' CHECK (status IN ('enabled', 'disabled')),
  reentry text NOT NULL DEFAULT 'always' CHECK (reentry IN ('always', 'while_not_running', 'once')),
  purpose text NOT NULL DEFAULT 'marketing' CHECK (purpose IN ('marketing', 'transactional')),
  version integer NOT NULL DEFAULT 1,
  limited bigint NOT NULL DEFAULT 0,
  source_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX automations_of_domain ON automations (account_id, domain_id, id);

-- Graphs, which never change: a run keeps to the version that it began with.

-- graph  {steps: [{id, key, type, config, next: {<type of connection>: <position>}}]}; position 0 is the trigger
CREATE TABLE automation_versions (
  account_id uuid NOT NULL,
  automation_id uuid NOT NULL,
  version integer NOT NULL,
  graph jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, automation_id, version),
  FOREIGN KEY (account_id, automation_id) REFERENCES automations (account_id, id) ON DELETE CASCADE
);

-- Events that automations start by, of those that are enabled.
CREATE TABLE automation_triggers (
  account_id uuid NOT NULL,
  domain_id uuid NOT NULL,
  event text NOT NULL,
  automation_id uuid NOT NULL,
  PRIMARY KEY (account_id, domain_id, event, automation_id),
  FOREIGN KEY (account_id, automation_id) REFERENCES automations (account_id, id) ON DELETE CASCADE
);

-- A contact on its way through an automation. No reference to automations: runs are removed in slices after theirs.

-- reentry      that of the automation when the run began
-- step         position in the graph of its version; seq: steps that were taken so far
-- due_at       when its step is taken next; null: no longer running
-- wait_event   the event that it waits for; null: it waits for none
-- since_event  events up to this one are not waited for any more
-- payload      of the event that it began with; event: the one that it waited for last
-- depth        of the event that it began with
CREATE TABLE automation_runs (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  automation_id uuid NOT NULL,
  version integer NOT NULL,
  domain_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  contact_email text NOT NULL,
  reentry text NOT NULL DEFAULT 'always',
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed', 'skipped')),
  step smallint NOT NULL DEFAULT 0,
  seq integer NOT NULL DEFAULT 0,
  due_at timestamptz DEFAULT now(),
  wait_event text,
  since_event uuid,
  payload jsonb NOT NULL DEFAULT '{}',
  event jsonb,
  depth smallint NOT NULL DEFAULT 0,
  attempt smallint NOT NULL DEFAULT 0,
  error text,
  started_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  PRIMARY KEY (account_id, id),
  CHECK ((status = 'running') = (due_at IS NOT NULL))
) WITH (fillfactor = 70);
CREATE INDEX automation_runs_due ON automation_runs (due_at, id) WHERE status = 'running';
CREATE INDEX automation_runs_by_status ON automation_runs (account_id, automation_id, status, id);
CREATE UNIQUE INDEX automation_runs_one_running ON automation_runs (account_id, automation_id, contact_id)
  WHERE status = 'running' AND reentry = 'while_not_running';
CREATE UNIQUE INDEX automation_runs_once ON automation_runs (account_id, automation_id, contact_id) WHERE reentry = 'once';

-- Steps that runs have taken, or wait in.
CREATE TABLE automation_run_steps (
  account_id uuid NOT NULL,
  run_id uuid NOT NULL,
  seq integer NOT NULL,
  step smallint NOT NULL,
  status text NOT NULL CHECK (status IN ('waiting', 'completed', 'failed', 'skipped')),
  output jsonb,
  error text,
  started_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  PRIMARY KEY (account_id, run_id, seq),
  FOREIGN KEY (account_id, run_id) REFERENCES automation_runs (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 90);

-- The automation that an email was sent by.
ALTER TABLE emails ADD COLUMN automation_id uuid;
