-- Mail that has come in: stored as it came before the sender is told 250, read later. One row for each account that it is
-- for, however many of its addresses.
--
-- state          stored: not read yet, and not shown; parsed; unreadable: only the raw message tells what is in it
-- received_for   the recipients of its envelope that are on domains of the account
-- sha256         of the raw message as it came: a sender that did not hear the 250 sends the same bytes again
CREATE TABLE received_emails (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid,
  state text NOT NULL DEFAULT 'stored' CHECK (state IN ('stored', 'parsed', 'unreadable')),
  mail_from text NOT NULL, -- '' is the null sender
  received_for text[] NOT NULL,
  client jsonb NOT NULL, -- { address, helo, name, tls }: who brought it
  sha256 bytea NOT NULL,
  size integer NOT NULL,
  raw_blob_id uuid,
  sender text NOT NULL DEFAULT '',
  from_name text,
  "to" text[] NOT NULL DEFAULT '{}',
  cc text[] NOT NULL DEFAULT '{}',
  bcc text[] NOT NULL DEFAULT '{}',
  reply_to text[] NOT NULL DEFAULT '{}',
  subject text NOT NULL DEFAULT '',
  message_id text,
  spf text,
  verdicts jsonb,
  category text CHECK (category IN ('interested', 'neutral', 'not_interested')),
  reply_to_email_id uuid,
  parse_error text,
  read_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, domain_id) REFERENCES domains (account_id, id) ON DELETE SET NULL (domain_id),
  FOREIGN KEY (account_id, raw_blob_id) REFERENCES blobs (account_id, id),
  FOREIGN KEY (account_id, reply_to_email_id) REFERENCES emails (account_id, id) ON DELETE SET NULL (reply_to_email_id)
);

CREATE INDEX received_emails_content ON received_emails (sha256); -- see receive_emails.sql
CREATE INDEX received_emails_raw ON received_emails (account_id, raw_blob_id) WHERE raw_blob_id IS NOT NULL;
CREATE INDEX received_emails_age ON received_emails (created_at) WHERE raw_blob_id IS NOT NULL;

-- What is large of it, and never listed.
CREATE TABLE received_contents (
  account_id uuid NOT NULL,
  received_email_id uuid NOT NULL,
  headers jsonb NOT NULL,
  html text,
  text text,
  PRIMARY KEY (account_id, received_email_id),
  FOREIGN KEY (account_id, received_email_id) REFERENCES received_emails (account_id, id) ON DELETE CASCADE
);

-- blob_id is null when its content could not be decoded, or was not kept: it is not downloadable then.
CREATE TABLE received_attachments (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  received_email_id uuid NOT NULL,
  "position" integer NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  content_disposition text NOT NULL CHECK (content_disposition IN ('attachment', 'inline')),
  content_id text,
  size integer NOT NULL,
  blob_id uuid,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, received_email_id, "position"),
  FOREIGN KEY (account_id, received_email_id) REFERENCES received_emails (account_id, id) ON DELETE CASCADE,
  FOREIGN KEY (account_id, blob_id) REFERENCES blobs (account_id, id)
);

CREATE INDEX received_attachments_blob ON received_attachments (account_id, blob_id) WHERE blob_id IS NOT NULL;
