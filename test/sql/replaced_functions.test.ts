import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { toDraft } from '#flows/sending/draft_emails.ts'
import { createAcceptEmail } from '#flows/sending/together/accept_together.ts'
import { CompleteEmail } from '#lib/sending/new_email.ts'
import { listMigrations } from '#sql/migrations.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)

t.test('emails are accepted while a migration replaces the SQL functions', async t => {
  const client = new pg.Client({ connectionString: world.config.DATABASE_URL })
  await client.connect()
  t.teardown(() => client.end())
  const { text } = (await listMigrations()).at(-1) as { text: string }
  const accept = createAcceptEmail(world.pool)
  const email = CompleteEmail.parse({ from: `a@${account.domain}`, to: 'b@c.com', subject: 'Hi', text: 'Hi' })
  const draft = () => toDraft({ account_id: account.id, domain_id: null }, email, null, world.config.SIMULATOR_DOMAIN)
  let isDone = false
  let count = 0
  const errors: string[] = []
  const send = async () => {
    while (!isDone) {
      await accept(draft()).then(
        () => count++,
        (error: Error) => errors.push(`${error.message}: ${error.cause}`),
      )
    }
  }
  const sending = Array.from({ length: 4 }, send)
  // Rarely, because a statement is retried only a few times, and each try may meet a replacement.
  for (let n = 0; n < 4; n++) {
    await client.query(text)
    await sleep(500)
  }
  isDone = true
  await Promise.all(sending)
  t.strictSame(errors, [])
  t.ok(count > 8)
})
