-- Lists of the emails of a campaign.
DROP INDEX CONCURRENTLY IF EXISTS emails_of_campaign;
CREATE INDEX CONCURRENTLY emails_of_campaign ON emails (account_id, campaign_id, id) WHERE campaign_id IS NOT NULL;
