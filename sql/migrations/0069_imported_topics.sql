-- Choices about topics by the ids of the topics; null: the record has none. A database that ran this file while it was
-- numbered 0070 has the column already.
ALTER TABLE import_rows ADD COLUMN IF NOT EXISTS topics jsonb;
