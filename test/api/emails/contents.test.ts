import PostalMime from 'postal-mime'
import t from 'tap'
import { v7 as uuid } from 'uuid'
import { claimDeliveries } from '#sql/delivery/deliveries.ts'
import { purge } from '#tasks/purge.ts'
import { startApi } from '#test/support/api.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const { pg } = world.pool
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const inbox = await startInbox(t)
const work = openWork(t, world, inbox.url)
const from = `hi@${account.domain}`
const LONG = `<p>${'A long text. '.repeat(200)}</p>`

const post = async (path: string, body: unknown) => {
  const answer = await api.request('POST', `/api/${path}`, { body })
  if (answer.status !== 200 && answer.status !== 201) throw new Error(answer.text)
  return answer.body
}
const send = async (fields: object): Promise<string> =>
  (await post('emails', { from, to: 'a@b.com', subject: 'Hi', ...fields })).id
const show = async (id: string) => (await api.request('GET', `/api/emails/${id}`)).body

/** Sends the email and returns the parts of the message that arrives. */
async function deliver(id: string) {
  const before = inbox.messages.length
  await deliverEmails(work, [id])
  const raw = inbox.messages.slice(before).map(message => message.raw)
  const [message] = await Promise.all(raw.map(bytes => PostalMime.parse(bytes)))
  const line = (text?: string) => text?.replace(/\n$/, '') ?? null
  return { count: raw.length, html: line(message?.html), text: line(message?.text), subject: message?.subject }
}

async function make(fields: object): Promise<string> {
  const { id } = await post('templates', { name: 'T', from, subject: 'Hi {{name}}', html: '<p>{{name}}', ...fields })
  await post(`templates/${id}/publish`, undefined)
  return id
}

const storedOf = async (ids: string[]) => {
  const { rows } = await pg.query(
    `SELECT html, text, content_id, variables, renderer FROM email_contents WHERE email_id = ANY($1::uuid[]) ORDER BY email_id`,
    [ids],
  )
  return rows
}
const countContents = async () =>
  Number((await pg.query('SELECT count(*) FROM contents WHERE account_id = $1', [account.id])).rows[0].count)

t.test('html without text gets a text part, in the message and API', async t => {
  const html = '<p>Read <a href="https://a.b">this</a></p>'
  const id = await send({ html })
  const parts = { html, text: 'Read this <https://a.b>' }
  t.strictSame(await deliver(id), { count: 1, ...parts, subject: 'Hi' })
  t.match(await show(id), parts)
})

t.test('an empty text beside html means no text part', async t => {
  const id = await send({ html: '<p>Hi', text: '' })
  t.match(await deliver(id), { count: 1, html: '<p>Hi', text: null })
  t.match(await show(id), { html: '<p>Hi', text: null })
})

t.test('an email without a renderer version is sent without a text part', async t => {
  const id = await send({ html: '<p>Hi' })
  await pg.query('UPDATE email_contents SET renderer = NULL WHERE email_id = $1', [id])
  t.match(await deliver(id), { count: 1, html: '<p>Hi', text: null })
  t.match(await show(id), { html: '<p>Hi', text: null })
})

t.test('emails of a template share one content and keep their own variables', async t => {
  const before = await countContents()
  const template_id = await make({ html: `${LONG}{{name}} {{plan|free}}`, text: 'To {{name}}' })
  const ids = await Promise.all(
    ['Ann & Bob', 'Cid'].map(name => send({ template_id, variables: { name, unused: 'x' } })),
  )
  t.equal(await countContents(), before + 1)
  const stored = { html: null, text: null, renderer: 1 }
  const [first, second] = await storedOf(ids)
  t.strictSame(first.content_id, second.content_id)
  t.strictSame(
    [first, second].map(({ content_id, ...row }) => row).sort((a, b) => (a.variables.name < b.variables.name ? -1 : 1)),
    [
      { ...stored, variables: { name: 'Ann & Bob' } },
      { ...stored, variables: { name: 'Cid' } },
    ],
  )
  const [id] = ids as [string]
  const parts = { html: `${LONG}Ann &amp; Bob free`, text: 'To Ann & Bob' }
  t.strictSame(await deliver(id), { count: 1, ...parts, subject: 'Hi' })
  t.match(await show(id), { ...parts, subject: 'Hi' })
})

t.test('changing or deleting a template does not change accepted mail', async t => {
  const variables = [{ key: 'name', type: 'string', fallback_value: 'you' }]
  const template_id = await make({ html: '<p>For {{name}}', variables })
  const id = await send({ template_id })
  await api.request('PATCH', `/api/templates/${template_id}`, {
    body: { html: '<p>New {{name}}', variables: [{ key: 'name', type: 'string', fallback_value: 'all' }] },
  })
  await post(`templates/${template_id}/publish`, undefined)
  await api.request('DELETE', `/api/templates/${template_id}`)
  t.match(await deliver(id), { html: '<p>For you', text: 'For you' })
  t.match(await show(id), { html: '<p>For you', text: 'For you' })
})

t.test('equal emails of a batch share one content', async t => {
  const before = await countContents()
  const batch = (count: number, html: (n: number) => string) =>
    post(
      'emails/batch',
      Array.from({ length: count }, (_, n) => ({ from, to: `r${n}@b.com`, subject: 'Hi', html: html(n) })),
    )
  const equal: string[] = (await batch(20, () => LONG)).data.map(({ id }: { id: string }) => id)
  t.equal(await countContents(), before + 1)
  t.strictSame(new Set((await storedOf(equal)).map(row => row.html)), new Set([null]))
  t.match(await deliver(equal[7] as string), { count: 1, html: LONG, text: LONG.replace(/<[^>]*>/g, '').trim() })
  await batch(3, n => `${LONG}${n}`)
  await batch(3, () => '<p>Short')
  t.equal(await countContents(), before + 1, 'different or short contents are stored with their emails')
})

t.test('a long rendered content arrives whole', async t => {
  const id = await send({ html: `<p>${'{{a}}{{b}}'.repeat(600)}`, variables: { a: 'x'.repeat(200), b: '&' } })
  const text = `${'x'.repeat(200)}&`.repeat(600)
  const { html, ...rest } = await deliver(id)
  t.match(rest, { count: 1, text })
  t.equal(html, `<p>${`${'x'.repeat(200)}&amp;`.repeat(600)}`)
})

t.test('an email that cannot be rendered fails without a retry', async t => {
  const id = await send({ html: '<p>{{a}}', variables: { a: 'x' } })
  await pg.query(`UPDATE email_contents SET variables = '{}' WHERE email_id = $1`, [id])
  t.match(await deliver(id), { count: 0 })
  const { status, events } = await pg
    .query(`SELECT status FROM emails WHERE id = $1`, [id])
    .then(async ({ rows }) => ({ status: rows[0].status, events: await reasonsOf(id) }))
  t.equal(status, 'failed')
  t.equal(events.length, 1)
  t.match(events[0], /could not be rendered: Missing value/)
})

async function reasonsOf(id: string): Promise<string[]> {
  const { rows } = await pg.query('SELECT reason FROM deliveries WHERE email_id = $1', [id])
  return rows.map(row => row.reason)
}

t.test('a worker of an earlier release does not claim mail that needs rendering', async t => {
  const id = await send({ html: '<p>{{a}}', variables: { a: 'x' } })
  const claim = `SELECT id FROM claim_deliveries($1::uuid, 40, 10, '{}', ARRAY[$2]::uuid[])`
  t.strictSame((await pg.query(claim, [uuid(), id])).rows, [])
  const options = { lease_owner: uuid(), lease_seconds: 40, limit: 10, email_ids: [id] }
  t.equal((await claimDeliveries(world.pool, options)).length, 1)
})

t.test('contents without an email are purged after two days', async t => {
  const template_id = await make({ html: LONG })
  const id = await send({ template_id, variables: { name: 'x' } })
  await pg.query(`UPDATE contents SET used_at = now() - interval '49 hours' WHERE account_id = $1`, [account.id])
  const orphans = [uuid(), uuid()]
  await pg.query(
    `INSERT INTO contents (account_id, id, html, used_at)
     VALUES ($1, $2, 'old', now() - interval '49 hours'), ($1, $3, 'new', now() - interval '47 hours')`,
    [account.id, ...orphans],
  )
  const before = await countContents()
  await purge({}, work)
  t.equal(await countContents(), before - 1)
  t.match(await deliver(id), { count: 1, html: LONG })
  await send({ template_id, variables: { name: 'y' } })
  const { rows } = await pg.query(
    `SELECT used_at > now() - interval '1 minute' AS fresh FROM contents c JOIN email_contents e ON e.content_id = c.id WHERE e.email_id = $1`,
    [id],
  )
  t.strictSame(rows, [{ fresh: true }], 'a content that is used again is kept')
})
