-- What callers asked of the API and were answered: a row for each request, written in batches after the answer.

-- One index does it all. It goes by account and, as ids rise with time, by age: the oldest of each account are deleted by
-- it. It holds all that lists show and filter by, so they read no bodies.
CREATE TABLE logs (
  account_id uuid NOT NULL REFERENCES accounts,
  id bigint GENERATED ALWAYS AS IDENTITY,
  created_at timestamptz NOT NULL, -- when the request was made
  method text NOT NULL,
  endpoint text NOT NULL CHECK (length(endpoint) <= 500), -- a row of an index has 2,704 bytes at most
  response_status smallint NOT NULL,
  user_agent text NOT NULL CHECK (length(user_agent) <= 500),
  request_body json, -- json, not jsonb: nothing looks inside, and it keeps the order of the fields
  response_body json,
  PRIMARY KEY (account_id, id) INCLUDE (created_at, method, endpoint, response_status, user_agent)
) WITH (autovacuum_vacuum_insert_scale_factor = 0.02); -- what is not vacuumed yet is read from the table after all
