import t from 'tap'
import { listContactSegments } from '#flows/segments/list_contact_segments.ts'
import { newId } from '#lib/ids.ts'
import { addContacts } from '#test/support/campaigns.ts'
import { openPlannedPool } from '#test/support/database/plans.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

const SMALL = 240
const LARGE = 6

const opened = await openWorld(t)
const { pool, statements } = await openPlannedPool(t, opened)
const { id: account_id, domain_id, ...account } = await newAccount(opened)
const [contact_id = ''] = await addContacts(opened, { id: account_id, domain_id, ...account }, ['ann@b.com'])
const names = (value: string) => ({ field: 'email', operator: 'eq', value })

/** Stores a segment of the contact, or of nobody, with more conditions; returns its id. */
async function addSegment(isOfContact: boolean, more: object[] = []): Promise<string> {
  const id = newId()
  const rules = { and: [names(isOfContact ? 'ann@b.com' : 'bob@b.com'), ...more] }
  await opened.pool.pg.query(
    `INSERT INTO segments (account_id, id, domain_id, name, filter, rules) VALUES ($1, $2, $3, $2::uuid::text, '{}', $4)`,
    [account_id, id, domain_id, JSON.stringify(rules)],
  )
  return id
}

/** Lists segments in pages; returns their ids and the sizes of the statements that evaluate them. */
async function listAll(direction: 'after' | 'before'): Promise<{ ids: string[]; evaluated: number[] }> {
  const ids: string[] = []
  statements.length = 0
  let at: string | undefined = direction === 'before' ? '00000000-0000-0000-0000-000000000000' : undefined
  for (let has_more = true; has_more; ) {
    const page = await listContactSegments(pool, { account_id, domain_id, contact_id }, { limit: 7, [direction]: at })
    const found = page.data.map(({ id }) => id)
    if (direction === 'after') ids.push(...found)
    else ids.unshift(...found)
    at = direction === 'after' ? ids.at(-1) : ids[0]
    has_more = page.has_more
  }
  const texts = statements.filter(({ text }) => text.includes('::boolean[] AS hits')).map(({ text }) => text)
  return { ids, evaluated: texts.map(text => text.split('c.email =').length - 1) }
}

t.test('many segments are evaluated in few statements, but none with too many conditions', async t => {
  const expected: string[] = []
  for (let n = 0; n < SMALL; n++) {
    const id = await addSegment(n % 20 === 0)
    if (n % 20 === 0) expected.unshift(id)
  }
  const [{ rows: general }, several] = [
    await opened.pool.pg.query('SELECT id FROM segments WHERE name = $1 AND domain_id = $2', ['General', domain_id]),
    await listAll('after'),
  ]
  expected.push(...general.map(({ id }) => id))
  t.strictSame(several.ids, expected)
  t.ok(several.evaluated.length <= 6, `${several.evaluated.length} statements`)
  t.strictSame((await listAll('before')).ids, expected)

  const named = await addSegment(
    true,
    Array.from({ length: 40 }, () => names('ann@b.com')),
  )
  const more = Array.from({ length: 12 }, () => ({ field: 'segment', operator: 'eq', value: named }))
  for (let n = 0; n < LARGE; n++) expected.unshift(await addSegment(true, more))
  expected.splice(LARGE, 0, named)
  const large = await listAll('after')
  t.strictSame(large.ids, expected)
  t.strictSame((await listAll('before')).ids, expected)
  // Each of them has about 500.
  t.ok(Math.max(...large.evaluated) <= 1_000, `${large.evaluated}`)
})
