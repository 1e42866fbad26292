-- Who was sent a campaign and what they did with it, as far as segments ask for it. Nothing writes these tables before there
-- are campaigns, which add the rest of the columns.

-- No reference to domains: like contacts, they are removed in slices after their domain.
CREATE TABLE campaigns (
  account_id uuid NOT NULL REFERENCES accounts,
  id uuid NOT NULL,
  domain_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, id)
);

-- No reference to campaigns and contacts: the rows of a deleted campaign are removed in slices, and those of a deleted contact
-- stay for the figures of the campaign.

-- run               of a recurring campaign; segments look at all of them
-- sent_at           when a server took the email; null: it was not sent
-- first_opened_at   by a person, or by a proxy on behalf of one. A click is an open too, so it is set with first_clicked_at.
CREATE TABLE campaign_recipients (
  account_id uuid NOT NULL REFERENCES accounts,
  campaign_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  run integer NOT NULL DEFAULT 1,
  sent_at timestamptz,
  first_opened_at timestamptz,
  first_clicked_at timestamptz,
  PRIMARY KEY (account_id, campaign_id, contact_id, run)
) WITH (fillfactor = 80);
-- With the contact, so that a look-up of one never reads all those who opened a campaign.
CREATE INDEX campaign_recipients_opened ON campaign_recipients (account_id, campaign_id, contact_id)
  WHERE first_opened_at IS NOT NULL;
CREATE INDEX campaign_recipients_clicked ON campaign_recipients (account_id, campaign_id, contact_id)
  WHERE first_clicked_at IS NOT NULL;

-- The same of each contact over all campaigns, apart from contacts: it changes far more often than they do.

-- opened_count, clicked_count  emails that were opened or clicked, each once
CREATE TABLE contact_engagement (
  account_id uuid NOT NULL,
  contact_id uuid NOT NULL,
  last_sent_at timestamptz,
  last_opened_at timestamptz,
  last_clicked_at timestamptz,
  sent_count integer NOT NULL DEFAULT 0,
  opened_count integer NOT NULL DEFAULT 0,
  clicked_count integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, contact_id),
  FOREIGN KEY (account_id, contact_id) REFERENCES contacts (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 70);
