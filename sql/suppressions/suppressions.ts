import { z } from 'zod'
import { type Page, type Position, readPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** From weakest to strongest: an existing reason is never replaced by a weaker one. */
export const SuppressionReason = z.enum(['import', 'manual', 'bounce', 'complaint'])
export type SuppressionReason = z.infer<typeof SuppressionReason>

/** Origin as the resend package names it: imported addresses count as added by hand. */
const SuppressionOrigin = z.enum(['bounce', 'complaint', 'manual'])
type SuppressionOrigin = z.infer<typeof SuppressionOrigin>

/** An address that the account must not write to. `cause`: the reply of the server. */
export const Suppression = z
  .object({
    object: z.literal('suppression'),
    id: z.string(),
    email: z.string().describe('The address.'),
    reason: SuppressionReason.describe('Why it is suppressed.'),
    origin: SuppressionOrigin.describe('Like `reason`, as the `resend` package has it: `import` is `manual`.'),
    cause: z.string().nullable().describe('Reply of the server, or the reason given in a report.'),
    source_email_id: z.string().nullable().describe('Id of the email that caused it.'),
    source_id: z.string().nullable().describe('The same as `source_email_id`.'),
    scope: z.literal('account').describe('It applies to all domains of the account.'),
    expires_at: z.date().nullable().describe('When it ends; null: never.'),
    created_at: z.date(),
  })
  .meta({ id: 'Suppression' })
export type Suppression = z.infer<typeof Suppression>

export const suppressionColumns = sql.fragment`
  'suppression' AS object, id, address AS email, reason, suppression_origin(reason) AS origin, cause, source_email_id,
  source_email_id AS source_id, 'account' AS scope, expires_at, created_at
`

/** Condition for active suppressions: an expired one has no effect and counts as deleted (tasks/purge.ts). */
export const isActive = sql.fragment`(expires_at IS NULL OR expires_at > now())`

/** Filters, compared literally but in any letter case; `domain` in ASCII. */
export type SuppressionFilter = {
  email?: string | undefined
  domain?: string | undefined
  reason?: SuppressionReason | undefined
  origin?: SuppressionOrigin | undefined
}

export async function listSuppressions(
  db: Queryable,
  account_id: string,
  { email, domain, reason, origin }: SuppressionFilter,
  position: Position,
): Promise<Page<Suppression>> {
  const filters = [
    ...(email === undefined ? [] : [sql.fragment`address = lower(${email})`]),
    ...(domain === undefined ? [] : [sql.fragment`substring(address FROM '[^@]*$') = lower(${domain})`]),
    ...(reason === undefined ? [] : [sql.fragment`reason = ${reason}`]),
    ...(origin === undefined ? [] : [sql.fragment`suppression_origin(reason) = ${origin}`]),
  ]
  return readPage(position, (where, order, limit) =>
    db.any(sql.type(Suppression)`
      SELECT ${suppressionColumns} FROM suppressions
      WHERE ${sql.join([sql.fragment`account_id = ${account_id}`, isActive, where, ...filters], sql.fragment` AND `)}
      ORDER BY ${order} LIMIT ${limit}
    `),
  )
}

/** Reference to a suppression by id or address. */
export type SuppressionRef = { id: string } | { address: string }

function isNamed(ref: SuppressionRef) {
  return 'id' in ref ? sql.fragment`id = ${ref.id}` : sql.fragment`address = lower(${ref.address})`
}

export async function findSuppression(
  db: Queryable,
  account_id: string,
  ref: SuppressionRef,
): Promise<Suppression | null> {
  return db.maybeOne(sql.type(Suppression)`
    SELECT ${suppressionColumns} FROM suppressions WHERE account_id = ${account_id} AND ${isNamed(ref)} AND ${isActive}
  `)
}
