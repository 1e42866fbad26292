-- Only rows of the release before are looked up by their address.
DROP INDEX CONCURRENTLY IF EXISTS import_rows_unknown_first;
CREATE INDEX CONCURRENTLY import_rows_unknown_first ON import_rows (import_id, email, n) WHERE repeated_n IS NULL;
DROP INDEX CONCURRENTLY IF EXISTS import_rows_by_email;
