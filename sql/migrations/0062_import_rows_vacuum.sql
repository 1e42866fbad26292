-- Rows of imports are gone within minutes: to vacuum what was only inserted would be for nothing.
ALTER TABLE import_rows SET (autovacuum_vacuum_insert_threshold = -1);
