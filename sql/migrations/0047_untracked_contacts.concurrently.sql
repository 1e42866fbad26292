-- Contacts whose mail is not tracked: few, and looked for whenever tracked mail is accepted.
DROP INDEX CONCURRENTLY IF EXISTS contacts_untracked;
CREATE INDEX CONCURRENTLY contacts_untracked ON contacts (account_id, domain_id, email) WHERE do_not_track;
