-- The first row of an address in a file.
DROP INDEX CONCURRENTLY IF EXISTS import_rows_by_email;
CREATE INDEX CONCURRENTLY import_rows_by_email ON import_rows (import_id, email, n);
