-- Contacts found by a filter, and the subjects that they can choose to get mail about.

-- What a segment's filter finds, and the contacts added to it by hand. The segment General of each domain has its id.

-- filter          as POST /segments takes it; rules is the wider language beside it
-- contacts_count  exact at counted_at, null before it was first counted
CREATE TABLE segments (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  name text NOT NULL,
  filter jsonb NOT NULL,
  rules jsonb,
  contacts_count bigint,
  counted_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain_id, name),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

CREATE TABLE segment_members (
  account_id uuid NOT NULL,
  segment_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  added_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, segment_id, contact_id),
  FOREIGN KEY (account_id, contact_id) REFERENCES contacts (account_id, id) ON DELETE CASCADE
);
CREATE INDEX segment_members_of_contact ON segment_members (account_id, contact_id);

-- domain_id  null: contacts of every domain of the account have it
CREATE TABLE topics (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid,
  name text NOT NULL,
  description text,
  default_subscription text NOT NULL CHECK (default_subscription IN ('opt_in', 'opt_out')),
  visibility text NOT NULL CHECK (visibility IN ('public', 'private')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, name),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

-- A contact's own choice; without a row the topic's default holds.
CREATE TABLE contact_topics (
  account_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  topic_id uuid NOT NULL,
  subscription text NOT NULL CHECK (subscription IN ('opt_in', 'opt_out')),
  PRIMARY KEY (account_id, contact_id, topic_id),
  FOREIGN KEY (account_id, contact_id) REFERENCES contacts (account_id, id) ON DELETE CASCADE
);
CREATE INDEX contact_topics_of_topic ON contact_topics (account_id, topic_id);

-- What each domain has from the start.
CREATE FUNCTION insert_domain_defaults() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO audiences (account_id, id, domain_id, name) VALUES (new.account_id, new.id, new.id, 'Default');
  INSERT INTO segments (account_id, id, domain_id, name, filter) VALUES (new.account_id, new.id, new.id, 'General', '{}');
  RETURN NULL;
END $$;

-- By a trigger, since processes of the release before add domains too while this one is installed.
CREATE TRIGGER insert_domain_defaults AFTER INSERT ON domains FOR EACH ROW EXECUTE FUNCTION insert_domain_defaults();

INSERT INTO audiences (account_id, id, domain_id, name, created_at)
SELECT account_id, id, id, 'Default', created_at FROM domains;
INSERT INTO segments (account_id, id, domain_id, name, filter, created_at)
SELECT account_id, id, id, 'General', '{}', created_at FROM domains;
