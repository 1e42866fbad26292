import { z } from 'zod'
import { uuid } from '#api/operations/ids.ts'
import type { Param } from '#api/operations/params.ts'
import { findContactRef, requireDomain } from '#flows/contacts/contact_domain.ts'
import { ADDRESS_DOMAIN, ContactAddress } from '#lib/contacts/new_contact.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import { type Contact, type ContactRef, findContact } from '#sql/contacts/contacts.ts'
import { clientAddress } from './client_address.ts'
import type { Context } from './context.ts'

/** A contact as a path names it: by its id, which is exact, or by its address on a domain. */
export type NamedContact = { id: string } | { email: string }

export const contactParam: Param<NamedContact> = {
  resource: 'Contact',
  read: text => {
    const email = ContactAddress.safeParse(text).data
    if (email !== undefined) return { email }
    const id = uuid(text)
    return id === null ? null : { id }
  },
  description: 'Id of the contact, or its email address.',
}

/** Beside an address in the path: the domain that it is on. */
export const DomainQuery = z.object({ domain: z.string().optional().describe(ADDRESS_DOMAIN) })

/** Query of lists of contacts. */
export const segmentFilter = z
  .guid()
  .toLowerCase()
  .optional()
  .describe('Id of a segment: only contacts that are in it.')

/** Errors of every operation that writes contacts. */
export const CONTACT_WRITE_ERRORS = ['contacts_busy', 'contacts_timeout'] as const

/**
 * `isStrict`: an address needs the domain, even if only one domain has it.
 *
 * @throws {ApiError} 422 if the domain that an address is on is not known
 */
export async function contactRef(
  ctx: Context,
  named: NamedContact,
  domain: string | null | undefined,
  { isStrict = false } = {},
): Promise<ContactRef> {
  if ('id' in named) return named
  const given = { caller: ctx.state.caller, domain }
  if (isStrict) return { ...named, domain_id: await requireDomain(ctx.pool, given) }
  return findContactRef(ctx.pool, given, named.email)
}

type ContactFilter = { contact_id?: string | undefined }

/**
 * The contact that a list of emails is asked for, or null if it is asked for none.
 *
 * @param excluded parameters that the contact stands for
 * @throws {ApiError} 404; 422 if one of them is given too
 */
export async function contactOfFilter<Filters extends ContactFilter>(
  ctx: Context,
  filters: Filters,
  excluded: (keyof Filters & string)[],
): Promise<Contact | null> {
  const { contact_id: id } = filters
  if (id === undefined) return null
  const both = excluded.find(name => filters[name] !== undefined)
  if (both) throw new ApiError('validation_error', `\`contact_id\` and \`${both}\` cannot be combined.`)
  return orNotFound('Contact', await findContact(ctx.pool, ctx.state.caller.account_id, { id }))
}

/** Origin of an opt-in or opt-out by a request of the API. */
export function apiOrigin(ctx: Context): ConsentOrigin {
  return { how: 'api', source_id: ctx.state.caller.id, client_address: clientAddress(ctx) || null }
}
