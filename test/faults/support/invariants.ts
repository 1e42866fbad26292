export type Invariant = { name: string; query: string; needs_sent?: boolean }

const TERMINAL = `('delivered', 'bounced', 'failed', 'canceled', 'suppressed')`

/** Each query returns the rows that violate its invariant. */
export const invariants: Invariant[] = [
  {
    name: 'an id in a response is stored',
    query: 'SELECT a.id FROM answered a WHERE NOT EXISTS (SELECT FROM emails e WHERE e.id = a.id)',
  },
  {
    name: 'every recipient of an accepted email has a delivery',
    query: `
      SELECT e.id, r.address FROM emails e
      CROSS JOIN LATERAL (
        SELECT regexp_replace(text, '^.*<(.*)>$', '\\1') AS address FROM unnest(e."to" || e.cc || e.bcc) AS text
      ) r
      WHERE NOT EXISTS (
        SELECT FROM deliveries d WHERE d.account_id = e.account_id AND d.email_id = e.id AND d.recipient = r.address
      )`,
  },
  {
    name: 'every accepted email has contents',
    query: `
      SELECT e.id FROM emails e
      WHERE NOT EXISTS (SELECT FROM email_contents c WHERE c.account_id = e.account_id AND c.email_id = e.id)`,
  },
  {
    name: 'a delivery is settled, due, leased or in doubt',
    query: `
      SELECT id, state FROM deliveries
      WHERE state NOT IN ${TERMINAL} AND (state <> 'queued' OR next_at IS NULL)
        AND (state <> 'sending' OR lease_until IS NULL) AND (state <> 'in_doubt' OR in_doubt_count = 0)`,
  },
  {
    name: 'nothing due is forgotten',
    query: `
      SELECT id, next_at FROM deliveries
      WHERE (state = 'queued' OR state = 'in_doubt') AND next_at < now() - interval '1 minute'`,
  },
  {
    name: 'a lost lease is taken over',
    query: `SELECT id, lease_until FROM deliveries WHERE state = 'sending' AND lease_until < now() - interval '30 s'`,
  },
  {
    name: 'the quota is charged for the accepted emails',
    query: `
      SELECT u.account_id, m.emails, h.emails AS of_quota, e.* FROM account_usage u
      CROSS JOIN LATERAL (SELECT coalesce(sum(emails), 0) AS emails FROM usage_minutes WHERE account_id = u.account_id) m
      CROSS JOIN LATERAL (SELECT coalesce(sum(emails), 0) AS emails FROM usage_hours WHERE account_id = u.account_id) h
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(quota_debit), 0) AS debited, coalesce(sum(credit_debit), 0) AS paid
        FROM emails WHERE account_id = u.account_id
      ) e
      WHERE m.emails <> e.debited OR h.emails <> e.debited - e.paid`,
  },
  {
    name: 'every copy beyond the first was in doubt',
    needs_sent: true,
    query: `
      SELECT d.id, d.in_doubt_count, count(*) AS copies FROM sent s
      JOIN emails e ON e.message_id = s.message_id
      JOIN deliveries d ON d.account_id = e.account_id AND d.email_id = e.id AND d.recipient = s.rcpt
      GROUP BY d.account_id, d.id HAVING count(*) > 1 + d.in_doubt_count`,
  },
  {
    name: 'every delivered message has arrived',
    needs_sent: true,
    query: `
      SELECT d.id FROM deliveries d JOIN emails e ON e.account_id = d.account_id AND e.id = d.email_id
      WHERE d.state = 'delivered' AND d.destination LIKE '%sink.internal'
        AND NOT EXISTS (SELECT FROM sent s WHERE s.message_id = e.message_id AND s.rcpt = d.recipient)`,
  },
  {
    name: 'a message that arrived is delivered, in progress or in doubt',
    needs_sent: true,
    query: `
      SELECT d.id, d.state FROM sent s
      LEFT JOIN emails e ON e.message_id = s.message_id
      LEFT JOIN deliveries d ON d.account_id = e.account_id AND d.email_id = e.id AND d.recipient = s.rcpt
      WHERE d.id IS NULL OR d.state NOT IN ('delivered', 'sending', 'in_doubt') AND d.in_doubt_count = 0`,
  },
  {
    name: 'all copies of a message are equal except for the signature',
    needs_sent: true,
    query: 'SELECT message_id FROM sent GROUP BY message_id HAVING count(DISTINCT message_sha256) > 1',
  },
  {
    name: 'a settled delivery has one outcome',
    query: `
      SELECT d.id, d.state, array_agg(v.type) AS events FROM deliveries d
      LEFT JOIN email_events v ON v.account_id = d.account_id AND v.email_id = d.email_id AND v.recipient = d.recipient
        AND v.type IN ${TERMINAL}
      WHERE d.state IN ${TERMINAL} AND d.state <> 'canceled' -- which its email is as a whole
      GROUP BY d.account_id, d.id HAVING count(v.id) <> 1 OR max(v.type) <> d.state`,
  },
  {
    name: 'an email is sent once',
    query: `
      SELECT email_id FROM email_events WHERE type = 'sent' GROUP BY account_id, email_id HAVING count(*) > 1`,
  },
  {
    name: 'an email is settled with its last recipient',
    query: `
      SELECT e.id, e.status FROM emails e
      WHERE e.status IN ('queued', 'sent', 'delivery_delayed') AND NOT EXISTS (
        SELECT FROM deliveries d
        WHERE d.account_id = e.account_id AND d.email_id = e.id AND d.state NOT IN ${TERMINAL}
      )`,
  },
  {
    name: 'no job is locked by a pool without heartbeats',
    query: `
      SELECT j.id, j.locked_by, j.locked_at FROM graphile_worker.jobs j
      WHERE j.locked_at < now() - interval '1 minute' AND NOT EXISTS (
        SELECT FROM worker_heartbeats h WHERE h.pool_id = j.locked_by AND h.seen_at > now() - interval '1 minute'
      )`,
  },
  {
    name: 'every webhook gets each event of an email once',
    query: `
      WITH listening AS (
        SELECT * FROM webhooks WHERE status = 'enabled' AND deleted_at IS NULL
      ), happened AS (
        SELECT v.account_id, v.email_id::text, v.type, w.id AS webhook_id, count(*)
        FROM (
          SELECT account_id, id AS email_id, 'email.sent' AS type, sent_at AS at FROM emails WHERE sent_at IS NOT NULL
          UNION ALL
          SELECT account_id, email_id, 'email.' || type, created_at FROM email_events WHERE type IN ('delivered', 'bounced')
        ) v JOIN listening w ON w.account_id = v.account_id AND w.updated_at < v.at
          AND (v.type = ANY (w.events) OR '*' = ANY (w.events))
        GROUP BY 1, 2, 3, 4
      ), told AS (
        SELECT e.account_id, convert_from(e.body, 'UTF8')::jsonb #>> '{data,email_id}' AS email_id, e.type, d.webhook_id, count(*)
        FROM webhook_events e JOIN webhook_deliveries d ON d.account_id = e.account_id AND d.event_id = e.id
        JOIN listening w ON w.account_id = d.account_id AND w.id = d.webhook_id AND w.updated_at < e.created_at
        WHERE e.type IN ('email.sent', 'email.delivered', 'email.bounced') GROUP BY 1, 2, 3, 4
      )
      SELECT email_id, type, webhook_id, h.count AS happened, t.count AS told
      FROM happened h FULL JOIN told t USING (account_id, email_id, type, webhook_id)
      WHERE h.count IS DISTINCT FROM t.count`,
  },
  {
    name: 'no due event is forgotten',
    query: `
      SELECT d.event_id, d.webhook_id FROM webhook_deliveries d
      JOIN webhooks w ON w.account_id = d.account_id AND w.id = d.webhook_id AND w.status = 'enabled' AND w.deleted_at IS NULL
      WHERE d.state = 'pending' AND d.next_at < now() - interval '30 s' AND (w.rest_until > now()) IS NOT TRUE`,
  },
  {
    name: 'every attempt that counts is stored',
    query: `
      SELECT d.event_id, d.webhook_id FROM webhook_deliveries d
      LEFT JOIN webhook_attempts a ON a.account_id = d.account_id AND a.event_id = d.event_id AND a.webhook_id = d.webhook_id
      GROUP BY d.account_id, d.event_id, d.webhook_id
      HAVING count(a.id) <> d.attempt OR (d.state = 'success') <> (count(*) FILTER (WHERE a.status BETWEEN 200 AND 299) > 0)`,
  },
  {
    name: 'a key is bound to an email or a campaign that exists',
    // Responses of other routes are kept as text (sql/sending/idempotency_keys.ts).
    query: `
      SELECT k.key FROM idempotency_keys k
      WHERE NOT EXISTS (SELECT FROM emails e WHERE e.account_id = k.account_id AND e.id = (k.answer ->> 'id')::uuid)
        AND NOT (k.route LIKE '/campaigns%' AND EXISTS (
          SELECT FROM campaigns g
          WHERE g.account_id = k.account_id AND g.id = ((k.answer #>> '{}')::jsonb ->> 'id')::uuid))`,
  },
]
