-- Number of the first record of the file with the address; 0: this is the first one. Null: staged by a worker of the release
-- before, which only tells whether the address may repeat.
ALTER TABLE import_rows ADD COLUMN first_n bigint;
