import { type Criteria, NO_FILTER } from '#lib/segments/conditions.ts'
import { type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql, type Tx } from '#sql/pool.ts'
import { ListedSegment, Segment, SegmentCriteria } from './segment_records.ts'

/** The stored filter with defaults, since General has an empty one. */
const filter = sql.fragment`${JSON.stringify(NO_FILTER)}::jsonb || s.filter`
const listedColumns = sql.fragment`
  'segment' AS object, s.id, s.domain_id AS audience_id, s.name, ${filter} AS filter, s.rules, s.created_at, s.updated_at
`
const columns = sql.fragment`${listedColumns}, s.contacts_count, s.counted_at`

export async function listSegments(
  db: Queryable,
  account_id: string,
  { domain_id }: { domain_id?: string | undefined },
  position: Position,
): Promise<Page<ListedSegment>> {
  const ofDomain = domain_id === undefined ? sql.fragment`true` : sql.fragment`domain_id = ${domain_id}`
  return readHeavyPage(db, position, {
    type: ListedSegment,
    ids: (where, order, limit) => sql.fragment`
      SELECT id FROM segments WHERE account_id = ${account_id} AND ${ofDomain} AND ${where} ORDER BY ${order} LIMIT ${limit}
    `,
    row: id =>
      sql.fragment`SELECT ${listedColumns} FROM segments s WHERE s.account_id = ${account_id} AND s.id = ${id}`,
  })
}

/** Lists these segments, all of one page, in the given order. */
export async function listSegmentsById(db: Queryable, account_id: string, ids: string[]): Promise<ListedSegment[]> {
  return db.any(sql.type(ListedSegment)`
    SELECT ${listedColumns} FROM unnest(${sql.array(ids, 'uuid')}) WITH ORDINALITY AS g (id, n)
    JOIN segments s ON s.account_id = ${account_id} AND s.id = g.id ORDER BY g.n
  `)
}

export async function findSegment(db: Queryable, account_id: string, id: string): Promise<Segment | null> {
  return db.maybeOne(sql.type(Segment)`
    SELECT ${columns} FROM segments s WHERE s.account_id = ${account_id} AND s.id = ${id}
  `)
}

export const criteriaColumns = sql.fragment`s.id, s.name, ${filter} AS filter, s.rules`

/** Lists the next segments of a domain in the direction of a page. */
export async function listCriteria(
  db: Queryable,
  { account_id, domain_id }: { account_id: string; domain_id: string },
  { limit, after, before }: Position,
): Promise<SegmentCriteria[]> {
  const from = after ? sql.fragment`s.id < ${after}` : before ? sql.fragment`s.id > ${before}` : sql.fragment`true`
  return db.any(sql.type(SegmentCriteria)`
    SELECT ${criteriaColumns} FROM segments s
    WHERE s.account_id = ${account_id} AND s.domain_id = ${domain_id} AND ${from}
    ORDER BY s.id ${before ? sql.fragment`ASC` : sql.fragment`DESC`} LIMIT ${limit}
  `)
}

/** Takes the lock for changes of the account's segments, and of the rows that they refer to, until the transaction ends. */
export async function lockSegments(tx: Tx, account_id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT pg_advisory_xact_lock(hashtextextended(${`segments ${account_id}`}, 0))`)
}

export type SegmentRow = Criteria & { account_id: string; id: string; domain_id: string; name: string }

export async function insertSegment(tx: Tx, row: SegmentRow): Promise<void> {
  await tx.run(sql.unsafe`
    INSERT INTO segments (account_id, id, domain_id, name, filter, rules)
    VALUES (${row.account_id}, ${row.id}, ${row.domain_id}, ${row.name}, ${JSON.stringify(row.filter)}::jsonb,
      nullif(${JSON.stringify(row.rules)}::jsonb, 'null'))
  `)
}

/** Updates a segment; clears its count if its criteria change. */
export async function updateSegment(tx: Tx, row: Omit<SegmentRow, 'domain_id'>): Promise<void> {
  const [given, rules] = [JSON.stringify(row.filter), JSON.stringify(row.rules)]
  const isSame = sql.fragment`${filter} = ${given}::jsonb AND s.rules IS NOT DISTINCT FROM nullif(${rules}::jsonb, 'null')`
  await tx.run(sql.unsafe`
    UPDATE segments s SET name = ${row.name}, filter = ${given}::jsonb, rules = nullif(${rules}::jsonb, 'null'),
      contacts_count = CASE WHEN ${isSame} THEN s.contacts_count END,
      counted_at = CASE WHEN ${isSame} THEN s.counted_at END, updated_at = now()
    WHERE s.account_id = ${row.account_id} AND s.id = ${row.id}
  `)
}

/** Locks a segment: no campaign to it can start until the transaction ends. */
export async function lockSegment(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`SELECT FROM segments WHERE account_id = ${account_id} AND id = ${id} FOR UPDATE`)
}

/** Deletes a segment; a job removes its members by hand. */
export async function deleteSegment(tx: Tx, account_id: string, id: string): Promise<void> {
  await tx.run(sql.unsafe`DELETE FROM segments WHERE account_id = ${account_id} AND id = ${id}`)
}
