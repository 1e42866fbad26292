import type { Pool } from '#sql/pool.ts'

const LINKS = 10

/** An email of a campaign, with the ids in its hits. */
export type Tracked = { account_id: string; delivery_id: string; source_id: string }

/** A campaign that many contacts got an hour ago, with ten links. */
export async function fillTrackedCampaign({ pg }: Pool, count: number): Promise<Tracked[]> {
  const { rows: domains } = await pg.query('SELECT account_id, id FROM domains LIMIT 1')
  const { account_id, id: domain_id } = domains[0]
  const { rows } = await pg.query(
    `INSERT INTO campaigns (account_id, id, domain_id) VALUES ($1, gen_random_uuid(), $2) RETURNING id`,
    [account_id, domain_id],
  )
  const campaign_id: string = rows[0].id
  await pg.query(
    `INSERT INTO contents (account_id, id, html) SELECT $1, $2, string_agg('<a href="https://acme.com/' || n || '">x</a>', '')
     FROM generate_series(1, $3) AS n`,
    [account_id, campaign_id, LINKS],
  )
  await pg.query(
    `INSERT INTO campaign_links (account_id, campaign_id, variant, link, url)
     SELECT $1, $2, 0, n, 'https://acme.com/' || n FROM generate_series(0, $3 - 1) AS n`,
    [account_id, campaign_id, LINKS],
  )
  // The contact, email and delivery have the same id.
  await pg.query(
    `CREATE TEMP TABLE tracked AS SELECT gen_random_uuid() AS id, n FROM generate_series(1, ${count}) AS n`,
  )
  const given = `'${account_id}'::uuid AS account_id, '${campaign_id}'::uuid AS campaign_id, '${domain_id}'::uuid AS domain_id`
  const insert = (statement: string) =>
    pg.query(statement.replace('FROM tracked', `FROM (SELECT ${given}, * FROM tracked) t`))
  await insert(`INSERT INTO contacts (account_id, id, domain_id, email, source)
    SELECT account_id, id, domain_id, n || '@b.com', 'api' FROM tracked`)
  await insert(`INSERT INTO campaign_recipients (account_id, campaign_id, contact_id, email_id, state, sent_at)
    SELECT account_id, campaign_id, id, id, 'm', now() FROM tracked`)
  await insert(`INSERT INTO emails (account_id, id, domain_id, campaign_id, campaign_run, contact_id, message_id, sender, "to", cc,
      bcc, reply_to, subject, tags, status, last_event)
    SELECT account_id, id, domain_id, campaign_id, 1, id, id::text, 'a@b.com', ARRAY[n || '@b.com'], '{}', '{}', '{}', 'x', '[]',
      'delivered', 'delivered' FROM tracked`)
  await insert(`INSERT INTO email_contents (account_id, email_id, headers, content_id, tracking)
    SELECT account_id, id, '{}', campaign_id, 3 FROM tracked`)
  await insert(`INSERT INTO email_events (account_id, email_id, type, recipient, created_at)
    SELECT account_id, id, 'delivered', n || '@b.com', now() - interval '1 hour' FROM tracked`)
  await insert(`INSERT INTO deliveries (account_id, id, email_id, recipient, destination, state, campaign_id)
    SELECT account_id, id, id, n || '@b.com', 'b.com', 'delivered', campaign_id FROM tracked`)
  const { rows: tracked } = await pg.query('SELECT id FROM tracked')
  await pg.query('DROP TABLE tracked')
  await pg.query('VACUUM ANALYZE')
  return tracked.map(({ id }) => ({ account_id, delivery_id: id, source_id: campaign_id }))
}
