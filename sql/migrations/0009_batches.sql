-- A request of POST /emails/batch. The row is its idempotency record, and what was stored of it is its answer: the first
-- `stored` of its emails, in order.
--
-- state   open    its emails are being stored, slice by slice, until the deadline
--         done    all of them are
--         closed  the deadline came first; what was not stored never will be
CREATE TABLE batches (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  key text,
  fingerprint bytea,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'closed')),
  deadline timestamptz NOT NULL,
  drafts json,                            -- while it is open: a list of draft (functions/_types.sql)
  judgement jsonb,                        -- while it is open: of these, once they are judged
  positions integer[],                    -- of its emails among the drafts ...
  email_ids uuid[],                       -- ... their ids ...
  indexes integer[] NOT NULL,             -- ... and where in the request they, or at first all drafts, were
  errors json NOT NULL,                   -- what a permissive request left out: a list of index and message
  slice_size integer NOT NULL,            -- emails in one commit
  stored integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  UNIQUE (account_id, key),
  CHECK ((key IS NULL) = (fingerprint IS NULL)),
  CHECK ((state = 'open') = (drafts IS NOT NULL)),
  CHECK (stored <= cardinality(positions))
) WITH (fillfactor = 50);

-- To compress what is read twice and dropped costs more than to write it.
ALTER TABLE batches ALTER drafts SET STORAGE EXTERNAL, ALTER judgement SET STORAGE EXTERNAL;

CREATE INDEX batches_open ON batches (deadline) WHERE state = 'open';
CREATE INDEX batches_age ON batches (created_at);
