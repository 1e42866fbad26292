import fc from 'fast-check'
import t from 'tap'
import { z } from 'zod'
import { type Page, readHeavyPage } from '#sql/page.ts'
import { sql } from '#sql/pool.ts'
import { openWorld } from '#test/support/world.ts'

const { pool } = await openWorld(t)

const MAX_BYTES = 1_000
/** The size of the JSON of `{"id":1000,"text":""}`. */
const EMPTY_ROW = 21

const Row = z.object({ id: z.int(), text: z.string() })
type Row = z.infer<typeof Row>

/** A list with ids from 1,000, whose rows have texts of these lengths. */
function listOf(lengths: number[]) {
  const ids = sql.array(
    lengths.map((_, n) => 1_000 + n),
    'int8',
  )
  const rows = sql.fragment`(SELECT * FROM unnest(${ids}, ${sql.array(lengths, 'int4')}) AS r(id, length)) r`
  return (position: { limit: number; after?: string | undefined; before?: string | undefined }) =>
    readHeavyPage(
      pool,
      position,
      {
        type: Row,
        ids: (where, order, limit) =>
          sql.fragment`SELECT id FROM ${rows} WHERE ${where} ORDER BY ${order} LIMIT ${limit}`,
        row: id => sql.fragment`SELECT r.id, repeat('x', r.length) AS text FROM ${rows} WHERE r.id = ${id}`,
      },
      MAX_BYTES,
    )
}

const lengths = fc.array(fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 400 }), fc.nat({ max: 3_000 })), { maxLength: 30 })
const limit = fc.integer({ min: 1, max: 35 })

const weigh = (data: Row[]) => data.reduce((sum, { text }) => sum + EMPTY_ROW + text.length, 0)
const isFull = ({ data }: Page<Row>, limit: number, next: number) =>
  data.length === limit || weigh(data) + EMPTY_ROW + next > MAX_BYTES

t.test('paging by after returns each row once, however large the rows are', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(lengths, limit, async (lengths, limit) => {
        const list = listOf(lengths)
        const found: number[] = []
        for (let after: string | undefined; ; after = String(found.at(-1))) {
          const page = await list({ limit, after })
          found.push(...page.data.map(row => row.id))
          checkPage(page, limit, lengths[(found.at(-1) ?? 0) - 1_000 - 1])
          if (!page.has_more) break
        }
        const expected = lengths.map((_, n) => 1_000 + n).reverse()
        return JSON.stringify(found) === JSON.stringify(expected)
      }),
      { numRuns: 60 },
    ),
  )
})

t.test('paging by before returns each row once, however large the rows are', async t => {
  await t.resolves(
    fc.assert(
      fc.asyncProperty(lengths, limit, async (lengths, limit) => {
        const list = listOf(lengths)
        const found: number[] = []
        for (let before = '1'; ; before = String(found[0])) {
          const page = await list({ limit, before })
          found.unshift(...page.data.map(row => row.id))
          checkPage(page, limit, lengths[(found[0] ?? 0) - 1_000 + 1])
          if (!page.has_more) break
        }
        const expected = lengths.map((_, n) => 1_000 + n).reverse()
        return JSON.stringify(found) === JSON.stringify(expected)
      }),
      { numRuns: 60 },
    ),
  )
})

/** `next`: length of the next row in the direction of paging. */
function checkPage(page: Page<Row>, limit: number, next: number | undefined): void {
  const { data, has_more } = page
  if (data.length > limit) throw new Error('more rows than asked for')
  if (data.length > 1 && weigh(data) > MAX_BYTES) throw new Error(`${weigh(data)} bytes`)
  if (has_more !== (next !== undefined)) throw new Error(`has_more is ${has_more}`)
  if (has_more && data.length === 0) throw new Error('a page of nothing has more')
  if (next !== undefined && !isFull(page, limit, next)) throw new Error('the page ends too early')
}
