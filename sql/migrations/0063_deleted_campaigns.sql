-- A campaign that was sent in runs and then deleted: lists leave it out, its reports stay.
ALTER TABLE campaigns ADD COLUMN deleted_at timestamptz;
