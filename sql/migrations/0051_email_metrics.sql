-- Figures of all mail by the quarter of an hour, which begins whole hours in every timezone there is. Moved by the statements
-- that do what they count (sql/sending/metrics/count_metrics.sql says what is counted when).

-- quarter                 its beginning
-- domain_id, campaign_id  the nil uuid: none. They outlive what they name
-- shard                   from 1: several processes write at the same moment; 0: what they wrote, added up when it is old
CREATE TABLE email_metrics (
  account_id uuid NOT NULL REFERENCES accounts,
  quarter timestamptz NOT NULL,
  domain_id uuid NOT NULL,
  campaign_id uuid NOT NULL,
  shard smallint NOT NULL,
  received integer NOT NULL DEFAULT 0,
  sent integer NOT NULL DEFAULT 0,
  delivered integer NOT NULL DEFAULT 0,
  delivery_delayed integer NOT NULL DEFAULT 0,
  bounced_permanent integer NOT NULL DEFAULT 0,
  bounced_transient integer NOT NULL DEFAULT 0,
  bounced_undetermined integer NOT NULL DEFAULT 0,
  complained integer NOT NULL DEFAULT 0,
  failed integer NOT NULL DEFAULT 0,
  suppressed integer NOT NULL DEFAULT 0,
  opened integer NOT NULL DEFAULT 0,
  unique_opened integer NOT NULL DEFAULT 0,
  clicked integer NOT NULL DEFAULT 0,
  unique_clicked integer NOT NULL DEFAULT 0,
  unsubscribed integer NOT NULL DEFAULT 0,
  PRIMARY KEY (account_id, quarter, domain_id, campaign_id, shard)
) WITH (fillfactor = 50);
CREATE INDEX email_metrics_to_fold ON email_metrics (quarter) WHERE shard > 0;
