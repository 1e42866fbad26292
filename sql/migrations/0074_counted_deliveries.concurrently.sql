-- Deliveries that count as no usage: all others are counted without reading them.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_unsent;
CREATE INDEX CONCURRENTLY deliveries_unsent ON deliveries (account_id, id) WHERE state IN ('suppressed', 'canceled');
