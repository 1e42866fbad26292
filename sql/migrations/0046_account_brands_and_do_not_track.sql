-- The look of pages for recipients, for domains that have none of their own. As domains have it.
ALTER TABLE accounts
  ADD COLUMN brand_name text,
  ADD COLUMN brand_color text CHECK (brand_color ~ '^#[0-9a-f]{6}$'),
  ADD COLUMN brand_logo_url text CHECK (brand_logo_url LIKE 'https://%');

-- Opens and clicks of mail to it are not tracked.
ALTER TABLE contacts ADD COLUMN do_not_track boolean NOT NULL DEFAULT false;
