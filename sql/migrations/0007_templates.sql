-- A template and its versions. Only the newest version may be unpublished and change; a published one never does again.
-- An email is rendered when it is accepted, so it needs neither of them afterwards.

CREATE TABLE templates (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  name text NOT NULL,
  alias text,
  number integer NOT NULL DEFAULT 1, -- of its newest version: what GET shows and PATCH changes
  published_number integer,          -- of the version that is sent
  published_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, alias),
  CHECK (published_number <= number),
  CHECK ((published_number IS NULL) = (published_at IS NULL))
);

-- variables: a list of { id, key, type, fallback_value, created_at, updated_at }.
CREATE TABLE template_versions (
  account_id uuid NOT NULL,
  template_id uuid NOT NULL,
  number integer NOT NULL,
  id uuid NOT NULL,
  sender text,
  subject text,
  reply_to text[] NOT NULL,
  html text NOT NULL,
  text text,
  variables jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, template_id, number),
  UNIQUE (account_id, id),
  FOREIGN KEY (account_id, template_id) REFERENCES templates (account_id, id) ON DELETE CASCADE
);

-- Which template it was made from, as it was then. No reference: it would have to be looked for in all of an account's
-- emails when a template is deleted, and costs each of them a check.
ALTER TABLE emails ADD COLUMN template_id uuid;
