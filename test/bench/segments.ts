import { z } from 'zod'
import { changeSegment, createSegment } from '#flows/segments/change_segment.ts'
import { countSegment, lookAtSegment } from '#flows/segments/count_segment.ts'
import { createListSegmentContacts } from '#flows/segments/list_segment_contacts.ts'
import { type Filter, NO_FILTER, type Rules } from '#lib/segments/conditions.ts'
import { sql } from '#sql/pool.ts'
import { addProperties, dropIndexes, type Fill, fillContacts } from '#test/bench/support/many_contacts.ts'
import { openStage, percentile, report, type Stage } from '#test/bench/support/stage.ts'

const MANY = Number(process.env.BENCH_CONTACTS ?? 1_000_000)
const FEW = 10_000
const SAMPLES = 15
const PATIENCE_MS = 8_000
const LIMIT = 20

type Shape = (fill: Fill) => { filter?: Partial<Filter>; rules?: Rules }

const property = (key: string, operator: 'eq' | 'contains', value: string | number): Shape => {
  return () => ({ filter: { property_filters: [{ key, operator, value }] } })
}
const rule =
  (rules: object): Shape =>
  () => ({ rules: rules as Rules })
const engagement = (event: 'opened' | 'not_opened'): Shape => {
  return ({ campaign_id }) => ({ filter: { engagement: { event, campaign_id } } })
}

/** Kinds of segments with at least 0.1 % of the contacts. */
const frequent: Record<string, Shape> = {
  'eq 10 %': property('plan', 'eq', 'pro'),
  'eq 0.1 %': property('tier', 'eq', 'gold'),
  'contains 33 %': property('note', 'contains', 'HALL 2'),
  'contains 1 %': property('company', 'contains', 'ab1'),
  'contains 0.1 %': property('note', 'contains', 'fair 123 '),
  'email contains 1 %': () => ({ filter: { email_contains: '77@mail' } }),
  'range 10 %': rule({ field: 'properties.seats', operator: 'gte', value: 900 }),
  'range 0.1 %': rule({ field: 'properties.seats', operator: 'gt', value: 998 }),
  'opened 25 %': engagement('opened'),
  'not opened 25 %': engagement('not_opened'),
  'opened 0.1 %': ({ rare_campaign_id: campaign_id }) => ({ filter: { engagement: { event: 'opened', campaign_id } } }),
  'eq, contains and not': () => ({
    filter: { status: 'subscribed', property_filters: [{ key: 'plan', operator: 'eq', value: 'pro' }] },
    rules: { not: { or: [{ field: 'properties.note', operator: 'contains', value: 'hall 1' }] } },
  }),
}

/** As many conditions as a segment may have, on ten properties: the slowest search, with a goal of its own. */
const MOST = 'the most conditions, matching nobody'
const TEXTS = ['plan', 'tier', 'city', 'company', 'note', 'language'].map(key => `properties.${key}`)
const NUMBERS = ['seats', 'score', 'age', 'orders'].map(key => `properties.${key}`)

/** Kinds that match hardly anybody. */
const rare: Record<string, Shape> = {
  'eq, no match': property('plan', 'eq', 'none'),
  'contains, no match': property('note', 'contains', 'nothing like it'),
  'contains, 10 matches': () => ({ filter: { email_contains: 'user99999' } }),
  'range, no match': rule({ field: 'properties.seats', operator: 'gt', value: 5_000 }),
  'two ranges, no match': rule({
    and: [
      { field: 'properties.orders', operator: 'gt', value: 12 },
      { field: 'properties.orders', operator: 'lt', value: 12 },
    ],
  }),
  [MOST]: rule({
    or: [
      ...Array.from({ length: 10 }, (_, n) => ({ field: TEXTS[n % 6], operator: 'contains', value: `%_\\${n}` })),
      ...Array.from({ length: 20 }, (_, n) => ({ field: NUMBERS[n % 4], operator: 'gt', value: 200_000 + n })),
    ],
  }),
}

/** How long a page and a count of a segment take, with a million contacts and with ten thousand. */
export async function benchSegments(): Promise<void> {
  const stage = await openStage()
  try {
    const { id: account_id } = await stage.pool.one(sql.type(z.object({ id: z.string() }))`SELECT id FROM accounts`)
    await addProperties(stage.pool, account_id)
    const makeIndexes = await dropIndexes(stage.pool)
    const few = await open(stage, await fillContacts(stage, account_id, 'few.bench.com', FEW))
    const many = await open(stage, await fillContacts(stage, account_id, 'many.bench.com', MANY))
    await makeIndexes()
    for (const [name, shape] of Object.entries(frequent)) {
      const times = { few: await timePages(few, shape), many: await timePages(many, shape) }
      const ratio = times.many / times.few
      const value = `page p50 ${times.many.toFixed(1)} ms, with ${FEW} contacts ${times.few.toFixed(1)}, ${ratio.toFixed(1)}x`
      report(name, value, '<= 3x', ratio <= 3)
      await timeCount(many, shape)
    }
    for (const [name, shape] of Object.entries(rare)) {
      const time = await timePages(many, shape)
      const goal = name === MOST ? 3_000 : 1_500
      report(name, `page p50 ${time.toFixed(0)} ms`, `< ${goal.toLocaleString('en')} ms`, time < goal)
      await timeCount(many, shape)
    }
    await crowd(many, few)
  } finally {
    await stage.close()
  }
}

type Side = Stage & { fill: Fill; segment_id: string; list: ReturnType<typeof createListSegmentContacts> }

async function open(stage: Stage, fill: Fill): Promise<Side> {
  const { id } = await createSegment(stage.pool, fill, { name: 'Measured', filter: null, rules: null })
  return { ...stage, fill, segment_id: id, list: createListSegmentContacts(stage.pool) }
}

async function choose({ pool, fill, segment_id }: Side, shape: Shape): Promise<void> {
  const { filter, rules = null } = shape(fill)
  await changeSegment(pool, fill.account_id, segment_id, { filter: { ...NO_FILTER, ...filter }, rules })
}

async function timePages(side: Side, shape: Shape): Promise<number> {
  await choose(side, shape)
  const times: number[] = []
  const end = performance.now() + PATIENCE_MS
  for (let i = -1; i < SAMPLES && (i < 3 || performance.now() < end); i++) {
    const start = performance.now()
    const page = side.list({ account_id: side.fill.account_id, segment_id: side.segment_id }, { limit: LIMIT })
    const isRefused = await page.then(
      () => false,
      () => true,
    )
    if (isRefused) return Number.POSITIVE_INFINITY
    if (i >= 0) times.push(performance.now() - start)
  }
  return percentile(times, 0.5)
}

async function timeCount(side: Side, shape: Shape): Promise<void> {
  await choose(side, shape)
  const { pool, fill, segment_id } = side
  const start = performance.now()
  await countSegment(pool, fill.account_id, segment_id).catch(error => console.error(`  not counted: ${error.message}`))
  const counted = performance.now()
  const segment = await lookAtSegment(pool, fill.account_id, segment_id)
  const [count_ms, look_ms] = [counted - start, performance.now() - counted]
  const value = `${segment?.contacts_count} in ${count_ms.toFixed(0)} ms, then shown in ${look_ms.toFixed(1)} ms`
  report('  counted', value, '< 2,000 ms and < 20 ms', count_ms < 2_000 && look_ms < 20)
}

/** Pages of empty segments requested by many callers at once do not exhaust the pool. */
async function crowd(many: Side, few: Side): Promise<void> {
  await choose(many, rare['contains, no match'] as Shape)
  await choose(few, frequent['eq 10 %'] as Shape)
  const { account_id } = many.fill
  const slow = Array.from({ length: 8 }, () =>
    many.list({ account_id, segment_id: many.segment_id }, { limit: LIMIT }).then(
      () => 'answered',
      () => 'refused',
    ),
  )
  const times: number[] = []
  let isOver = false
  const all = Promise.all(slow).finally(() => {
    isOver = true
  })
  while (!isOver) {
    const start = performance.now()
    await few.list({ account_id, segment_id: few.segment_id }, { limit: LIMIT })
    times.push(performance.now() - start)
  }
  const refused = (await all).filter(result => result === 'refused').length
  const worst = percentile(times, 0.99)
  report(
    `pages during 8 searches without a match (${refused} refused)`,
    `p99 ${worst.toFixed(0)} ms`,
    '< 500 ms',
    worst < 500,
  )
}
