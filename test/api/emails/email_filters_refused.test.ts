import t from 'tap'
import { v7 as uuid } from 'uuid'
import { startApi } from '#test/support/api.ts'
import { query } from '#test/support/varied_emails.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

t.test('invalid and repeated filters are refused by the name of the parameter', async t => {
  const wrong: Record<string, string[]> = {
    status: ['', 'x', 'sent,', ',', 'sent, queued', 'SENT', 'sent;queued', 'replied', '__proto__', 'sent\0'],
    folder: ['', 'inbox', 'ALL', 'toString', '__proto__', 'sent,failed'],
    domain: ['', 'x', 'a b.com', 'y.com.', '\0', '%'],
    tag: ['', 'a b', 'a:', ':b', 'a:b:c', '\0', 'ä', 'a\n'],
    from: ['', 'x', '@y.com', 'x@', 'a@b.com,c@d.com', '\0@y.com'],
    to: ['', 'x', 'x@y', 'x@y.com\n'],
    created_after: ['', 'yesterday', '1', '2026-02-30', '2026-01-01T00:00', '2026-13-01', '\0'],
    created_before: ['', 'now', '2026-01-01 00:00:00Z', '2026-01-01T25:00:00Z'],
    campaign_id: ['', 'x', `${uuid()}0`],
    template_id: ['', 'Welcome', 'a b', '_x', '%', '\0'],
  }
  for (const name of ['q', 'search', 'query']) wrong[name] = ['a\0', 'a\nb', '\r', 'x'.repeat(999)]
  for (const [name, values] of Object.entries(wrong)) {
    const queries = [...values.map(value => query({ [name]: value })), `${name}=${uuid()}&${name}=${uuid()}`]
    for (const text of queries) {
      const { body } = await api.request('GET', `/api/emails?${text}`)
      t.match(body, { statusCode: 422, name: 'validation_error', message: new RegExp(`\`${name}\``) }, text)
    }
  }
  for (const text of ['q=a&search=a', 'search=a&query=b', 'q=&query=']) {
    t.match(await api.request('GET', `/api/emails?${text}`), { status: 422, body: { name: 'validation_error' } }, text)
  }
})
