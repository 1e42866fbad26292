import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { sql } from '#sql/pool.ts'
import type { RunRef } from './run_of.ts'

/** States of recipients with the letters that rows store. */
const STATES = { pending: 'p', mailed: 'm', excluded: 'x', canceled: 'c' } as const

export const RecipientState = z.enum(['pending', 'mailed', 'excluded', 'canceled'])
export type RecipientState = z.infer<typeof RecipientState>

export const BounceType = z.enum(['permanent', 'transient', 'undetermined'])

/** Also by contact, so that Postgres begins with the emails of a rare status and finds their recipients by key. */
function hasStatus(status: string): FragmentSqlToken {
  return sql.fragment`e.status = ${status} AND e.contact_id = r.contact_id`
}

/** The states of recipients as the resend package names them, of the last email of each: `r.sent_at` is of its first. */
const types = {
  sent: sql.fragment`e.sent_at IS NOT NULL`,
  delivered: sql.fragment`e.status IN ('delivered', 'complained')`,
  opened: sql.fragment`r.first_opened_at IS NOT NULL`,
  clicked: sql.fragment`r.first_clicked_at IS NOT NULL`,
  bounced: hasStatus('bounced'),
  complained: hasStatus('complained'),
  unsubscribed: sql.fragment`r.unsubscribed_at IS NOT NULL`,
  suppressed: sql.fragment`(r.state = 'x' OR e.status = 'suppressed')`,
}

export const RecipientType = z.enum(Object.keys(types) as (keyof typeof types)[])

export type RecipientFilter = {
  state?: RecipientState | undefined
  type?: z.infer<typeof RecipientType> | undefined
  bounce_type?: z.infer<typeof BounceType> | undefined
  email?: string | undefined
}

/** Kind of the bounce of `emails e`. */
export const bounceType = sql.fragment`
  CASE WHEN e.status = 'bounced' THEN (
    SELECT coalesce(lower(v.data -> 'bounce' ->> 'type'), 'undetermined') FROM email_events v
    WHERE v.account_id = e.account_id AND v.email_id = e.id AND v.type = 'bounced' ORDER BY v.id DESC LIMIT 1
  ) END`

/** For `campaign_recipients r` with `contacts c` and `emails e`. */
export function conditionsOf(campaign: RunRef, { state, type, bounce_type, email }: RecipientFilter): FragmentSqlToken {
  const conditions = [
    state === undefined ? sql.fragment`true` : sql.fragment`r.state = ${STATES[state]}`,
    type === undefined ? sql.fragment`true` : types[type],
    bounce_type === undefined ? sql.fragment`true` : sql.fragment`${types.bounced} AND ${bounceType} = ${bounce_type}`,
    email === undefined ? sql.fragment`true` : isAddressed(campaign, email.toLowerCase()),
  ]
  return sql.fragment`${sql.join(conditions, sql.fragment` AND `)}`
}

/** Finds the recipients by an address first: there may be a million, and each would be joined with its contact and email. */
function isAddressed({ account_id, id }: RunRef, email: string): FragmentSqlToken {
  return sql.fragment`r.contact_id IN (
    SELECT n.contact_id FROM campaign_recipients n WHERE n.account_id = ${account_id} AND n.campaign_id = ${id} AND n.email = ${email}
    UNION ALL
    SELECT n.id FROM domains o JOIN contacts n ON n.account_id = o.account_id AND n.domain_id = o.id AND n.email = ${email}
    WHERE o.account_id = ${account_id}
  ) AND coalesce(r.email, c.email) = ${email}`
}
