-- When a message that is not read yet gets another job: the one it came with may be lost.
ALTER TABLE received_emails ADD parse_due_at timestamptz NOT NULL DEFAULT now() + interval '1 minute';
CREATE INDEX received_emails_unparsed ON received_emails (parse_due_at) WHERE state = 'stored' AND raw_blob_id IS NOT NULL;

-- Tries that did not end: their process died.
ALTER TABLE received_emails ADD parse_tries smallint NOT NULL DEFAULT 0;
