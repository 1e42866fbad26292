import t from 'tap'
import { startApi } from '#test/support/api.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)

// Names as people write them, and as the API returns them.
const names: [string, string][] = [
  ['Acme, Inc.', '"Acme, Inc."'],
  ['Acme (EU)', '"Acme (EU)"'],
  ['Support: Acme', '"Support: Acme"'],
  ['me@acme.com via X', '"me@acme.com via X"'],
  ['a@b.co', '"a@b.co"'],
  ['  Doe, John ', '"Doe, John"'],
]

t.test('every address field accepts display names with special characters', async t => {
  for (const [written, answered] of names) {
    const [from, to, cc, bcc, reply_to] = ['ann', 'to', 'cc', 'bcc', 'reply'].map(at => `${at}@${account.domain}`)
    const named = (address: string | undefined) => `${written} <${address}>`
    const { body } = await api.request('POST', '/api/emails', {
      body: {
        from: named(from),
        to: named(to),
        cc: [named(cc)],
        bcc: [named(bcc)],
        reply_to: named(reply_to),
        subject: 'x',
      },
    })
    const found = (await api.request('GET', `/api/emails/${body.id}`)).body as object as Record<string, unknown>
    const answer = (address: string | undefined) => `${answered} <${address}>`
    t.equal(found.from, answer(from))
    t.same(
      [found.to, found.cc, found.bcc, found.reply_to],
      [to, cc, bcc, reply_to].map(at => [answer(at)]),
    )
  }
})

t.test('`from` and `reply_to` of templates accept the same names', async t => {
  for (const [written, answered] of names) {
    const from = `${written} <ann@${account.domain}>`
    const { body } = await api.request('POST', '/api/templates', {
      body: { name: 'x', html: 'x', from, reply_to: from },
    })
    const found = (await api.request('GET', `/api/templates/${body.id}`)).body as object as Record<string, unknown>
    const answer = `${answered} <ann@${account.domain}>`
    t.same([found.from, found.reply_to], [answer, answer])
  }
})

t.test('a comma-separated list in `to` is refused', async t => {
  for (const to of ['a@b.co, c@d.co', 'a@b.co, Carl <c@d.co>', 'Ann <a@b.co>, Carl <c@d.co>']) {
    const { body } = await api.request('POST', '/api/emails', {
      body: { from: `ann@${account.domain}`, to, subject: 'x' },
    })
    t.equal(body.name, 'invalid_to_address', to)
  }
})
