-- Short content lies in the row of its blob: a row, its index entries and the look-up of its blob are spared for each, and
-- up to about 8 KB of it is in the page itself. Longer content, and what came before, lies in blob_chunks or in S3.
ALTER TABLE blobs ADD data bytea; -- all of it; null: it lies elsewhere

-- Most files are compressed already.
ALTER TABLE blobs ALTER data SET STORAGE EXTERNAL;
ALTER TABLE blobs SET (toast_tuple_target = 8160);
