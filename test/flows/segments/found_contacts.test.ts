import fc from 'fast-check'
import t from 'tap'
import { changeSegment, createSegment } from '#flows/segments/change_segment.ts'
import { createListSegmentContacts } from '#flows/segments/list_segment_contacts.ts'
import { newId } from '#lib/ids.ts'
import { isFound } from '#sql/segments/compile.ts'
import { countContacts } from '#sql/segments/counts.ts'
import type { PlanHint } from '#sql/segments/plan_hints.ts'
import { loadTerms } from '#sql/segments/terms.ts'
import { isIn } from '#test/support/segments/evaluate.ts'
import { criteria } from '#test/support/segments/generate.ts'
import { addPeople } from '#test/support/segments/people.ts'
import { newAccount, openWorld } from '#test/support/world.ts'

/** Set SEGMENT_RUNS=2000 to run more. */
const RUNS = Number(process.env.SEGMENT_RUNS ?? 60)

const world = await openWorld(t)
const { pool } = world
const account = await newAccount(world)
const account_id = account.id
const place = { account_id, domain_id: account.domain_id }
const { people, around } = await addPeople(pool, account, 3_000)
// Contacts of another account, whose properties have the same names and other types: never to be found.
await addPeople(pool, await newAccount(world), 100)

// Segments that rules can name.
const named: string[] = []
for (const [n, given] of fc.sample(criteria(around, []), 3).entries()) {
  const segment = await createSegment(pool, place, { name: `named ${n}`, ...given })
  named.push(segment.id)
  around.segments[segment.id] = { filter: segment.filter, rules: segment.rules }
}
const tested = await createSegment(pool, place, { name: 'tested', filter: null, rules: null })
for (const id of [...named, tested.id]) {
  const members = people.filter(() => Math.random() < 0.01)
  for (const person of members) person.by_hand.push(id)
  await pool.pg.query(`INSERT INTO segment_members SELECT $1, $2, unnest($3::uuid[])`, [
    ...[account_id, id, members.map(person => person.id)],
  ])
}
const newestFirst = people.toSorted((a, b) => (a.id < b.id ? 1 : -1))
const oldest = newestFirst.at(-1)?.id

/** `searched` finds a few contacts by walking and the rest by searching; `walked` finds all by walking. */
const lists = { searched: createListSegmentContacts(pool, { walk: 40 }), walked: createListSegmentContacts(pool) }

t.test('a segment finds exactly the contacts that its filter and rules describe', async t => {
  const property = fc.asyncProperty(criteria(around, named), async given => {
    await changeSegment(pool, account_id, tested.id, given)
    const expected = newestFirst.filter(person => isIn(person, { id: tested.id, ...given }, around)).map(({ id }) => id)
    for (const [name, list] of Object.entries(lists)) {
      const page = await list({ account_id, segment_id: tested.id }, { limit: 5_000 })
      const found = page.data.map(({ id }) => id)
      if (found.join() !== expected.join()) throw new Error(`${name}: ${found.length} and not ${expected.length}`)
    }
    const terms = await loadTerms(pool, place, [given])
    const condition = (hint: PlanHint) => isFound(given, terms, hint)
    const { contacts } = await countContacts(pool, { ...place, id: tested.id, isFound: condition })
    if (contacts !== expected.length) throw new Error(`counted ${contacts} and not ${expected.length}`)
  })
  await t.resolves(fc.assert(property, { numRuns: RUNS }))
})

t.test('pages of a segment return each contact once, in both directions', async t => {
  for (const given of fc.sample(criteria(around, named), 4)) {
    await changeSegment(pool, account_id, tested.id, given)
    const expected = newestFirst.filter(person => isIn(person, { id: tested.id, ...given }, around)).map(({ id }) => id)
    for (const list of Object.values(lists)) {
      const limit = Math.max(7, Math.ceil(expected.length / 20))
      t.strictSame(await walkPages(list, 'after', limit, undefined), expected)
      const newer = expected.filter(id => id !== oldest)
      t.strictSame(await walkPages(list, 'before', limit, oldest), newer)
      t.strictSame(await walkPages(list, 'before', limit, newId()), [], 'an unknown cursor')
    }
  }
})

async function walkPages(
  list: (typeof lists)['walked'],
  direction: 'after' | 'before',
  limit: number,
  cursor: string | undefined,
): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const page = await list({ account_id, segment_id: tested.id }, { limit, [direction]: cursor })
    const found = page.data.map(({ id }) => id)
    if (direction === 'after') ids.push(...found)
    else ids.unshift(...found)
    if (!page.has_more) return ids
    cursor = direction === 'after' ? found.at(-1) : found[0]
  }
}

t.test('a rule with a deleted campaign or topic finds nobody, negated or not', async t => {
  const topic_id = Object.keys(around.topics)[0] as string
  const campaign_id = around.campaigns[0] as string
  const [gone, other] = [newId(), newId()]
  await pool.pg.query(
    `INSERT INTO topics SELECT account_id, $2, domain_id, 'gone', NULL, 'opt_in', 'public'
    FROM topics WHERE account_id = $1 AND id = $3`,
    [account_id, gone, topic_id],
  )
  await pool.pg.query('INSERT INTO campaigns VALUES ($1, $2, $3)', [account_id, other, account.domain_id])
  await pool.pg.query(
    `INSERT INTO campaign_recipients SELECT account_id, $2, contact_id, run, sent_at, first_opened_at, first_clicked_at
     FROM campaign_recipients WHERE account_id = $1 AND campaign_id = $3`,
    [account_id, other, campaign_id],
  )
  const named = [
    { field: 'topic', operator: 'eq', value: gone },
    { field: 'engagement', operator: 'opened', value: { campaign_id: other } },
    { field: 'engagement', operator: 'not_opened', value: { campaign_id: other } },
  ] as const
  const filter = { status: 'all', email_contains: null, property_filters: [] } as const
  const made = []
  for (const [n, rules] of named.flatMap(rules => [rules, { not: rules }]).entries()) {
    made.push(await createSegment(pool, place, { name: `names ${n}`, filter: null, rules }))
  }
  const engagement = { event: 'opened', campaign_id: other } as const
  made.push(
    await createSegment(pool, place, { name: 'filters', filter: { ...filter, engagement } as never, rules: null }),
  )
  const count = async (id: string) => (await lists.walked({ account_id, segment_id: id }, { limit: 1 })).data.length
  for (const { id } of made) t.equal(await count(id), 1)
  await pool.pg.query('DELETE FROM topics WHERE account_id = $1 AND id = $2', [account_id, gone])
  await pool.pg.query('DELETE FROM campaigns WHERE account_id = $1 AND id = $2', [account_id, other])
  for (const { id } of made) t.equal(await count(id), 0)
  const last = made.at(-1)
  await changeSegment(pool, account_id, last?.id as string, {
    name: 'filters still',
    filter: { status: 'all' } as never,
  })
})

t.test('a search that takes too long fails', async t => {
  const condition = { field: 'properties.city', operator: 'contains', value: 'nobody' } as const
  const rules = { or: Array(13).fill(condition) }
  const { id } = await createSegment(pool, place, { name: 'slow', filter: null, rules })
  const list = createListSegmentContacts(pool, { walk: 1, search_ms: 1 })
  await t.rejects(list({ account_id, segment_id: id }, { limit: 1 }), { code: '57014' })
})
