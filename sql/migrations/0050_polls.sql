-- Polls in emails and campaigns, and what recipients answer.

-- poll  question and options of a campaign as POST /campaigns takes them; null: none
ALTER TABLE campaigns ADD COLUMN poll jsonb;

-- No reference to polls: those of a campaign would all lock the same row.
-- poll_id  the poll that the links of the email answer
ALTER TABLE email_contents ADD COLUMN poll_id uuid;

-- A poll of one email or of the emails of an automation's step, which never changes; or of all emails of a campaign, to which
-- later runs may add options. If the poll of a step is changed, that is another poll.

-- email_id   the email that was sent with it; null: of a campaign or a step, whose emails share it
-- step       key of the step of the automation; subject: of its emails, maybe with placeholders
-- fingerprint  of the automation, the step, and what it asks
-- options    [{key, label}], in order
-- is_test    of a test email: it can be looked at, and nobody's answer is stored
CREATE TABLE polls (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  email_id uuid,
  campaign_id uuid,
  automation_id uuid,
  step text,
  subject text,
  fingerprint uuid,
  question text NOT NULL,
  options jsonb NOT NULL,
  is_test boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id),
  FOREIGN KEY (account_id, email_id) REFERENCES emails (account_id, id) ON DELETE CASCADE,
  FOREIGN KEY (account_id, campaign_id) REFERENCES campaigns (account_id, id) ON DELETE CASCADE,
  CHECK (num_nonnulls(email_id, campaign_id, automation_id) <= 1)
);
CREATE UNIQUE INDEX polls_of_email ON polls (account_id, email_id) WHERE email_id IS NOT NULL;
CREATE UNIQUE INDEX polls_of_campaign ON polls (account_id, campaign_id) WHERE campaign_id IS NOT NULL;
CREATE INDEX polls_of_automation ON polls (account_id, automation_id) WHERE automation_id IS NOT NULL;
CREATE UNIQUE INDEX polls_of_step ON polls (account_id, fingerprint) WHERE fingerprint IS NOT NULL;
CREATE INDEX polls_of_domain ON polls (account_id, domain_id, id);

-- The last answer of each recipient: of one email, whose address is that of its delivery. They are forgotten together; the
-- figures of a campaign's poll stay.

-- option  key of an option of the poll
CREATE TABLE poll_answers (
  account_id uuid NOT NULL,
  delivery_id uuid NOT NULL,
  poll_id uuid NOT NULL,
  option text NOT NULL,
  answered_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, delivery_id),
  FOREIGN KEY (account_id, delivery_id) REFERENCES deliveries (account_id, id) ON DELETE CASCADE,
  FOREIGN KEY (account_id, poll_id) REFERENCES polls (account_id, id) ON DELETE CASCADE
);
CREATE INDEX poll_answers_newest ON poll_answers (account_id, poll_id, answered_at DESC);

-- Recipients by their last answer, moved by the statement that stores it (sql/polls/answer_poll.sql). The figure is the sum
-- over shards, which several processes write at the same moment.
CREATE TABLE poll_counts (
  account_id uuid NOT NULL,
  poll_id uuid NOT NULL,
  option text NOT NULL,
  shard smallint NOT NULL,
  count bigint NOT NULL,
  last_response_at timestamptz,
  PRIMARY KEY (account_id, poll_id, option, shard),
  FOREIGN KEY (account_id, poll_id) REFERENCES polls (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);
