import type { z } from 'zod'
import type { ReceivedEmailFilters } from '#sql/receiving/received_email_filters.ts'
import { domainParameter, idParameter, mailboxParameter, parameter, textParameter } from './email_filters.ts'

const CATEGORIES = ['interested', 'neutral', 'not_interested', 'none'] as const
type Category = (typeof CATEGORIES)[number]

/** The filters of GET /emails/receiving (contract 4.1). */
export const ReceivedQuery = {
  campaign_id: idParameter('campaign_id'), // there are none yet
  domain: domainParameter,
  from: mailboxParameter('from'),
  to: mailboxParameter('to'),
  q: textParameter('q'),
  read: parameter('read', 'must be `true` or `false`', text =>
    text === 'true' || text === 'false' ? text === 'true' : null,
  ),
  category: parameter('category', `must be one of ${CATEGORIES.join(', ')}`, text =>
    CATEGORIES.includes(text as Category) ? (text as Category) : null,
  ),
}
type Given = z.output<z.ZodObject<typeof ReceivedQuery>>

export function receivedFilters({ campaign_id, q, ...filters }: Given): ReceivedEmailFilters {
  return { ...filters, q: q || undefined, isNone: campaign_id !== undefined }
}
