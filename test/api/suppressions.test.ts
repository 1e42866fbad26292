import t from 'tap'
import { purge } from '#tasks/purge.ts'
import { startApi } from '#test/support/api.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'
import { deliverEmails, openWork } from '#test/support/sending.ts'
import { shows } from '#test/support/shows.ts'
import { startInbox } from '#test/support/smtp/inbox.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { pg } = world.pool

const suppress = (body: unknown) => api.request('POST', '/api/suppressions', { body })
const find = (ref: string) => api.request('GET', `/api/suppressions/${encodeURIComponent(ref)}`)
const remove = (ref: string) => api.request('DELETE', `/api/suppressions/${encodeURIComponent(ref)}`)
const send = (to: string) =>
  api.request('POST', '/api/emails', { body: { from: `me@${account.domain}`, to, subject: 'Hi', text: 'Hi' } })
const list = async (query: Record<string, string>) => {
  const { status, body } = await api.request('GET', `/api/suppressions?${new URLSearchParams(query)}`)
  return status === 200 ? (body.data as unknown as { email: string }[]).map(({ email }) => email) : status
}
const expire = (email: string) =>
  pg.query(`UPDATE suppressions SET expires_at = now() - interval '1 s' WHERE address = $1`, [email])

t.test('a suppressed address gets nothing until it is removed', async t => {
  const { status, body } = await suppress({ email: 'Ann@BÜCHER.com' })
  t.equal(status, 201)
  t.match(body, {
    object: 'suppression',
    id: /^[0-9a-f-]{36}$/,
    email: 'ann@xn--bcher-kva.com',
    reason: 'manual',
    cause: null,
    source_email_id: null,
    scope: 'account',
    expires_at: null,
    created_at: /Z$/,
  })
  t.match(await send('aNN@bücher.com'), { status: 422, body: { message: 'All `to` recipients are suppressed.' } })
  t.match(await send('bob@bücher.com'), { status: 200 })

  t.strictSame((await find('ANN@bücher.com')).body, body, 'by its address')
  t.strictSame((await find(body.id)).body, body, 'by its id')
  t.match(await remove('ann@BÜCHER.com'), {
    status: 200,
    text: `{"object":"suppression","id":"${body.id}","deleted":true}`,
  })
  t.match(await send('ann@bücher.com'), { status: 200 })
  for (const ref of [body.id, 'ann@bücher.com']) {
    t.match(await find(ref), { status: 404, body: { name: 'not_found', message: 'Suppression not found' } })
    t.match(await remove(ref), { status: 404 })
  }
})

t.test('POST /suppressions never weakens an existing suppression', async t => {
  const far = '2099-01-01T00:00:00.000Z'
  const farther = '2100-01-01T00:00:00.000Z'
  const { body: first } = await suppress({ email: 'weak@b.com', reason: 'import', expires_at: far })
  const steps = [
    [{ expires_at: farther }, { reason: 'manual', expires_at: farther }],
    [
      { reason: 'bounce', expires_at: far },
      { reason: 'bounce', expires_at: farther },
    ],
    [{}, { reason: 'bounce', expires_at: null }],
    [
      { reason: 'complaint', expires_at: far },
      { reason: 'complaint', expires_at: null },
    ],
    [
      { reason: 'manual', expires_at: farther },
      { reason: 'complaint', expires_at: null },
    ],
  ] as const
  for (const [more, expected] of steps) {
    t.match(await suppress({ email: 'WEAK@b.com', ...more }), { status: 200, body: { id: first.id, ...expected } })
  }
})

t.test('an expired suppression is ignored, then purged', async t => {
  const later = '2099-01-01T00:00:00Z'
  const { body } = await suppress({ email: 'short@b.com', reason: 'bounce', expires_at: later })
  t.match(body, { expires_at: '2099-01-01T00:00:00.000Z' })
  t.match(await send('short@b.com'), { status: 422 })
  await expire('short@b.com')
  t.match(await send('short@b.com'), { status: 200 })
  t.match(await find(body.id), { status: 404 })
  t.match(await remove(body.id), { status: 404 })
  t.strictSame(await list({ email: 'short@b.com' }), [])

  const { status, body: again } = await suppress({ email: 'short@b.com' })
  t.equal(status, 201, 'a new suppression replaces it')
  t.match(again, { reason: 'manual', expires_at: null })
  t.not(again.id, body.id)
  t.ok(Object(again).created_at > Object(body).created_at)

  await suppress({ email: 'other@b.com' })
  await expire('other@b.com')
  await purge({}, openWork(t, world))
  const { rows } = await pg.query(`SELECT address FROM suppressions WHERE address IN ('short@b.com', 'other@b.com')`)
  t.strictSame(rows, [{ address: 'short@b.com' }])
})

t.test('POST /suppressions refuses invalid bodies with 422', async t => {
  for (const [body, name] of [
    [{}, 'missing_required_field'],
    [[], 'validation_error'],
    ...['', 'ann', 'ann@', '@b.com', 'Ann <ann@b.com>', 'a@b.com, c@d.com', 'a@b.com\0', '%@%', 5].map(
      email => [{ email }, 'validation_error'] as const,
    ),
    [{ email: 'a@b.com', reason: 'unsubscribe' }, 'validation_error'],
    [{ email: 'a@b.com', expires_at: '2020-01-01T00:00:00Z' }, 'validation_error'],
    [{ email: 'a@b.com', expires_at: '2099-01-01' }, 'validation_error'],
    [{ email: 'a@b.com', expires_at: 4e12 }, 'validation_error'],
    [{ email: 'delivered@simulator.internal' }, 'validation_error'],
  ] as const) {
    t.match(await suppress(body), { status: 422, body: { name } }, JSON.stringify(body))
  }
  t.strictSame(await list({ email: 'a@b.com' }), [])
})

t.test('GET /suppressions filters by email, domain and reason, without wildcards', async t => {
  const other = await newAccount(world)
  const emails = ['50%@list.com', '5_0@list.com', 'a@sub.list.com', 'a@list.com']
  for (const email of emails) await suppress({ email, reason: email.startsWith('a@') ? 'bounce' : 'import' })
  await api.request('POST', '/api/suppressions', { key: other.key, body: { email: 'theirs@list.com' } })

  t.strictSame(await list({ domain: 'LIST.com' }), ['a@list.com', '5_0@list.com', '50%@list.com'])
  t.strictSame(await list({ domain: 'list.com', reason: 'import' }), ['5_0@list.com', '50%@list.com'])
  t.strictSame(await list({ email: 'A@LIST.com' }), ['a@list.com'])
  t.strictSame(await list({ email: '50%@list.com' }), ['50%@list.com'])
  for (const email of ['%', '_', '%@list.com', '___@list.com', 'a@list', '\\', "'", '*'])
    t.strictSame(await list({ email }), [])
  for (const domain of ['%', '_ist.com', 'list', '@list.com', 'a@list.com']) t.strictSame(await list({ domain }), [])
  for (const [key, text] of [
    ['reason', 'bounced'],
    ['reason', ''],
    ['email', ''],
    ['email', 'a\0'],
    ['domain', 'x'.repeat(4_000)],
  ] as const) {
    t.equal(await list({ [key]: text }), 422, `${key} ${text.slice(0, 9)}`)
  }
  t.match(await api.request('GET', '/api/suppressions?reason=manual&reason=bounce'), { status: 422 })

  const page = await api.request('GET', '/api/suppressions?domain=list.com&limit=2')
  shows(t, page.body, { object: 'list', has_more: true, data: [{ email: 'a@list.com' }, { email: '5_0@list.com' }] })
  const after = page.body.data[1]?.id
  const rest = await api.request('GET', `/api/suppressions?domain=list.com&limit=2&after=${after}`)
  shows(t, rest.body, { has_more: false, data: [{ email: '50%@list.com' }] })
})

/** So few that a busy machine refuses none. */
const AT_ONCE = 10

t.test('naughty strings in query or path find nothing or are refused', async t => {
  const texts = naughtyStrings.filter(text => !/^\.{0,2}$/.test(text)) // HTTP clients remove these from a path
  for (let i = 0; i < texts.length; i += AT_ONCE) {
    await Promise.all(
      texts.slice(i, i + AT_ONCE).map(async (text, j) => {
        const found = await list({ [j % 2 ? 'email' : 'domain']: text })
        t.ok(found === 422 || (Array.isArray(found) && found.length === 0), text)
        t.match(await find(text), { status: 404 }, text)
      }),
    )
  }
})

t.test('a refused recipient is suppressed with the SMTP reply, permanently', async t => {
  const inbox = await startInbox(t, {
    onRcptTo: ({ address }, _session, callback) =>
      callback(address === 'gone@y.com' ? Object.assign(new Error('5.1.1 No such user'), { responseCode: 550 }) : null),
  })
  const work = openWork(t, world, inbox.url)
  const sender = await newAccount(world)
  const body = { from: `me@${sender.domain}`, to: ['gone@y.com', 'fine@y.com'], subject: 'Hi' }
  const { body: email } = await api.request('POST', '/api/emails', { key: sender.key, body })
  await deliverEmails(work, [email.id])

  const all = async () => (await api.request('GET', '/api/suppressions', { key: sender.key })).body.data
  const expected = {
    email: 'gone@y.com',
    reason: 'bounce',
    cause: '550 5.1.1 No such user',
    source_email_id: email.id,
  }
  shows(t, await all(), [expected])
  t.equal((await all()).length, 1)

  await pg.query('DELETE FROM email_events WHERE email_id = $1', [email.id])
  await pg.query('DELETE FROM deliveries WHERE email_id = $1', [email.id])
  await pg.query('DELETE FROM emails WHERE id = $1', [email.id])
  await pg.query('DELETE FROM domains WHERE id = $1', [sender.domain_id])
  shows(t, await all(), [expected], 'whatever else is deleted')
})

t.test('a bounce replaces an expired suppression', async t => {
  const inbox = await startInbox(t)
  const work = openWork(t, world, inbox.url)
  const sender = await newAccount(world)
  const key = sender.key
  await api.request('POST', '/api/suppressions', { key, body: { email: 'back@y.com' } })
  await expire('back@y.com')
  inbox.refuse(550, '5.1.1 No such user')
  const body = { from: `me@${sender.domain}`, to: 'back@y.com', subject: 'Hi' }
  const { body: email } = await api.request('POST', '/api/emails', { key, body })
  await deliverEmails(work, [email.id])
  t.match((await api.request('GET', '/api/suppressions/back@y.com', { key })).body, {
    reason: 'bounce',
    expires_at: null,
  })
})
