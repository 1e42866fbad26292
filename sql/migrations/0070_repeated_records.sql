-- Number of the first record of the file with the address, which this one repeats; 0: it repeats none. Null: staged by a worker
-- of the release before, which only tells whether the address may repeat.
ALTER TABLE import_rows ADD COLUMN repeated_n bigint;
