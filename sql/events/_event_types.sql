-- Types that functions of several files use, created before them like those of sql/_types.sql.
DROP TYPE IF EXISTS event_draft, new_event, stored_event, run_entry CASCADE;

-- An event from the API; its contact is given by id or by address.
CREATE TYPE event_draft AS (
  "position" integer,
  account_id uuid,
  domain_id uuid,
  contact_id uuid,
  email text,         -- in lower case
  name text,
  payload jsonb,
  tail text,          -- end of its id, 16 hexadecimal digits, by which its sender finds it again
  is_refused boolean, -- it is invalid, so it may only replay the answer of its key
  route text,
  key text,
  fingerprint text    -- hex
);

-- An event of a contact.
CREATE TYPE new_event AS (
  "position" integer,
  account_id uuid,
  domain_id uuid,
  contact_id uuid,
  name text,
  payload jsonb,
  depth integer,
  automation_id uuid, -- the automation whose email or run caused the event, which must not start it again; or null
  tail text,          -- null: random
  entered_id uuid     -- the automation that it starts regardless of triggers; or null
);

-- enrolled: runs that it started; null: the quota is exceeded, and nothing was stored
CREATE TYPE stored_event AS (
  "position" integer,
  id uuid,
  contact_id uuid,
  enrolled integer
);

-- A run that an event will start.
CREATE TYPE run_entry AS (
  "position" integer,
  account_id uuid,
  automation_id uuid,
  version integer,
  contact_id uuid,
  reentry text,
  obstacle text -- `limit` or `quota`: it is only counted, not started; null: it is started
);
