import { EventEmitter } from 'node:events'
import t from 'tap'
import { holdBody } from '#api/bodies/budget.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const email = { from: `ann@${account.domain}`, to: ['bob@b.com'], subject: 'Hi' }

const MEGABYTE = 1024 * 1024
const refusal = (message: string) => ({ statusCode: 422, name: 'validation_error', message })

const others = [
  ['POST', '/api/webhooks', { endpoint: 'https://a.com', events: ['email.sent'] }],
  ['POST', '/api/suppressions', { email: 'a@b.com' }],
  ['POST', '/api/domains', { name: 'body-limits.com' }],
  ['POST', '/api/domains/claim', { name: 'body-limits.com' }],
] as const

t.test('routes that do not send refuse a body of more than 1 MB', async t => {
  for (const [method, path, body] of others) {
    const json = JSON.stringify(body)
    const { status, body: refused } = await api.request(method, path, { raw: json.padEnd(MEGABYTE + 1) })
    t.same([status, refused], [422, refusal(`The body is larger than ${MEGABYTE} bytes.`)], path)
    t.not((await api.request(method, path, { raw: json.padEnd(MEGABYTE) })).body.message, refused.message, path)
  }
})

t.test('a template of 10 MB is stored', async t => {
  const html = 'x'.repeat(5_000_000)
  const { status, body } = await api.request('POST', '/api/templates', { body: { name: 'T', html, text: html } })
  t.equal(status, 201)
  const { body: stored } = await api.request('GET', `/api/templates/${body.id}`)
  const { html: stored_html, text } = stored as unknown as { html: string; text: string }
  t.ok(stored_html === html && text === html)
})

t.test('a body nested too deep is refused before it is parsed', async t => {
  const message = 'The body is nested deeper than 100 levels.'
  for (const open of ['[', '{"a":', '[{"a":']) {
    for (const path of ['/api/emails', '/api/emails/batch', '/api/webhooks', '/api/templates']) {
      // The text is also incomplete, which a parser would report instead.
      const { status, body } = await api.request('POST', path, { raw: open.repeat(150_000) })
      t.same([status, body], [422, refusal(message)], `${path} ${open}`)
    }
  }
  const deepest = `${'['.repeat(99)}${']'.repeat(99)}`
  const post = (x: string) =>
    api.request('POST', '/api/emails', { raw: `${JSON.stringify(email).slice(0, -1)},"x":${x}}` })
  t.equal((await post(deepest)).status, 200)
  t.equal((await post(`[${deepest}]`)).body.message, message)
  t.equal((await post(`"${'[{'.repeat(1_000)}"`)).status, 200, 'brackets inside a string do not count')
})

t.test('a body with too many keys is refused before it is parsed', async t => {
  const message = 'The body has more than 20,000 keys and values.'
  const many = (count: number) => `[${'1,'.repeat(count)}`
  for (const path of ['/api/emails', '/api/webhooks', '/api/templates']) {
    const { status, body } = await api.request('POST', path, { raw: `{"x":${many(20_000)}` })
    t.same([status, body], [422, refusal(message)], path)
  }
  const batch = (items: string[]) => api.request('POST', '/api/emails/batch', { raw: `[${items}]` })
  const item = `{"x":${many(10_000)}1]}`
  t.same((await batch(Array(10).fill(item))).body.name, 'missing_required_field', 'the limit applies to each email')
  t.same((await batch([item, `{"x":${many(20_000)}`])).body, refusal(message))
  t.same((await batch(Array(50).fill(item))).body, refusal('The body has more than 400,000 keys and values.'))
})

/** Fills the memory budget on behalf of two accounts; returns functions that release one megabyte each. */
async function fillBudget(req: EventEmitter): Promise<(() => void)[]> {
  const held = [...Array(20).fill('a'), ...Array(12).fill('b')]
  return Promise.all(held.map(account_id => holdBody({ req, state: { caller: { account_id } } }, MEGABYTE)))
}

t.test('long bodies wait while the budget is full; short ones do not', async t => {
  const nobody = new EventEmitter()
  const held = await fillBudget(nobody)
  let isAnswered = false
  const long = api.request('POST', '/api/emails', { body: { ...email, text: 'x'.repeat(100_000) } })
  const answered = long.finally(() => {
    isAnswered = true
  })
  for (let n = 0; n < 5; n++) t.equal((await api.request('POST', '/api/emails', { body: email })).status, 200)
  t.notOk(isAnswered)
  held.pop()?.()
  t.equal((await answered).status, 200)
  for (const release of held) release()
})

t.test('an upload takes budget for its text, not for its files', async t => {
  const held = await fillBudget(new EventEmitter())
  held.pop()?.()
  const attachments = [{ filename: 'a.txt', content: Buffer.alloc(2 * MEGABYTE, 'a').toString('base64') }]
  const upload = { ...email, html: 'x'.repeat(100_000), attachments }
  t.equal((await api.request('POST', '/api/emails', { body: upload })).status, 200)
  for (const release of held) release()
})

t.test('a client that disconnects stops waiting for the budget', async t => {
  const [nobody, client] = [new EventEmitter(), new EventEmitter()]
  const held = await fillBudget(nobody)
  const waiting = holdBody({ req: client, state: { caller: { account_id: 'c' } } }, MEGABYTE)
  client.emit('close')
  await t.rejects(waiting, { message: 'the client disconnected while it waited' })
  for (const release of held) release()
  for (const release of await fillBudget(nobody)) release()
  t.equal(nobody.listenerCount('close'), 0)
})
