-- Choices about topics by the ids of the topics; null: the record has none.
ALTER TABLE import_rows ADD COLUMN topics jsonb;
