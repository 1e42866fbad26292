-- The address as it is in the file, if it is written otherwise and may come earlier in it: for the list of skipped records.
ALTER TABLE import_rows ADD COLUMN written_email text;
