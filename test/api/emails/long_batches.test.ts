import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'
import { startWorker } from '#workers/worker.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const worker = await startWorker(world)
t.teardown(() => worker.stop())
const { pg } = world.pool

const KB = 1024
/** A process keeps the html of the first emails in memory (api/bodies/arriving_html.ts), and stores the rest. */
const COUNT = 8
/** So many that their html exceeds the limit of a body without html. */
const MANY = 24

/** About half a megabyte of html, different for each `n`. */
const page = (n: number) => `<p>page ${n}, ${'ünïcode €😀 {{not}} '.repeat(18 * KB)}`
const email = (fields: object) => ({ from: `ann@${account.domain}`, to: 'b@b.com', subject: 'Hi', ...fields })
const send = (body: unknown, headers: Record<string, string> = {}) =>
  api.request('POST', '/api/emails/batch', { body, headers })
const show = async (id: string | undefined) =>
  (await api.request('GET', `/api/emails/${id}`)).body as { html?: string; text?: string }
const batch = (change: (item: object, n: number) => object = item => item, length = COUNT) =>
  Array.from({ length }, (_, n) => change(email({ html: page(n), text: '' }), n))

async function countContents(): Promise<number> {
  const { rows } = await pg.query('SELECT count(*)::int AS count FROM contents WHERE account_id = $1', [account.id])
  return rows[0].count
}

t.test('a batch may have more html than a process keeps in memory', async t => {
  const body = batch((item, n) => ({ ...item, html: n === 7 ? '<p>short' : page(n === 16 ? 15 : n) }), MANY)
  t.ok(Buffer.byteLength(JSON.stringify(body)) > 10.5 * KB * KB)
  const { status, body: answer } = await send(body)
  t.equal(status, 200, answer.message)
  for (const [n, { html }] of (body as { html: string }[]).entries()) {
    const shown = await show(answer.data[n]?.id)
    t.ok(shown.html === html, `${n} is as it was sent`)
    t.equal(shown.text, null, `${n} has no text part`)
  }
  const { rows } = await pg.query('SELECT content_id FROM email_contents WHERE email_id = ANY ($1)', [
    [answer.data[15]?.id, answer.data[16]?.id],
  ])
  t.equal(new Set(rows.map(({ content_id }) => content_id)).size, 1, 'equal html is stored once')
})

t.test('long html of a batch is rendered, or refused without its variable', async t => {
  const variables = { not: '<b>' }
  const { status, body } = await send(batch(item => ({ ...item, variables })))
  t.equal(status, 200, body.message)
  const shown = await show(body.data[COUNT - 1]?.id)
  t.ok(shown.html === page(COUNT - 1).replaceAll('{{not}}', '&lt;b&gt;'))

  const before = await countContents()
  const refused = await send(batch((item, n) => (n === COUNT - 1 ? { ...item, variables: {} } : item)))
  t.equal(refused.status, 422)
  t.match(refused.body, { name: 'validation_error', message: /^emails\[7\]: Missing value.* `not`/ })
  t.equal((await countContents()) - before, 3, 'of the four emails not kept in memory, the refused one is not stored')
})

t.test('long html that Postgres cannot store is refused with its email', async t => {
  for (const [bad, reason] of [
    ['\u0000', 'a NUL character'],
    ['\ud800', 'a lone surrogate'],
    ['\udc00', 'a lone surrogate'],
  ] as const) {
    const raw = JSON.stringify(batch((item, n) => (n === COUNT - 2 ? { ...item, html: page(n) + bad } : item)))
    const { status, body } = await api.request('POST', '/api/emails/batch', { raw })
    t.equal(status, 422)
    t.equal(body.message, `\`emails[6]\` cannot be stored: html contains ${reason}.`)
  }
  const { status, body } = await send(
    batch((item, n) => (n === 3 ? { ...item, html: 'x'.repeat(11 * KB * KB) } : item)),
  )
  t.match({ status, body }, { status: 422, body: { message: 'The body is larger than 10485760 bytes.' } })
})

t.test('a long batch with a key is sent once', async t => {
  const headers = { 'idempotency-key': 'long' }
  const first = await send(batch(), headers)
  t.equal(first.status, 200, first.body.message)
  t.strictSame((await send(batch(), headers)).body, first.body)
  const another = await send(
    batch((item, n) => (n === COUNT - 1 ? { ...item, html: `${page(n)}.` } : item)),
    headers,
  )
  t.match(another, { status: 409, body: { name: 'invalid_idempotent_request' } })
})
