import { SANDBOX_DOMAIN } from '#flows/accounts/create_sandbox.ts'
import { ApiError, orNotFound } from '#lib/errors.ts'
import { isUuid } from '#lib/ids.ts'
import { asciiDomain } from '#lib/mail/address.ts'
import type { Caller } from '#sql/accounts/api_keys.ts'
import { findAudience } from '#sql/contacts/audiences.ts'
import type { ContactRef } from '#sql/contacts/contacts.ts'
import { findOnlyDomain, findOwnDomain, listDomainsOfAddress } from '#sql/domains/own_domains.ts'
import type { Queryable } from '#sql/pool.ts'
import type { ContactPlace } from './join_groups.ts'

type Named = { caller: Caller; domain: string | null | undefined }

/**
 * Returns the id of the domain that a request names by its name or id, else the default domain of its API key, else null.
 *
 * @throws {ApiError} 422 if it is not a domain of the account
 */
async function findNamed(db: Queryable, { caller, domain }: Named): Promise<string | null> {
  const { account_id, default_domain_id } = caller
  if (domain === undefined || domain === null) return default_domain_id
  const name = asciiDomain(domain)
  const ref = isUuid(domain) ? { id: domain.toLowerCase() } : name === null ? null : { name }
  const id = ref && (await findOwnDomain(db, account_id, ref))
  return id ?? fail('`domain` must be the name or the id of one of your domains.')
}

/** As `findNamed`, for requests that must name a domain. @throws {ApiError} 422 */
export async function requireDomain(db: Queryable, named: Named): Promise<string> {
  return (await findNamed(db, named)) ?? fail('Missing `domain`: the name or the id of one of your domains.')
}

/** As `findNamed`, or else the only domain of the account. @throws {ApiError} 422 if it has none or several */
export async function impliedDomain(db: Queryable, named: Named): Promise<string> {
  const id = (await findNamed(db, named)) ?? (await findOnlyDomain(db, named.caller.account_id, SANDBOX_DOMAIN))
  return id ?? fail('Missing `domain`: this account has no domain, or several.')
}

function fail(message: string): never {
  throw new ApiError('validation_error', message)
}

/**
 * Returns the domain, and the audience if there is one, that a request adds contacts to.
 *
 * @throws {ApiError} 404 for an audience that does not exist; 422 if no domain is named or implied
 */
export async function contactPlace(
  db: Queryable,
  { audience_id = null, ...named }: Named & { audience_id: string | null | undefined },
): Promise<ContactPlace> {
  const { account_id } = named.caller
  if (audience_id === null) return { account_id, domain_id: await impliedDomain(db, named), audience_id }
  const { domain_id } = orNotFound('Audience', await findAudience(db, account_id, audience_id))
  const given = (named.domain ?? null) === null ? domain_id : await requireDomain(db, named)
  return given === domain_id ? { account_id, domain_id, audience_id } : fail('`audience_id` must belong to `domain`.')
}

/**
 * Returns the contact with an address: on the named domain, or on the only domain of the account that has it.
 *
 * @throws {ApiError} 404 if no domain has it, 422 if several do
 */
export async function findContactRef(db: Queryable, named: Named, email: string): Promise<ContactRef> {
  return { email, domain_id: orNotFound('Contact', await domainOfAddress(db, named, email)) }
}

/**
 * As `findContactRef`, for an address that need not be a contact: if no domain has it, the only domain of the account is meant.
 *
 * @throws {ApiError} 422 if several domains are possible
 */
export async function findPersonRef(db: Queryable, named: Named, email: string): Promise<ContactRef> {
  return { email, domain_id: (await domainOfAddress(db, named, email)) ?? (await impliedDomain(db, named)) }
}

async function domainOfAddress(db: Queryable, named: Named, email: string): Promise<string | undefined> {
  const domain_id = await findNamed(db, named)
  if (domain_id !== null) return domain_id
  const [first, second] = await listDomainsOfAddress(db, named.caller.account_id, email)
  if (second) fail('Missing `domain`: contacts of several domains have this address.')
  return first
}
