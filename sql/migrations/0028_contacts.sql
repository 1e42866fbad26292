-- The people that an account writes to: contacts with properties, in audiences and segments, with topics and consent.

-- For `email_contains`.
CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- The domain that stands in for `domain` where a request names none.
ALTER TABLE api_keys ADD COLUMN default_domain_id uuid;
ALTER TABLE api_keys ADD FOREIGN KEY (account_id, default_domain_id) REFERENCES domains (account_id, id)
  ON DELETE SET NULL (default_domain_id);

-- Properties that contacts of an account can have.

-- stored_as   name of the value in contacts.properties: the key, or another name while values of a deleted property of that
--             key are still being removed
-- deleted_at  nobody sees it any more; a job removes its values and then the row
CREATE TABLE contact_properties (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  key text NOT NULL,
  stored_as text NOT NULL,
  type text NOT NULL CHECK (type IN ('string', 'number')),
  fallback_value jsonb,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, stored_as)
);
CREATE UNIQUE INDEX contact_properties_key ON contact_properties (account_id, key) WHERE deleted_at IS NULL;

-- One person on one domain. No reference to domains: a domain is deleted at once, and its contacts afterwards in slices, so
-- whoever writes contacts locks the row of the domain first (sql/contacts/lock_contacts.sql).

-- properties  own values only, by contact_properties.stored_as; fallbacks are merged when a contact is shown
-- source      how the contact was added, source_id by which API key or import
CREATE TABLE contacts (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  email text NOT NULL CHECK (email = lower(email)),
  first_name text,
  last_name text,
  unsubscribed boolean NOT NULL DEFAULT false,
  properties jsonb NOT NULL DEFAULT '{}',
  source text NOT NULL CHECK (source IN ('api', 'import', 'event')),
  source_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain_id, email)
) WITH (fillfactor = 85);
CREATE INDEX contacts_listed ON contacts (account_id, domain_id, id);
CREATE INDEX contacts_properties ON contacts USING gin (properties jsonb_path_ops);
CREATE INDEX contacts_email ON contacts USING gin (email gin_trgm_ops);

-- Each domain has a default audience, which all of its contacts are in without rows of audience_members. Its id is the
-- domain's, so that it needs no look-up.
CREATE TABLE audiences (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, domain_id, name),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE CASCADE
);

-- No reference to audiences: the rows of a deleted one are removed in slices.
CREATE TABLE audience_members (
  account_id uuid NOT NULL,
  audience_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  PRIMARY KEY (account_id, audience_id, contact_id),
  FOREIGN KEY (account_id, contact_id) REFERENCES contacts (account_id, id) ON DELETE CASCADE
);
CREATE INDEX audience_members_of_contact ON audience_members (account_id, contact_id);

-- Exact numbers of contacts per audience, kept by statement triggers. A number is the sum of its shards: concurrent writers
-- add to different ones.
CREATE TABLE audience_counts (
  account_id uuid NOT NULL REFERENCES accounts,
  audience_id uuid NOT NULL,
  shard smallint NOT NULL,
  contacts bigint NOT NULL,
  PRIMARY KEY (account_id, audience_id, shard)
) WITH (fillfactor = 50);

-- Opt-outs of addresses that are no contact: of deleted contacts, and of people who unsubscribed without ever being one. A
-- contact that is created for the address inherits them. No reference to anything: they outlive it all.

-- email_hash  sha256 of the lower-case address
-- topic_id    zero: from everything
CREATE TABLE contact_optouts (
  account_id uuid NOT NULL REFERENCES accounts,
  domain_id uuid NOT NULL,
  email_hash bytea NOT NULL,
  topic_id uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, domain_id, email_hash, topic_id)
);

-- Each opt-in and opt-out: when, how, by whom and from which address.

-- topic_id   null: everything
-- how        api, import, page (the preference page), one_click (RFC 8058), email (the mailto address), complaint
-- source_id  the API key, the import or the email
CREATE TABLE contact_consents (
  account_id uuid NOT NULL REFERENCES accounts,
  domain_id uuid NOT NULL,
  email_hash bytea NOT NULL,
  id uuid NOT NULL,
  topic_id uuid,
  subscription text NOT NULL CHECK (subscription IN ('opt_in', 'opt_out')),
  how text NOT NULL CHECK (how IN ('api', 'import', 'page', 'one_click', 'email', 'complaint')),
  source_id uuid,
  client_address inet,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, domain_id, email_hash, id)
);

-- They are replaced by the functions of sql/contacts/count_contacts.sql.
CREATE FUNCTION count_contacts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE FUNCTION count_audience_members() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER count_inserted AFTER INSERT ON contacts REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_contacts();
CREATE TRIGGER count_deleted AFTER DELETE ON contacts REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_contacts();
CREATE TRIGGER count_inserted AFTER INSERT ON audience_members REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_audience_members();
CREATE TRIGGER count_deleted AFTER DELETE ON audience_members REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION count_audience_members();
