-- A/B tests of campaigns.

-- ab_test  as POST /campaigns takes it, with all defaults; null: none
ALTER TABLE campaigns ADD COLUMN ab_test jsonb;

-- The variants of a campaign as they were when it was sent, from 1 in the order of its test. A recipient of variant 0 waits for
-- the decision.
CREATE TABLE campaign_variants (
  account_id uuid NOT NULL,
  campaign_id uuid NOT NULL,
  variant smallint NOT NULL,
  key text NOT NULL,
  sender text NOT NULL,
  subject text NOT NULL,
  content_id uuid NOT NULL,
  PRIMARY KEY (account_id, campaign_id, variant),
  FOREIGN KEY (account_id, campaign_id) REFERENCES campaigns (account_id, id) ON DELETE CASCADE,
  FOREIGN KEY (account_id, content_id) REFERENCES contents (account_id, id)
);

-- decide_at            when the winner is chosen; null: the test is still being sent
-- decided_confidence   0 to 1: how surely the winner was the better one
ALTER TABLE campaign_runs
  ADD COLUMN decide_at timestamptz,
  ADD COLUMN decided_variant smallint,
  ADD COLUMN decided_at timestamptz,
  ADD COLUMN decided_by text CHECK (decided_by IN ('automatic', 'manual')),
  ADD COLUMN decided_confidence real;
