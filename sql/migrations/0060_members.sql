-- People who sign in at the dashboard. A member may belong to several accounts, with a role in each.
-- Operators manage the whole server: accounts, plans, switches.
CREATE TABLE members (
  id uuid PRIMARY KEY,
  email text NOT NULL UNIQUE CHECK (email = lower(email)),
  name text NOT NULL,
  -- In PHC format; null: signs in by passkeys alone.
  password text,
  is_operator boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz
);

CREATE TABLE memberships (
  account_id uuid NOT NULL REFERENCES accounts,
  member_id uuid NOT NULL REFERENCES members ON DELETE CASCADE,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'view_only')),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, member_id)
);
CREATE INDEX memberships_of_member ON memberships (member_id);

-- hash is HMAC-SHA-256 of the token in the cookie. account_id is the account that the member looks at.
CREATE TABLE sessions (
  hash bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  member_id uuid NOT NULL REFERENCES members ON DELETE CASCADE,
  account_id uuid NOT NULL REFERENCES accounts,
  client_address text,
  user_agent text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX sessions_of_member ON sessions (member_id, id);

-- Links that make a member or set a password, each good once. hash is HMAC-SHA-256 of the token in the link.
-- setup and invite make a member of account_id with role; reset lets member_id choose another password.
CREATE TABLE member_links (
  hash bytea PRIMARY KEY,
  id uuid NOT NULL UNIQUE,
  purpose text NOT NULL CHECK (purpose IN ('setup', 'invite', 'reset')),
  account_id uuid REFERENCES accounts,
  role text CHECK (role IN ('owner', 'admin', 'view_only')),
  email text,
  member_id uuid REFERENCES members ON DELETE CASCADE,
  invited_by text,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL
);
CREATE INDEX member_links_of_account ON member_links (account_id, id);

-- credential_id and public_key are as WebAuthn gives them.
CREATE TABLE passkeys (
  id uuid PRIMARY KEY,
  member_id uuid NOT NULL REFERENCES members ON DELETE CASCADE,
  credential_id text NOT NULL UNIQUE,
  public_key bytea NOT NULL,
  counter bigint NOT NULL,
  transports text[] NOT NULL,
  name text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_used_at timestamptz
);
CREATE INDEX passkeys_of_member ON passkeys (member_id, id);

-- What was changed, by whom and from where. actor_name is what the actor was called then: it outlives the actor.
CREATE TABLE audit_log (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  actor text NOT NULL CHECK (actor IN ('member', 'api_key', 'operator')),
  actor_id uuid,
  actor_name text NOT NULL,
  client_address text,
  action text NOT NULL,
  target text,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
