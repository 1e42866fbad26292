-- The newest opens, clicks and replies, by run: those of a new run are found without reading all earlier ones.
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_opens_of_run;
CREATE INDEX CONCURRENTLY campaign_recipients_newest_opens_of_run
  ON campaign_recipients (account_id, campaign_id, run, first_opened_at DESC) WHERE first_opened_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_clicks_of_run;
CREATE INDEX CONCURRENTLY campaign_recipients_newest_clicks_of_run
  ON campaign_recipients (account_id, campaign_id, run, first_clicked_at DESC) WHERE first_clicked_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_replies_of_run;
CREATE INDEX CONCURRENTLY campaign_recipients_newest_replies_of_run
  ON campaign_recipients (account_id, campaign_id, run, replied_at DESC) WHERE replied_at IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_opens;
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_clicks;
DROP INDEX CONCURRENTLY IF EXISTS campaign_recipients_newest_replies;
