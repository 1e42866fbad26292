-- Links by which recipients unsubscribe, and the pages that they lead to.

-- Keys that the tokens in links are signed with. Rows of their own and not derived from SECRET_KEY: a new one breaks no link
-- that was ever sent. The highest kid signs; none is ever deleted.

-- key  32 random bytes, sealed for token_keys|key|<kid>| (lib/secrets.ts)
CREATE TABLE token_keys (
  kid smallint PRIMARY KEY CHECK (kid BETWEEN 1 AND 255),
  key bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

-- How the pages for recipients show a sender. Null: the name of the domain, the usual color, no logo.

-- brand_color  #rrggbb in lower case
ALTER TABLE domains
  ADD COLUMN brand_name text,
  ADD COLUMN brand_color text CHECK (brand_color ~ '^#[0-9a-f]{6}$'),
  ADD COLUMN brand_logo_url text CHECK (brand_logo_url LIKE 'https://%');
