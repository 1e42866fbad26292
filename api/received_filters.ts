import type { z } from 'zod'
import { orList } from '#lib/json/requirements.ts'
import type { ReceivedEmailFilters } from '#sql/receiving/received_email_filters.ts'
import { domainParameter, idParameter, mailboxParameter, parameter, textParameter } from './email_filters.ts'

const CATEGORIES = ['interested', 'neutral', 'not_interested', 'none'] as const
type Category = (typeof CATEGORIES)[number]

/** The filters of GET /emails/receiving (contract 4.1). */
export const ReceivedQuery = {
  campaign_id: idParameter, // there are none yet
  domain: domainParameter,
  from: mailboxParameter,
  to: mailboxParameter,
  q: textParameter,
  read: parameter('must be `true` or `false`', text => (text === 'true' || text === 'false' ? text === 'true' : null)),
  category: parameter(`must be ${orList(CATEGORIES)}`, text =>
    CATEGORIES.includes(text as Category) ? (text as Category) : null,
  ),
}
type Given = z.output<z.ZodObject<typeof ReceivedQuery>>

export function receivedFilters({ campaign_id, q, ...filters }: Given): ReceivedEmailFilters {
  return { ...filters, q: q || undefined, isNone: campaign_id !== undefined }
}
