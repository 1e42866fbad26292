-- By which the purge sees that no email needs a content any more.
DROP INDEX CONCURRENTLY IF EXISTS email_contents_shared;
CREATE INDEX CONCURRENTLY email_contents_shared ON email_contents (account_id, content_id) WHERE content_id IS NOT NULL;
