-- Contents of files, each stored once for each account. The bytes lie in blob_chunks, or in S3 by the key account_id/id:
-- which of the two was configured when they came is told by `store`.
CREATE TABLE blobs (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  store text NOT NULL CHECK (store IN ('postgres', 's3')),
  sha256 bytea,                             -- null while it arrives, and again before it is deleted: it is not to be found
  size integer NOT NULL DEFAULT 0,          -- bytes
  used_at timestamptz NOT NULL DEFAULT now(), -- when it was last stored, or would have been stored again
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, sha256)
);

CREATE INDEX blobs_age ON blobs (used_at);

CREATE TABLE blob_chunks (
  account_id uuid NOT NULL,
  blob_id uuid NOT NULL,
  "position" integer NOT NULL,
  data bytea NOT NULL,
  PRIMARY KEY (account_id, blob_id, "position"),
  FOREIGN KEY (account_id, blob_id) REFERENCES blobs (account_id, id) ON DELETE CASCADE
);

-- Most files are compressed already.
ALTER TABLE blob_chunks ALTER data SET STORAGE EXTERNAL;

-- What comes from a path has no blob until it is sent for the first time.
CREATE TABLE attachments (
  account_id uuid NOT NULL,
  id uuid NOT NULL,
  email_id uuid NOT NULL,
  "position" integer NOT NULL,
  filename text NOT NULL,
  content_type text NOT NULL,
  content_disposition text NOT NULL CHECK (content_disposition IN ('attachment', 'inline')),
  content_id text,
  path text,
  blob_id uuid,
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, email_id, "position"),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE,
  FOREIGN KEY (account_id, blob_id) REFERENCES blobs (account_id, id),
  CHECK (path IS NOT NULL OR blob_id IS NOT NULL)
);

CREATE INDEX attachments_blob ON attachments (account_id, blob_id) WHERE blob_id IS NOT NULL;
