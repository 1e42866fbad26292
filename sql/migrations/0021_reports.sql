-- Received reports that changed nothing, as nobody could read them or they are about no delivery: for the operator, who
-- may find a kind of report here that the rules do not know yet. A row goes with the message.
CREATE TABLE unapplied_reports (
  account_id uuid NOT NULL,
  received_email_id uuid NOT NULL,
  reason text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, received_email_id),
  FOREIGN KEY (account_id, received_email_id) REFERENCES received_emails (account_id, id) ON DELETE CASCADE
);
CREATE INDEX unapplied_reports_newest ON unapplied_reports (created_at DESC);

-- Why a delivery that its receiver had taken was refused later, by a report: a class of refusal (lib/smtp_reply.ts). Null:
-- no report said that it failed, or the recipient was the cause, and then the delivery is `bounced`.
--
-- This comes after the table above, whose foreign key locks received_emails: a process that applies a report locks that
-- before deliveries, and in the other order one of the two would be ended by a deadlock.
ALTER TABLE deliveries ADD COLUMN reported_class text;
