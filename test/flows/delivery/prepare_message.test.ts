import { simpleParser } from 'mailparser'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { ComposeError, UnsendableError } from '#flows/delivery/errors.ts'
import { createPrepareMessage, type PrepareMessage } from '#flows/delivery/prepare/prepare_message.ts'
import { createPool } from '#sql/pool.ts'
import type { EmailId } from '#sql/sending/emails.ts'
import { startPgProxy } from '#test/faults/support/pg_proxy.ts'
import { ANYBODY } from '#test/support/delivering.ts'
import { acceptEmail } from '#test/support/sending.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const prepareMessage = createPrepareMessage({ ...world, fetchFiles: noFiles, readBlob: noFiles, keys_ms: 60_000 })
const accept = (fields = {}) => acceptEmail(world, account, fields)
const prepare = (id: string) => compose(prepareMessage, { account_id: account.id, id })

t.test('the same email gives the same bytes in every process, at any time', async t => {
  const id = await accept({ text: 'Hi', html: '<p>Hi</p>' })
  const { message, sender } = await prepare(id)
  t.equal(sender.name, account.domain)
  await new Promise(resolve => setTimeout(resolve, 1_100)) // dates have a resolution of seconds
  const other = createPrepareMessage({ ...world, fetchFiles: noFiles, readBlob: noFiles, keys_ms: 60_000 })
  t.ok((await compose(other, { account_id: account.id, id })).message.equals(message))
})

t.test('the Date header is when the email was due', async t => {
  const id = await accept()
  const { rows } = await world.pool.pg.query(`UPDATE emails SET created_at = '2026-01-02T03:04:05Z' WHERE id = $1`, [
    id,
  ])
  t.strictSame(rows, [])
  t.same((await simpleParser((await prepare(id)).message)).date, new Date('2026-01-02T03:04:05Z'))
  await world.pool.pg.query(`UPDATE emails SET scheduled_at = '2026-02-02T03:04:05Z' WHERE id = $1`, [id])
  t.same((await simpleParser((await prepare(id)).message)).date, new Date('2026-02-02T03:04:05Z'))
})

t.test('every message is signed; an email without a signing key waits', async t => {
  const id = await accept()
  t.match((await prepare(id)).message.toString(), /^DKIM-Signature: v=1;/)
  const keyless = await newAccount(world)
  const email = { account_id: keyless.id, id: await acceptEmail(world, keyless) }
  const setState = (state: string) =>
    world.pool.pg.query('UPDATE dkim_keys SET state = $2 WHERE account_id = $1', [keyless.id, state])
  await setState('retired')
  const error = await prepareMessage(email).catch(error => error)
  t.match(error, { message: 'Its domain has no signing key.' })
  t.notOk(error instanceof UnsendableError || error instanceof ComposeError, 'the error is not final')
  await setState('active')
  t.match(await prepareMessage(email), { sender: { name: keyless.domain } }, 'nor is it remembered')
})

t.test('concurrent emails each get their own message or error', async t => {
  const ids = await Promise.all(Array.from({ length: 20 }, (_, i) => accept({ subject: `number ${i}` })))
  const unreadable = await accept()
  await world.pool.pg.query(`UPDATE email_contents SET headers = '[]' WHERE email_id = $1`, [unreadable])
  const [wrong, none, ...right] = await Promise.allSettled([unreadable, uuid(), ...ids].map(prepare))

  t.ok(wrong?.status === 'rejected' && wrong.reason instanceof ComposeError)
  t.ok(none?.status === 'rejected' && none.reason instanceof UnsendableError)
  for (const [i, result] of right.entries()) {
    const message = result.status === 'fulfilled' ? result.value.message.toString() : ''
    t.match(message, `Subject: number ${i}\r\n`)
  }
})

t.test('prepareMessage finds no email of another account', async t => {
  const other = await newAccount(world)
  const id = await acceptEmail(world, other)
  const both = [other.id, account.id].map(account_id => prepareMessage({ account_id, id }))
  const [owner, stranger] = await Promise.allSettled(both)
  t.match(owner, { value: { sender: { name: other.domain } } })
  t.ok(stranger?.status === 'rejected' && stranger.reason instanceof UnsendableError)
})

t.test('an unreachable database does not fail the email for good', async t => {
  const proxy = await startPgProxy(world.config.DATABASE_URL ?? '')
  const pool = createPool(proxy.url)
  t.teardown(() => Promise.all([pool.end(), proxy.close()]))
  const away = createPrepareMessage({ ...world, pool, fetchFiles: noFiles, readBlob: noFiles, keys_ms: 60_000 })
  const id = await accept()
  proxy.refuse(true)
  const error: unknown = await away({ account_id: account.id, id }).catch(error => error)
  t.ok(error instanceof Error && !(error instanceof ComposeError) && !(error instanceof UnsendableError))
  proxy.refuse(false)
  await away({ account_id: account.id, id })
})

function noFiles(): never {
  throw new Error('it has no attachments')
}

async function compose(prepareMessage: PrepareMessage, email: EmailId) {
  const { sender, compose } = await prepareMessage(email)
  return { sender, message: await compose(ANYBODY) }
}
