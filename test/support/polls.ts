import type { Foundation } from '#flows/process/run_process.ts'
import { createReadTokenKeys } from '#flows/process/token_keys.ts'
import { writeRecipientTokens } from '#lib/tracking/tracking_tokens.ts'
import { acceptEmail } from '#test/support/sending.ts'
import type { TestAccount } from '#test/support/world.ts'

export const POLL = { question: 'How did we do?', options: ['Great', 'OK', 'Bad'] }

/** The path of the link of an option in the message of a delivery. */
export async function pollPath(
  world: Foundation,
  { id: account_id }: Pick<TestAccount, 'id'>,
  delivery_id: string,
  option = 'great',
): Promise<string> {
  const keys = await createReadTokenKeys(world)()
  return `/p/${writeRecipientTokens({ account_id, delivery_id }, keys).poll}/${option}`
}

export type PolledEmail = { email_id: string; deliveries: string[]; path: string; paths: string[] }

/** An accepted email with a poll; `paths` are the links of the first option, per recipient in the order of `to`. */
export async function makePolled(
  world: Foundation,
  account: TestAccount,
  fields: Record<string, unknown> = {},
): Promise<PolledEmail> {
  const email_id = await acceptEmail(world, account, { html: '<p>Hi', poll: POLL, ...fields })
  const { rows } = await world.pool.pg.query('SELECT id FROM deliveries WHERE email_id = $1 ORDER BY id', [email_id])
  const deliveries: string[] = rows.map(({ id }) => id)
  const paths = await Promise.all(deliveries.map(id => pollPath(world, account, id)))
  return { email_id, deliveries, path: paths[0] as string, paths }
}

/** The rows of all tables that an answer could change, for comparison. */
export async function readPollState({ pool }: Foundation, { id }: Pick<TestAccount, 'id'>): Promise<unknown[]> {
  const tables = ['polls', 'poll_answers', 'poll_counts', 'emails', 'email_events', 'tracking_hits', 'webhook_events']
  const states = await Promise.all(
    tables.map(table =>
      pool.pg.query(`SELECT row_to_json(r) AS row FROM ${table} r WHERE account_id = $1 ORDER BY r::text`, [id]),
    ),
  )
  return states.map(({ rows }) => rows)
}
