-- Campaigns: one email to many contacts, its recipients, and what they do with it.

-- Address of the sender in the footer of campaigns (CAN-SPAM 5(a)(5)). That of the domain comes before that of the account.
ALTER TABLE accounts ADD COLUMN postal_address text;
ALTER TABLE domains ADD COLUMN postal_address text;

-- sender            `email@domain` or `Name <email@domain>`, at the domain of domain_id
-- audience_id       who gets it; with segment_id too, only those who are in both
-- template_id       where html and text come from when it is sent, if they are not here
-- track_opens       null: as the domain says. The same of track_clicks.
-- content_id        its html and text as they were frozen when it was sent (contents)
-- scheduled_at      when it is sent, or was asked to be
-- started_at        when sending began; sent_at: when nothing of it was left to send
-- pause_reason      why it is paused, or why nothing of it is sent at the moment
-- recipients_count  contacts that it was sent to or will be; known once all of them are found
-- error             why it failed
-- source_id         the API key that made it
ALTER TABLE campaigns
  ADD COLUMN name text NOT NULL DEFAULT '',
  ADD COLUMN status text NOT NULL DEFAULT 'draft' CHECK (status IN ('draft', 'scheduled', 'queued', 'testing', 'paused',
    'sent', 'canceled', 'failed')),
  ADD COLUMN audience_id uuid,
  ADD COLUMN segment_id uuid,
  ADD COLUMN topic_id uuid,
  ADD COLUMN sender text NOT NULL DEFAULT '',
  ADD COLUMN reply_to text[] NOT NULL DEFAULT '{}',
  ADD COLUMN subject text,
  ADD COLUMN preview_text text,
  ADD COLUMN html text,
  ADD COLUMN text text,
  ADD COLUMN template_id uuid,
  ADD COLUMN track_opens boolean,
  ADD COLUMN track_clicks boolean,
  ADD COLUMN content_id uuid,
  ADD COLUMN scheduled_at timestamptz,
  ADD COLUMN started_at timestamptz,
  ADD COLUMN sent_at timestamptz,
  ADD COLUMN paused_at timestamptz,
  ADD COLUMN pause_reason text,
  ADD COLUMN error text,
  ADD COLUMN recipients_count integer NOT NULL DEFAULT 0,
  ADD COLUMN source_id uuid,
  ADD COLUMN updated_at timestamptz NOT NULL DEFAULT now(),
  ADD FOREIGN KEY (account_id, content_id) REFERENCES contents (account_id, id);
CREATE INDEX campaigns_scheduled ON campaigns (scheduled_at) WHERE status = 'scheduled';
CREATE INDEX campaigns_active ON campaigns (account_id, id) WHERE status IN ('queued', 'testing', 'paused');
CREATE INDEX campaigns_of_domain ON campaigns (account_id, domain_id, id);
CREATE INDEX campaigns_of_segment ON campaigns (account_id, segment_id) WHERE segment_id IS NOT NULL;
CREATE INDEX campaigns_of_topic ON campaigns (account_id, topic_id) WHERE topic_id IS NOT NULL;
CREATE INDEX campaigns_of_template ON campaigns (account_id, template_id) WHERE template_id IS NOT NULL;

-- One sending of a campaign. One that does not recur has run 1 alone.

-- cursor       the contact up to which recipients were found, in the order of ids; found_at: when all of them were
-- finished_at  when nothing of it was left to send
CREATE TABLE campaign_runs (
  account_id uuid NOT NULL,
  campaign_id uuid NOT NULL,
  run integer NOT NULL,
  cursor uuid,
  found_at timestamptz,
  finished_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (account_id, campaign_id, run),
  FOREIGN KEY (account_id, campaign_id) REFERENCES campaigns (account_id, id) ON DELETE CASCADE
);

-- state     p pending, m its email is stored (email_id), x gets none for `reason`, c canceled before its email was stored
-- reason    of x: unsubscribed, not_subscribed_to_topic, suppressed, reserved_domain, deleted
-- email     the address when the recipient was found, for contacts that are deleted meanwhile
-- due_at    when its email is to be stored
-- opens     by a person or by a proxy for one; machine_opens: all others. The same of clicks.
ALTER TABLE campaign_recipients
  ADD COLUMN email text,
  ADD COLUMN email_id uuid,
  ADD COLUMN state "char" NOT NULL DEFAULT 'p',
  ADD COLUMN reason text,
  ADD COLUMN variant smallint NOT NULL DEFAULT 0,
  ADD COLUMN due_at timestamptz,
  ADD COLUMN opens integer NOT NULL DEFAULT 0,
  ADD COLUMN clicks integer NOT NULL DEFAULT 0,
  ADD COLUMN machine_opens integer NOT NULL DEFAULT 0,
  ADD COLUMN machine_clicks integer NOT NULL DEFAULT 0,
  ADD COLUMN replied_at timestamptz,
  ADD COLUMN received_email_id uuid,
  ADD COLUMN unsubscribed_at timestamptz;
CREATE INDEX campaign_recipients_pending ON campaign_recipients (account_id, campaign_id, run, due_at, contact_id)
  WHERE state = 'p';
CREATE INDEX campaign_recipients_newest_opens ON campaign_recipients (account_id, campaign_id, first_opened_at DESC)
  WHERE first_opened_at IS NOT NULL;
CREATE INDEX campaign_recipients_newest_clicks ON campaign_recipients (account_id, campaign_id, first_clicked_at DESC)
  WHERE first_clicked_at IS NOT NULL;
CREATE INDEX campaign_recipients_newest_replies ON campaign_recipients (account_id, campaign_id, replied_at DESC)
  WHERE replied_at IS NOT NULL;

-- Figures of a campaign, moved by the statements that do what they count (sql/campaigns/count_campaigns.sql). The figure is
-- the sum over shards, which several processes write at the same moment.
CREATE TABLE campaign_counts (
  account_id uuid NOT NULL,
  campaign_id uuid NOT NULL,
  run integer NOT NULL,
  variant smallint NOT NULL,
  name text NOT NULL,
  shard smallint NOT NULL,
  count bigint NOT NULL,
  PRIMARY KEY (account_id, campaign_id, run, variant, name, shard),
  FOREIGN KEY (account_id, campaign_id) REFERENCES campaigns (account_id, id) ON DELETE CASCADE
) WITH (fillfactor = 50);

-- Links of a campaign, in the order of its html.
CREATE TABLE campaign_links (
  account_id uuid NOT NULL,
  campaign_id uuid NOT NULL,
  variant smallint NOT NULL,
  link smallint NOT NULL,
  url text NOT NULL,
  clicks bigint NOT NULL DEFAULT 0,
  unique_clicks bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, campaign_id, variant, link),
  FOREIGN KEY (account_id, campaign_id) REFERENCES campaigns (account_id, id) ON DELETE CASCADE
);
