import { createUnsubscribeLinks } from '#flows/contacts/unsubscribe_links.ts'
import type { Foundation } from '#flows/process/run_process.ts'
import { newId } from '#lib/ids.ts'
import { sql } from '#sql/pool.ts'
import { acceptEmail } from '#test/support/sending.ts'
import type { TestAccount } from '#test/support/world.ts'

type TopicFields = {
  name: string
  description?: string
  default_subscription?: 'opt_in' | 'opt_out'
  visibility?: 'public' | 'private'
  domain_id?: string
}

export async function makeTopic(
  { pool }: Foundation,
  { id: account_id }: TestAccount,
  fields: TopicFields,
): Promise<string> {
  const { name, description = null, default_subscription = 'opt_in', visibility = 'public', domain_id = null } = fields
  const id = newId()
  await pool.run(sql.unsafe`
    INSERT INTO topics (account_id, id, domain_id, name, description, default_subscription, visibility)
    VALUES (${account_id}, ${id}, ${domain_id}, ${name}, ${description}, ${default_subscription}, ${visibility})
  `)
  return id
}

export type Recipient = { address: string; email_id: string; delivery_id: string; path: string; mailto: string }

/** A recipient of an email; `path` is that of the unsubscribe link in it. */
export async function makeRecipient(
  world: Foundation,
  account: TestAccount,
  address: string,
  topic_id: string | null = null,
): Promise<Recipient> {
  const email_id = await acceptEmail(world, account, { to: [address] })
  const { rows } = await world.pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1', [email_id])
  const delivery_id: string = rows[0].id
  const named = { account_id: account.id, domain_id: account.domain_id, address, topic_id, email_id, delivery_id }
  const { https, mailto } = await createUnsubscribeLinks(world)({ ...named, return_path: account.domain })
  const path = https.slice(world.config.BASE_URL.length)
  return { address, email_id, delivery_id, path, mailto: (mailto as string).slice('mailto:'.length) }
}

/** The rows of all tables that a link could change, for comparison. */
export async function readState({ pool }: Foundation, { id }: TestAccount): Promise<unknown[]> {
  const tables = [
    'contacts',
    'contact_topics',
    'contact_optouts',
    'contact_consents',
    'email_events',
    'emails',
    'webhook_events',
  ]
  const states = await Promise.all(
    tables.map(table =>
      pool.pg.query(`SELECT row_to_json(r) AS row FROM ${table} r WHERE account_id = $1 ORDER BY r::text`, [id]),
    ),
  )
  return states.map(({ rows }) => rows)
}

/** The webhook events of an account, oldest first. */
export async function readWebhookEvents(
  { pool }: Foundation,
  { id }: TestAccount,
): Promise<{ type: string; data: Record<string, unknown> }[]> {
  const { rows } = await pool.pg.query(
    `SELECT convert_from(body, 'UTF8')::json AS body FROM webhook_events WHERE account_id = $1 ORDER BY id`,
    [id],
  )
  return rows.map(({ body }) => body)
}
