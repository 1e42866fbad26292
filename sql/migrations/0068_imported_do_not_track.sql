-- Null: the file does not say whether opens and clicks of the contact are tracked.
ALTER TABLE import_rows ADD COLUMN do_not_track boolean;
