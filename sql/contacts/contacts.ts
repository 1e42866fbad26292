import type { FragmentSqlToken } from '@slonik/sql-tag'
import { z } from 'zod'
import { PropertyValue } from '#lib/contacts/new_property.ts'
import { emptyPage, type Page, type Position, readHeavyPage } from '#sql/page.ts'
import { type Queryable, sql } from '#sql/pool.ts'

/** A person on one domain. `audience_ids` begins with the default audience of the domain. */
export const Contact = z
  .object({
    object: z.literal('contact'),
    id: z.string(),
    email: z.string().describe('The address, in lower case.'),
    first_name: z.string().nullable().describe('First name.'),
    last_name: z.string().nullable().describe('Last name.'),
    unsubscribed: z.boolean().describe('True if it gets no campaigns.'),
    do_not_track: z.boolean().describe('True if opens and clicks of mail to it are not tracked.'),
    timezone: z.string().nullable().describe('IANA time zone, as it was given; null: not known.'),
    properties: z
      .record(z.string(), PropertyValue)
      .describe('Values by key, including the fallback values of properties without a value.'),
    domain_id: z.string().describe('Id of its domain.'),
    audience_ids: z.array(z.string()).describe('Ids of its audiences. The default audience of the domain comes first.'),
    created_at: z.date(),
    updated_at: z.date(),
  })
  .meta({ id: 'Contact' })
export type Contact = z.infer<typeof Contact>

/** Select list of a query from `contacts c`. */
const contactColumns = sql.fragment`
  'contact' AS object, c.id, c.email, c.first_name, c.last_name, c.unsubscribed, c.do_not_track, c.timezone,
  shown_properties(c.account_id, c.properties) AS properties, c.domain_id,
  c.domain_id || ARRAY(
    SELECT audience_id FROM audience_members m
    WHERE m.account_id = c.account_id AND m.contact_id = c.id ORDER BY audience_id
  ) AS audience_ids, c.created_at, c.updated_at
`

/**
 * Reference to a contact: its id, or its address in lower case on a domain. `audience_id`: only if it is in that
 * audience.
 */
export type ContactRef = ({ id: string } | { email: string; domain_id: string }) & { audience_id?: string | undefined }

/** An account in a condition that finds contacts by id. In a subquery: contact_by_address.sql says why. */
export function accountForKey(account_id: string): FragmentSqlToken {
  return sql.fragment`(SELECT ${account_id}::uuid)`
}

/** Returns a condition on `contacts c`: it is this contact, and its domain exists (rows of a deleted domain may remain). */
export function isContact(account_id: string, ref: ContactRef) {
  const id =
    'id' in ref
      ? sql.fragment`${ref.id}::uuid`
      : sql.fragment`(SELECT id FROM contact_by_address(${account_id}, ${ref.domain_id}, ${ref.email}))`
  const { audience_id } = ref
  const member =
    audience_id === undefined
      ? sql.fragment`true`
      : sql.fragment`(c.domain_id = ${audience_id} OR ${isInAudience(audience_id)})`
  return sql.fragment`c.account_id = ${accountForKey(account_id)} AND c.id = ${id} AND ${member}
    AND EXISTS (SELECT FROM domains d WHERE d.account_id = c.account_id AND d.id = c.domain_id)`
}

/** Returns a condition on `contacts c`: the contact is in an audience other than the default. */
export function isInAudience(audience_id: string) {
  return sql.fragment`EXISTS (
    SELECT FROM audience_members m
    WHERE m.account_id = c.account_id AND m.audience_id = ${audience_id} AND m.contact_id = c.id)`
}

export async function findContact(db: Queryable, account_id: string, ref: ContactRef): Promise<Contact | null> {
  const name = `find_contact${'id' in ref ? '' : '_by_address'}${ref.audience_id === undefined ? '' : '_in_audience'}`
  // Prepared, since planning takes most of its time.
  return db.maybeOne(sql.prepared(name, Contact)`
    SELECT ${contactColumns} FROM contacts c WHERE ${isContact(account_id, ref)}
  `)
}

const ContactIds = z.object({ id: z.string(), domain_id: z.string() })

/** Finds only the ids of a contact and its domain. */
export async function findContactIds(
  db: Queryable,
  account_id: string,
  ref: ContactRef,
): Promise<z.infer<typeof ContactIds> | null> {
  return db.maybeOne(sql.type(ContactIds)`SELECT c.id, c.domain_id FROM contacts c WHERE ${isContact(account_id, ref)}`)
}

/** Returns false if the cursor of a page is an unknown contact: the page is then empty. */
export async function isCursorKnown(db: Queryable, account_id: string, { after, before }: Position): Promise<boolean> {
  const id = after ?? before
  return id === undefined || (await findContactIds(db, account_id, { id })) !== null
}

/**
 * Lists the contacts of a domain, newest first; with `audience_id`, those of one of its audiences other than the
 * default.
 */
export async function listContacts(
  db: Queryable,
  account_id: string,
  { domain_id, audience_id }: { domain_id: string; audience_id?: string },
  position: Position,
): Promise<Page<Contact>> {
  if (!(await isCursorKnown(db, account_id, position))) return emptyPage()
  const from = audience_id
    ? sql.fragment`SELECT contact_id AS id FROM audience_members WHERE account_id = ${account_id} AND audience_id = ${audience_id}`
    : sql.fragment`SELECT id FROM contacts WHERE account_id = ${account_id} AND domain_id = ${domain_id}`
  return readHeavyPage(db, position, {
    type: Contact,
    ids: (where, order, limit) =>
      sql.fragment`SELECT id FROM (${from}) listed WHERE ${where} ORDER BY ${order} LIMIT ${limit}`,
    row: rowOf(account_id),
    name: audience_id ? 'list_audience' : 'list_contacts',
  })
}

function rowOf(account_id: string) {
  return (id: FragmentSqlToken) =>
    sql.fragment`SELECT ${contactColumns} FROM contacts c WHERE c.account_id = ${account_id} AND c.id = ${id}`
}

/**
 * Returns a page of contacts that were already found: at most one more than its limit, in the order of its direction.
 */
export async function listContactsById(
  db: Queryable,
  account_id: string,
  position: Position,
  ids: string[],
): Promise<Page<Contact>> {
  return readHeavyPage(db, position, {
    type: Contact,
    ids: () =>
      sql.fragment`SELECT g.id FROM unnest(${sql.array(ids, 'uuid')}) WITH ORDINALITY AS g (id, n) ORDER BY g.n`,
    row: rowOf(account_id),
    name: 'list_found_contacts',
  })
}
