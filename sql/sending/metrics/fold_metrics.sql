DROP FUNCTION IF EXISTS fold_metrics(integer);

-- Adds the figures of at most max_count rows to those of shard 0, to which nothing else writes, and deletes the rows.
-- Only for quarters that ended an hour ago; later changes are added by another run. Returns how many rows were deleted.
CREATE FUNCTION fold_metrics(max_count integer) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  count integer;
BEGIN
  WITH old AS MATERIALIZED (
    SELECT o.account_id, o.quarter, o.domain_id, o.campaign_id, o.shard FROM email_metrics o
    WHERE o.shard > 0 AND o.quarter < now() - interval '75 minutes'
    ORDER BY o.quarter LIMIT max_count FOR UPDATE SKIP LOCKED
  ), gone AS (
    DELETE FROM email_metrics m USING old o
    WHERE m.account_id = o.account_id AND m.quarter = o.quarter AND m.domain_id = o.domain_id
      AND m.campaign_id = o.campaign_id AND m.shard = o.shard
    RETURNING m.*
  ), folded AS (
    INSERT INTO email_metrics AS c (account_id, quarter, domain_id, campaign_id, shard,
      received, sent, delivered, delivery_delayed, bounced_permanent, bounced_transient, bounced_undetermined,
      complained, failed, suppressed, opened, unique_opened, clicked, unique_clicked, unsubscribed)
    SELECT g.account_id, g.quarter, g.domain_id, g.campaign_id, 0,
      sum(g.received), sum(g.sent), sum(g.delivered), sum(g.delivery_delayed), sum(g.bounced_permanent),
      sum(g.bounced_transient), sum(g.bounced_undetermined), sum(g.complained), sum(g.failed), sum(g.suppressed),
      sum(g.opened), sum(g.unique_opened), sum(g.clicked), sum(g.unique_clicked), sum(g.unsubscribed)
    FROM gone g
    GROUP BY g.account_id, g.quarter, g.domain_id, g.campaign_id
    ORDER BY g.account_id, g.quarter, g.domain_id, g.campaign_id
    ON CONFLICT (account_id, quarter, domain_id, campaign_id, shard) DO UPDATE SET
      received = c.received + excluded.received, sent = c.sent + excluded.sent,
      delivered = c.delivered + excluded.delivered,
      delivery_delayed = c.delivery_delayed + excluded.delivery_delayed,
      bounced_permanent = c.bounced_permanent + excluded.bounced_permanent,
      bounced_transient = c.bounced_transient + excluded.bounced_transient,
      bounced_undetermined = c.bounced_undetermined + excluded.bounced_undetermined,
      complained = c.complained + excluded.complained, failed = c.failed + excluded.failed,
      suppressed = c.suppressed + excluded.suppressed, opened = c.opened + excluded.opened,
      unique_opened = c.unique_opened + excluded.unique_opened, clicked = c.clicked + excluded.clicked,
      unique_clicked = c.unique_clicked + excluded.unique_clicked,
      unsubscribed = c.unsubscribed + excluded.unsubscribed
  )
  SELECT count(*) INTO count FROM gone;
  RETURN count;
END
$$;
