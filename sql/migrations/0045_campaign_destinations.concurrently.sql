-- Mail of campaigns by destination: a claim steps over a destination that has enough, however much is queued for it.
DROP INDEX CONCURRENTLY IF EXISTS deliveries_due_by_destination;
CREATE INDEX CONCURRENTLY deliveries_due_by_destination ON deliveries (destination, next_at, id)
  WHERE state = 'queued' AND priority = 10;
