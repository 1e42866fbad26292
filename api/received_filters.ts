import type { z } from 'zod'
import { orList } from '#lib/json/requirements.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import type { ReceivedEmailFilters } from '#sql/receiving/received_email_filters.ts'
import { domainParameter, idParameter, mailboxParameter, parameter, textParameter } from './email_filters.ts'

const CATEGORIES = ['interested', 'neutral', 'not_interested', 'none'] as const
type Category = (typeof CATEGORIES)[number]

/** The filters of GET /emails/receiving. */
export const ReceivedQuery = {
  campaign_id: idParameter.describe('Only replies to this campaign.'),
  domain: domainParameter.describe('Only emails to this domain, by its name or id.'),
  contact_id: idParameter.describe('Only emails from this contact to its domain. Excludes `from` and `domain`.'),
  from: mailboxParameter.describe('Only emails from this address.'),
  to: mailboxParameter.describe('Only emails to this address, in To, Cc or the envelope.'),
  q: textParameter.describe('Text in the subject or an address, ignoring case.'),
  read: parameter('must be `true` or `false`', text =>
    text === 'true' || text === 'false' ? text === 'true' : null,
  ).meta({ enum: ['true', 'false'], description: 'Only emails that are, or are not, marked as read.' }),
  category: parameter(`must be ${orList(CATEGORIES)}`, text =>
    CATEGORIES.includes(text as Category) ? (text as Category) : null,
  ).meta({ enum: CATEGORIES, description: 'Only replies of this category. `none`: only email without a category.' }),
}
type Given = z.output<z.ZodObject<typeof ReceivedQuery>>

/** @param contact the contact of `contact_id` */
export function receivedFilters(
  { contact_id: _, q, ...filters }: Given,
  contact: Contact | null,
): ReceivedEmailFilters {
  const ofContact = contact ? { from: contact.email, domain: { id: contact.domain_id } } : {}
  return { ...filters, ...ofContact, q: q || undefined }
}
