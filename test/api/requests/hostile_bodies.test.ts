import t from 'tap'
import { faultOf, fuzzBodies } from '#test/faults/fuzz_bodies.ts'
import { jsonTexts } from '#test/faults/support/json_texts.ts'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

const postText = (raw: string | Buffer) => api.request('POST', '/api/emails', { raw })
const named = (text: string | Buffer) => encodeURIComponent(String(text).toWellFormed().slice(0, 40))
const notJson = 'The body is not valid JSON.'

t.test('valid JSON texts are read, and all others are refused as invalid JSON', async t => {
  for (const { kind, text } of jsonTexts) {
    const { body } = await postText(text)
    t.match(body, { statusCode: 422 }, named(text))
    if (kind === 'is') t.not(body.message, notJson, named(text))
    if (kind === 'is not') t.equal(body.message, notJson, named(text))
  }
})

t.test('hostile JSON as the value of a field never causes a 500', async t => {
  const prototype = Object.getOwnPropertyNames(Object.prototype)
  const email = JSON.stringify({ from: `a@${account.domain}`, to: ['b@c.com'], subject: 'Hi' })
  for (const field of ['headers', '__proto__']) {
    for (const { text } of jsonTexts.filter(({ text }) => text.length < 150_000)) {
      const { status, body } = await postText(
        Buffer.concat([
          Buffer.from(`${email.slice(0, -1)},"${field}":`),
          Buffer.from(text as string),
          Buffer.from('}'),
        ]),
      )
      const fault = faultOf(status, body)
      if (fault) t.fail(`${field} ${named(text)}: ${fault}`)
    }
  }
  t.strictSame(Object.getOwnPropertyNames(Object.prototype), prototype)
})

t.test('500 mutated emails are accepted or refused, never a 500', async t => {
  const where = { url: api.url, key: account.key, domain: account.domain }
  const { counts, ids } = await fuzzBodies(where, { count: 500, seed: Date.now() % 2 ** 31 })
  t.ok(ids.size > 25, JSON.stringify(counts))
  for (const id of [...ids].slice(0, 150)) {
    const { status, body } = await api.request('GET', `/api/emails/${id}`)
    if (status !== 200 || body.id !== id) t.fail(`${id}: ${status} ${JSON.stringify(body)}`)
  }
})
