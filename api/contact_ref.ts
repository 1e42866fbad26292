import { z } from 'zod'
import { uuid } from '#api/operations/ids.ts'
import type { Param } from '#api/operations/params.ts'
import { findContactRef, findPersonRef, requireDomain } from '#flows/contacts/contact_domain.ts'
import { ADDRESS_DOMAIN, ContactAddress } from '#lib/contacts/new_contact.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import type { ConsentOrigin } from '#sql/contacts/consents.ts'
import { type Contact, type ContactRef, findContact } from '#sql/contacts/contacts.ts'
import { clientAddress } from './client_address.ts'
import type { Context } from './context.ts'

/** A contact as a path names it: by its id, or by its address, which needs a domain to be unique. */
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

/** Query of paths that may name a contact by its address: the domain of that contact. */
export const DomainQuery = z.object({ domain: z.string().optional().describe(ADDRESS_DOMAIN) })

/** Parameter of lists of contacts. */
export const segmentFilter = z
  .guid()
  .toLowerCase()
  .optional()
  .describe('Id of a segment: only contacts that are in it.')

/** Errors of every operation that writes contacts. */
export const CONTACT_WRITE_ERRORS = ['contacts_busy', 'contacts_timeout'] as const

/**
 * Resolves a contact that a path names.
 *
 * @param isStrict requires the domain with an address, even if only one domain has a contact of this address
 * @throws {ApiError} 422 if the domain of an address is not known
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

/** Resolves a person whom a path names, by an address that need not be a contact. @throws {ApiError} as `contactRef` does */
export async function personRef(ctx: Context, named: NamedContact, domain: string | undefined): Promise<ContactRef> {
  return 'id' in named ? named : findPersonRef(ctx.pool, { caller: ctx.state.caller, domain }, named.email)
}

type ContactFilter = { contact_id?: string | undefined }

/**
 * Returns the contact that `contact_id` filters a list of emails by, or null without the filter.
 *
 * @param excluded parameters that cannot be combined with `contact_id`, since it implies them
 * @throws {ApiError} 404; 422 if one of `excluded` is given too
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

/** Returns the origin of an opt-in or opt-out that a request to the API makes. */
export function apiOrigin(ctx: Context): ConsentOrigin {
  return { how: 'api', source_id: ctx.state.caller.id, client_address: clientAddress(ctx) || null }
}
