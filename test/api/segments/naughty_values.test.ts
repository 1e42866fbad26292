import t from 'tap'
import { newId } from '#lib/ids.ts'
import { startApi } from '#test/support/api.ts'
import { naughtyStrings } from '#test/support/naughty_strings.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const world = await openWorld(t)
const account = await newAccount(world)
const api = await startApi(t, world, account.key)
const { id: account_id, domain, domain_id } = account

// One contact per text that Postgres can store.
const texts = [...new Set(naughtyStrings)].filter(
  text => text.length <= 2_000 && text !== '' && text.isWellFormed() && !text.includes('\0'),
)
await world.pool.pg.query(
  `INSERT INTO contact_properties (account_id, id, key, stored_as, type) VALUES ($1, $2, 'text', 'text', 'string')`,
  [account_id, newId()],
)
await world.pool.pg.query(
  `INSERT INTO contacts (account_id, id, domain_id, email, properties, source)
   SELECT $1, gen_random_uuid(), $2, n || '@b.com', jsonb_build_object('text', text), 'api'
   FROM unnest($3::text[]) WITH ORDINALITY AS t (text, n)`,
  [account_id, domain_id, texts],
)

t.test('rules of a segment find any text that a property can have', async t => {
  t.ok(texts.length > 100)
  for (let from = 0; from < texts.length; from += 13) {
    const wanted = texts.slice(from, from + 13)
    for (const operator of ['eq', 'contains']) {
      const rules = { or: wanted.map(value => ({ field: 'properties.text', operator, value })) }
      const { body } = await api.request('POST', '/api/segments', {
        body: { name: `${operator} ${from}`, domain, rules },
      })
      const page = await api.request('GET', `/api/segments/${body.id}/contacts`)
      const found = page.body.data.map(one => (one as unknown as { properties: { text: string } }).properties.text)
      const expected = texts.filter(text =>
        operator === 'eq' ? wanted.includes(text) : wanted.some(part => fold(text).includes(fold(part))),
      )
      t.strictSame(found.toSorted(), expected.toSorted(), `${operator} ${from}`)
    }
  }
})

/** Lower case, with a final sigma equal to any other. */
function fold(text: string): string {
  return text.toLowerCase().replaceAll('ς', 'σ')
}
