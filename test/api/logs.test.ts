import t from 'tap'
import { createLog } from '#lib/log.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld, SECRET_KEY } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const lines: string[] = []
const log = createLog('trace', { write: line => void lines.push(line) })
const api = await startApi(t, { ...world, log }, account.key)

const canary = 'canary-7261'
const email = { from: `ann@${account.domain}`, to: [`${canary}@b.com`], subject: canary, text: canary, html: canary }
const body = { ...email, headers: { 'X-Canary': canary }, tags: [{ name: canary, value: canary }] }

/** Returns the log lines of a POST /emails that fails between the two SQL statements. */
async function logged(before: string, after: string): Promise<string[]> {
  lines.length = 0
  await world.pool.pg.query(before)
  const { status } = await api.request('POST', '/api/emails', { body, headers: { 'idempotency-key': canary } })
  await world.pool.pg.query(after)
  if (status < 500 || lines.length === 0) throw new Error(`${status}, ${lines.length} lines`)
  return lines
}

t.test('a failure is logged in one line, without key or email text', async t => {
  const { length, 0: line = '' } = await logged(
    'ALTER TABLE email_contents RENAME TO gone',
    'ALTER TABLE gone RENAME TO email_contents',
  )
  t.equal(length, 1)
  t.match(JSON.parse(line), { level: 50, method: 'POST', path: '/api/emails', err: { message: /./, stack: /./ } })
  for (const secret of [canary, account.key, SECRET_KEY]) t.notMatch(line, secret)
})

t.test('contacts_busy is not logged as a failure', async t => {
  lines.length = 0
  const importOne = () => api.request('POST', '/api/contacts/imports', { body: { csv: 'email\nann@b.com' } })
  for (let n = 0; n < 5; n++) await importOne()
  t.equal((await importOne()).body.name, 'contacts_busy')
  t.strictSame(lines, [])
})

t.test('a line break in a URL does not break the log line', async t => {
  lines.length = 0
  await world.pool.pg.query('ALTER TABLE emails RENAME TO gone')
  await api.request('GET', '/api/emails?x=%0d%0a{"level":30}')
  await world.pool.pg.query('ALTER TABLE gone RENAME TO emails')
  t.equal(lines.length, 1)
  t.equal(lines.join('').trimEnd().split('\n').length, 1)
})

t.test('the log omits the values of a row that Postgres refuses', async t => {
  const refused = await logged(
    'ALTER TABLE emails ADD CONSTRAINT short CHECK (length(subject) < 5)',
    'ALTER TABLE emails DROP CONSTRAINT short',
  )
  t.notMatch(refused.join(''), canary)
})
