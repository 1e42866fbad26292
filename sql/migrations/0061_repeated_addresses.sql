-- False if the address surely comes for the first time in its file, so that nobody need look for it.
ALTER TABLE import_rows ADD COLUMN may_repeat boolean NOT NULL DEFAULT true;
