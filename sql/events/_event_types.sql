-- Types of several files, which come after this one as sql/_types.sql has it.
DROP TYPE IF EXISTS event_draft, new_event, stored_event, run_entry CASCADE;

-- An event as the API takes it: of a contact by its id or by its address.
CREATE TYPE event_draft AS (
  "position" integer,
  account_id uuid,
  domain_id uuid,
  contact_id uuid,
  email text,         -- in lower case
  name text,
  payload jsonb,
  tail text,          -- end of its id: 16 hexadecimal digits, by which its sender finds it again
  is_refused boolean, -- something was found to be wrong with it: it may only replay what its key is bound to
  route text,
  key text,
  fingerprint text    -- hex
);

-- Something that a contact did or that happened to it.
CREATE TYPE new_event AS (
  "position" integer,
  account_id uuid,
  domain_id uuid,
  contact_id uuid,
  name text,
  payload jsonb,
  depth integer,
  automation_id uuid, -- whose email or run caused it, and which it does not start; or null
  tail text,          -- null: a random one
  entered_id uuid     -- the automation that it starts, whatever triggers there are; or null
);

-- enrolled  runs that it started; null: the quota does not suffice, and nothing was stored
CREATE TYPE stored_event AS (
  "position" integer,
  id uuid,
  contact_id uuid,
  enrolled integer
);

-- A run that an event is to start.
CREATE TYPE run_entry AS (
  "position" integer,
  account_id uuid,
  automation_id uuid,
  version integer,
  contact_id uuid,
  reentry text,
  obstacle text -- `limit` or `quota`: it is not started, only counted; null: it is
);
