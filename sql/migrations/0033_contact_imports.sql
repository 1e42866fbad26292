-- Imports of contacts from CSV files.

-- A file with contacts. A worker stages its rows (import_rows, import_errors), and then merges them into the contacts, in the
-- order of the file, slice by slice (sql/contacts/import/merge_import_slice.sql).

-- domain_id       no reference: the imports of a deleted domain are removed in slices, as its contacts are
-- blob_id         the file; null once the import has ended
-- options         how the file is read and what its rows do (lib/contacts/import/options.ts)
-- source_id       the API key, with the client's address
-- error           why the file was not read to its end
-- records         in the file, with those that are wrong; null until all of them are staged
-- merged_through  the record that was merged last; created, updated, skipped and failed count the records up to it
-- lease_owner     the worker that is at it, until lease_until
-- attempts        runs in a row that ended in an unexpected error
CREATE TABLE contact_imports (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  audience_id uuid,
  blob_id uuid,
  options jsonb NOT NULL,
  source_id uuid,
  client_address inet,
  status text NOT NULL DEFAULT 'queued' CHECK (status IN ('queued', 'in_progress', 'completed', 'failed')),
  error text,
  records bigint,
  merged_through bigint NOT NULL DEFAULT 0,
  created bigint NOT NULL DEFAULT 0,
  updated bigint NOT NULL DEFAULT 0,
  skipped bigint NOT NULL DEFAULT 0,
  failed bigint NOT NULL DEFAULT 0,
  lease_owner uuid,
  lease_until timestamptz,
  attempts integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  completed_at timestamptz,
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, blob_id) REFERENCES blobs (account_id, id)
) WITH (fillfactor = 50);
CREATE INDEX contact_imports_open ON contact_imports (account_id, id) WHERE status IN ('queued', 'in_progress');
CREATE INDEX contact_imports_blob ON contact_imports (account_id, blob_id) WHERE blob_id IS NOT NULL;
CREATE INDEX contact_imports_of_domain ON contact_imports (account_id, domain_id);

-- Records that are wrong, and those whose address comes earlier in the file.

-- n     number of the record in the file, from 1; the header has none
-- line  physical line that it begins in, from 1
CREATE TABLE import_errors (
  account_id uuid NOT NULL,
  import_id uuid NOT NULL,
  n bigint NOT NULL,
  line bigint NOT NULL,
  email text,
  outcome text NOT NULL CHECK (outcome IN ('failed', 'skipped')),
  message text NOT NULL,
  PRIMARY KEY (account_id, import_id, n),
  FOREIGN KEY (account_id, import_id) REFERENCES contact_imports (account_id, id) ON DELETE CASCADE
);

-- Rows of files that are being imported. Unlogged: after a crash of Postgres the table is empty, and the file is staged again.
-- Without the account: the id of an import is enough for what only its worker reads.
CREATE UNLOGGED TABLE import_rows (
  import_id uuid NOT NULL,
  n bigint NOT NULL,
  line bigint NOT NULL,
  id uuid NOT NULL,
  email text NOT NULL,
  first_name text,
  last_name text,
  unsubscribed boolean,
  properties jsonb,
  PRIMARY KEY (import_id, n)
);
