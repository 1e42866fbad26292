import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { choosePlan, suppress } from '#test/support/database/states.ts'
import { shows } from '#test/support/shows.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const { pg } = world.pool

const email = (fields: Record<string, unknown> = {}) => ({
  from: `ann@${account.domain}`,
  to: ['bob@b.com'],
  subject: 'Hi',
  ...fields,
})

const send = (body: unknown, headers: Record<string, string> = {}, key = account.key) =>
  api.request('POST', '/api/emails/batch', { body, headers, key })

const permissive = { 'x-batch-validation': 'permissive' }

async function countEmails(): Promise<number> {
  const { rows } = await pg.query('SELECT count(*)::int AS count FROM emails WHERE account_id = $1', [account.id])
  return rows[0].count
}

t.test('POST /emails/batch returns the ids of its emails in order', async t => {
  const subjects = Array.from({ length: 100 }, (_, i) => `number ${i}`)
  const { status, body } = await send(subjects.map(subject => email({ subject })))
  t.equal(status, 200)
  const ids = body.data.map(({ id }) => id)
  t.strictSame(body, { data: ids.map(id => ({ id })) }, 'and nothing else')
  const { rows } = await pg.query('SELECT id, subject FROM emails WHERE id = ANY ($1) ORDER BY id', [ids])
  t.strictSame(
    ids.map(id => rows.find(row => row.id === id)?.subject),
    subjects,
  )
  const { rows: waiting } = await pg.query('SELECT state FROM batches WHERE drafts IS NOT NULL')
  t.strictSame(waiting, [])
})

t.test('one invalid email refuses the whole batch, with its error and index', async t => {
  const before = await countEmails()
  const cases: [unknown, string, string][] = [
    [email({ to: undefined }), 'missing_required_field', 'Missing `emails[1].to` field.'],
    [email({ to: Array(51).fill('b@b.com') }), 'validation_error', '`emails[1].to` must have 1 to 50 addresses.'],
    [email({ to: ['bob'] }), 'invalid_to_address', '`emails[1].to[0]` must be '],
    [email({ from: 'ann' }), 'invalid_from_address', '`emails[1].from` must be '],
    [email({ from: 'ann@not-mine.com' }), 'validation_error', 'emails[1]: The not-mine.com domain is not verified: '],
    [email({ to: 'x@example.com' }), 'validation_error', 'emails[1]: All `to` recipients are suppressed.'],
    ['email', 'validation_error', '`emails[1]` must be an object.'],
  ]
  for (const [wrong, name, message] of cases) {
    const { status, body } = await send([email(), wrong, email(), wrong])
    t.match({ status, body }, { status: 422, body: { statusCode: 422, name } })
    t.ok(body.message.startsWith(message), body.message)
  }
  t.equal(await countEmails(), before)
})

t.test('a batch needs 1 to 100 emails and a valid X-Batch-Validation', async t => {
  for (const body of [[], email(), null, 'x', Array.from({ length: 101 }, () => email())]) {
    t.match(await send(body), { status: 422, body: { name: 'validation_error' } })
  }
  t.match(await send([email()], { 'x-batch-validation': 'lax' }), { status: 422, body: { name: 'validation_error' } })
  t.match(await send([email()], { 'x-batch-validation': 'strict' }), { status: 200 })
})

t.test('a permissive batch sends valid emails and lists errors of the rest', async t => {
  const items = [
    email({ to: 'bob' }),
    email(),
    email({ from: 'ann@not-mine.com' }),
    email({ subject: undefined }),
    email(),
  ]
  const { status, body } = await send(items, permissive)
  t.equal(status, 200)
  t.equal(body.data.length, 2)
  shows(t, body, {
    errors: [
      { index: 0, message: /^`emails\[0\]\.to` must be / },
      { index: 2, message: /^emails\[2\]: The not-mine.com domain/ },
      { index: 3, message: 'Missing `emails[3].subject` field.' },
    ],
  })

  shows(t, (await send([email()], permissive)).body, { data: [{ id: /./ }], errors: [] })
  shows(t, (await send([email({ to: 'x@example.com' })], permissive)).body, { data: [], errors: [{ index: 0 }] })
  shows(t, (await send([email({ to: 'x' }), 1], permissive)).body, { data: [], errors: [{ index: 0 }, { index: 1 }] })
})

t.test('text that Postgres cannot store refuses only its own email', async t => {
  const unstorable = ['a\0b', 'a\ud800b', '\udc00']
  for (const [n, text] of unstorable.entries()) {
    const reason = `contains a ${text.includes('\0') ? 'NUL character' : 'lone surrogate'}.`
    for (const [wrong, place] of [
      [email({ subject: text }), 'subject '],
      [email({ headers: { 'X-A': text } }), 'headers.X-A '],
      [email({ headers: { [text]: 'a' } }), 'headers has a key that '],
      [email({ attachments: [{ filename: text, content: 'eA==' }] }), 'attachments[0].filename '],
      [text, 'body '],
    ] as const) {
      const message = `\`emails[1]\` cannot be stored: ${place}${reason}`
      const { status, body } = await send([email(), wrong, email()], permissive)
      t.equal(status, 200)
      t.equal(body.data.length, 2)
      t.same((body as unknown as { errors: unknown[] }).errors, [{ index: 1, message }])
      const strict = await send([email(), wrong, email()])
      t.match(strict, { status: 422, body: { name: 'validation_error' } })
      t.equal(strict.body.message, message)
    }
    const items = [email(), email({ subject: text })]
    const headers = { ...permissive, 'idempotency-key': `unstorable ${n}` }
    const first = await send(items, headers)
    const again = await send(items, headers)
    t.equal(again.text, first.text)
    t.equal(again.headers.get('idempotent-replayed'), 'true')
  }
  const deep = JSON.parse(`${'['.repeat(200)}${']'.repeat(200)}`)
  t.match(await send([email(), { ...email(), tags: deep }], permissive), { status: 422, body: { message: /nested/ } })
})

t.test('the same key replays the batch response; another payload or validation is refused', async t => {
  const headers = { 'idempotency-key': 'batch' }
  const items = [email(), email({ subject: 'two' })]
  const first = await send(items, headers)
  const second = await send(items, headers)
  t.match(first, { status: 200 })
  t.match(second, { status: 200, text: first.text })
  t.equal(first.headers.get('idempotent-replayed'), null)
  t.equal(second.headers.get('idempotent-replayed'), 'true')
  t.match(await send([email()], headers), { status: 409, body: { name: 'invalid_idempotent_request' } })
  t.match(await send(items, { ...headers, ...permissive }), { status: 409 })
  for (const key of ['', 'x'.repeat(256)]) {
    t.match(await send(items, { 'idempotency-key': key }), { status: 400, body: { name: 'invalid_idempotency_key' } })
  }
  t.match(await send(items, { 'idempotency-key': 'x'.repeat(255) }), { status: 200 })

  // The key is free after a day.
  await pg.query(`UPDATE batches SET created_at = created_at - interval '24 hours' WHERE key = 'batch'`)
  const third = await send(items, headers)
  t.match(third, { status: 200 })
  t.not(third.text, first.text)
})

t.test('a refused batch leaves its key free', async t => {
  const headers = { 'idempotency-key': 'refused first' }
  const to = ['late@b.com']
  await suppress(world, account.id, 'late@b.com')
  t.match(await send([email({ to })], headers), { status: 422 })
  await pg.query(`DELETE FROM suppressions WHERE address = 'late@b.com'`)
  t.match(await send([email({ to })], headers), { status: 200 })
})

t.test('batches of two accounts may use the same key', async t => {
  const other = await newAccount(world)
  const headers = { 'idempotency-key': 'shared' }
  const mine = await send([email()], headers)
  const theirs = await send([email({ from: `ann@${other.domain}` })], headers, other.sending_key)
  shows(t, [mine, theirs], [{ status: 200 }, { status: 200 }])
  t.not(mine.text, theirs.text)
})

t.test('a batch that exceeds the quota by one is refused as a whole', async t => {
  const poor = await newAccount(world)
  await choosePlan(world, poor, 'free')
  const items = (count: number) =>
    Array.from({ length: count }, () => email({ from: `ann@${poor.domain}`, to: ['a@b.com', 'b@b.com'] }))
  t.match(await send(items(51), {}, poor.key), {
    status: 429,
    body: { name: 'daily_quota_exceeded', message: /^The request needs 102 emails\./ },
  })
  t.match(await send([...items(51), 1], permissive, poor.key), { status: 429 })
  const wrong = email({ from: 'ann@not-mine.com' })
  t.match(await send([...items(51), wrong], {}, poor.key), { status: 422, body: { message: /^emails\[51\]: / } })
  t.match(await send([...items(51), wrong], permissive, poor.key), { status: 429 })
  t.match(await send(items(50), {}, poor.key), { status: 200 })
  t.match(await send(items(1), {}, poor.key), { status: 429 })
  const { rows } = await pg.query('SELECT sum(emails)::int AS used FROM usage_minutes WHERE account_id = $1', [poor.id])
  t.strictSame(rows, [{ used: 100 }])
})

t.test('slices of a batch stay large despite one long email', async t => {
  const headers = { 'idempotency-key': 'long' }
  const long = email({ text: 'x'.repeat(5_000_000) })
  t.match(await send([long, ...Array.from({ length: 59 }, () => email())], headers), { status: 200 })
  const different = Array.from({ length: 9 }, (_, n) => email({ text: String(n).repeat(1_000_000) }))
  t.match(await send(different), { status: 200 })
  const { rows } = await pg.query('SELECT slice_size FROM batches ORDER BY id DESC LIMIT 2')
  t.strictSame(rows, [{ slice_size: 5 }, { slice_size: 60 }])
})

t.test('an email of a batch can be scheduled and canceled', async t => {
  const { body } = await send([email({ scheduled_at: 'in 1 hour' }), email()])
  const [later] = body.data
  shows(t, await api.request('GET', `/api/emails/${later?.id}`), { body: { status: 'scheduled' } })
  t.match(await api.request('POST', `/api/emails/${later?.id}/cancel`), { status: 200 })
})
