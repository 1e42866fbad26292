-- The source of many emails, stored once: a version of a template, or equal emails of a batch. Rows never change but for
-- used_at, which is less than an hour behind. An email that shares its source with no other keeps it in email_contents.
CREATE TABLE contents (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL, -- of the version of the template, or its own
  html text,
  text text,
  used_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);
CREATE INDEX contents_used_at ON contents (used_at);

-- content_id     where html and text are, if not here
-- variables      values that are put in when it is sent; null: html and text are sent as they are
-- rendered_size  bytes of html and text with their values; null: those of html and text
-- renderer       version of what makes the parts of the message (lib/contents); null: they are html and text as they are
ALTER TABLE email_contents
  ADD COLUMN content_id uuid,
  ADD COLUMN variables jsonb,
  ADD COLUMN rendered_size integer,
  ADD COLUMN renderer smallint;
-- Not checked for what is there: all of it is null, and to read it all would lock it.
ALTER TABLE email_contents ADD CONSTRAINT email_contents_content FOREIGN KEY (account_id, content_id)
  REFERENCES contents (account_id, id) NOT VALID;

-- The same as in email_contents: only a worker that knows this version claims the delivery.
ALTER TABLE deliveries ADD COLUMN renderer smallint;
