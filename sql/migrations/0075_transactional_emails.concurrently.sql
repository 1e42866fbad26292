-- Emails of neither a campaign nor an automation, which lists find without reading the others between them.
DROP INDEX CONCURRENTLY IF EXISTS emails_transactional;
CREATE INDEX CONCURRENTLY emails_transactional ON emails (account_id, id) WHERE campaign_id IS NULL AND automation_id IS NULL;
