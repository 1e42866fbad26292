DROP FUNCTION IF EXISTS count_metrics(metric_move[]);
DROP FUNCTION IF EXISTS quarter_of(timestamptz);
DROP FUNCTION IF EXISTS countable_moves(metric_move[]);

-- Changes the figures of email_metrics, in the transaction of the events that they count. Each figure counts recipients,
-- in the quarter of an hour of the event:
--
-- received            an email was received
-- sent                the receiver accepted the email, or a user declared that it did (release)
-- delivered           like sent, but subtracted again from its quarter if the email bounces or fails later
-- delivery_delayed    the first attempt that the receiver put off
-- bounced_*           the email bounced, at once or by a later report; by the type of the bounce
-- failed, suppressed  the email got this status; a retry of a campaign subtracts its failed emails
-- complained          the recipient complained; the email stays counted as delivered
-- opened, clicked     every open and click of a person; the click of somebody without an open counts as an open too
-- unique_*            the first open or click of a recipient
-- unsubscribed        the first unsubscription by means of this email
--
-- Rows are changed in the order of their keys, so that no two statements deadlock; each backend mostly has a shard of
-- its own.
CREATE FUNCTION count_metrics(moves metric_move[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  IF coalesce(cardinality(moves), 0) = 0 THEN
    RETURN;
  END IF;
  IF EXISTS (SELECT FROM unnest(moves) AS g WHERE g.by < 0) THEN
    moves := countable_moves(moves);
  END IF;
  INSERT INTO email_metrics AS c (account_id, quarter, domain_id, campaign_id, shard,
    received, sent, delivered, delivery_delayed, bounced_permanent, bounced_transient, bounced_undetermined,
    complained, failed, suppressed, opened, unique_opened, clicked, unique_clicked, unsubscribed)
  SELECT m.account_id, m.quarter, m.domain_id, m.campaign_id, 1 + pg_backend_pid() % 8,
    coalesce(sum(m.by) FILTER (WHERE m.name = 'received'), 0), coalesce(sum(m.by) FILTER (WHERE m.name = 'sent'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'delivered'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'delivery_delayed'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'bounced_permanent'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'bounced_transient'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'bounced_undetermined'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'complained'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'failed'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'suppressed'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'opened'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'unique_opened'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'clicked'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'unique_clicked'), 0),
    coalesce(sum(m.by) FILTER (WHERE m.name = 'unsubscribed'), 0)
  FROM (
    SELECT g.account_id, quarter_of(g.at) AS quarter, coalesce(g.domain_id, nil_id()) AS domain_id,
      coalesce(g.campaign_id, nil_id()) AS campaign_id, g.name, g.by
    FROM unnest(moves) AS g
  ) m
  GROUP BY m.account_id, m.quarter, m.domain_id, m.campaign_id
  ORDER BY m.account_id, m.quarter, m.domain_id, m.campaign_id
  ON CONFLICT (account_id, quarter, domain_id, campaign_id, shard) DO UPDATE SET
    received = c.received + excluded.received, sent = c.sent + excluded.sent,
    delivered = c.delivered + excluded.delivered, delivery_delayed = c.delivery_delayed + excluded.delivery_delayed,
    bounced_permanent = c.bounced_permanent + excluded.bounced_permanent,
    bounced_transient = c.bounced_transient + excluded.bounced_transient,
    bounced_undetermined = c.bounced_undetermined + excluded.bounced_undetermined,
    complained = c.complained + excluded.complained, failed = c.failed + excluded.failed,
    suppressed = c.suppressed + excluded.suppressed, opened = c.opened + excluded.opened,
    unique_opened = c.unique_opened + excluded.unique_opened, clicked = c.clicked + excluded.clicked,
    unique_clicked = c.unique_clicked + excluded.unique_clicked,
    unsubscribed = c.unsubscribed + excluded.unsubscribed;
END
$$;

CREATE FUNCTION quarter_of(moment timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT date_bin('15 minutes', moment, 'epoch')
$$;

DROP FUNCTION IF EXISTS nil_id();
CREATE FUNCTION nil_id() RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT '00000000-0000-0000-0000-000000000000'::uuid
$$;

-- Adds up the moves of each figure, and leaves out decrements that have nothing to subtract from: in quarters from
-- before figures were kept, or that were purged.
CREATE FUNCTION countable_moves(moves metric_move[]) RETURNS metric_move[]
LANGUAGE plpgsql AS $$
BEGIN
  RETURN ARRAY(
    SELECT ROW(g.account_id, NULL, g.domain_id, g.campaign_id, g.quarter, g.name, g.by)::metric_move
    FROM (
      SELECT m.account_id, m.domain_id, m.campaign_id, quarter_of(m.at) AS quarter, m.name, sum(m.by) AS by
      FROM unnest(moves) AS m GROUP BY 1, 2, 3, 4, 5 HAVING sum(m.by) <> 0
    ) g
    WHERE g.by > 0 OR (
      SELECT sum((to_jsonb(c) ->> g.name)::integer) > 0 FROM email_metrics c
      WHERE c.account_id = g.account_id AND c.quarter = g.quarter AND c.domain_id = coalesce(g.domain_id, nil_id())
        AND c.campaign_id = coalesce(g.campaign_id, nil_id())
    )
  );
END
$$;
