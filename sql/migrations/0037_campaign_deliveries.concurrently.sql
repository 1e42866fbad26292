-- Mail of campaigns that is still to be sent.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_of_campaign;
CREATE INDEX CONCURRENTLY deliveries_of_campaign ON deliveries (account_id, campaign_id)
  WHERE campaign_id IS NOT NULL AND state IN ('queued', 'sending', 'in_doubt');
