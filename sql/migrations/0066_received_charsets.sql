-- Charset of a text, as it was declared; null: none was, or the file is not text, or it came before this column.
ALTER TABLE received_attachments ADD COLUMN charset text;
