import type { Audience } from '#sql/contacts/audiences.ts'
import type { Contact } from '#sql/contacts/contacts.ts'
import type { ListedSegment } from '#sql/segments/segment_records.ts'
import { type Html, html } from '#web/html.ts'
import type { Field } from '#web/layout/field.ts'
import { filters, form } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, counted, linkButton, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { domainNames, findDomains, type OwnDomain } from '#web/pages/domains/own_domains.ts'
import { listAll, nullIfNotFound } from '#web/request/call_api.ts'
import { page, type Visit } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { fieldsOf } from './contact_fields.ts'

type Row = Wire<Contact>

const columns = [
  { title: 'Email', cell: ({ email }: Row) => unicodeDomain(email) },
  { title: 'Name', cell: ({ first_name, last_name }: Row) => [first_name, last_name].filter(Boolean).join(' ') },
  { title: 'Status', cell: ({ unsubscribed }: Row) => badge(unsubscribed ? 'unsubscribed' : 'subscribed') },
  { title: 'Created', cell: ({ created_at }: Row) => time(created_at) },
]

/** Number of other domains that an empty page links to. */
const OTHERS = 5

/** The contacts of a domain, by default of the one with the most contacts. */
export const contacts = page('/contacts', async visit => {
  const domains = await findDomains(visit)
  const chosen = domains.find(({ name }) => name === visit.query.domain)
  const shown = chosen ?? (await withMostContacts(visit, domains)) ?? domains[0]
  const segments = shown ? await segmentsOf(visit, shown) : []
  const list = shown ? await find(visit, shown, segments) : { has_more: false, data: [] }
  const domain = shown?.name ?? ''
  const options = domainNames(domains)
  const fields: Field[] = [
    { name: 'domain', label: 'Domain', type: 'select', options, value: domain },
    { name: 'segment_id', label: 'Segment', type: 'select', options: [['', 'all contacts'], ...segments] },
    { name: 'email', label: 'Find an address', type: 'search' },
  ]
  const body = { email: 'anna@acme.org', first_name: 'Anna', domain }
  const exportPath = `/api/contacts/export?${new URLSearchParams({ domain })}`
  return {
    title: 'Contacts',
    actions: html`${linkButton('/imports', 'Import')} ${shown ? html`<a class="button" href="${exportPath}" download>Export</a>` : ''}
<a href="/audiences">Audiences</a> <a href="/contact-properties">Properties</a>`,
    body: html`${filters(visit, '/contacts', fields)}
${chosen && list.data.length === 0 ? await otherDomains(visit, chosen) : ''}
${table({
  ...{
    caption: `Contacts of ${unicodeDomain(domain)}, newest first`,
    columns,
    rows: list.data,
    link: ({ id }: Row) => `/contacts/${id}`,
  },
  empty: empty('No contacts found. Add one:', curl(visit, 'POST', '/contacts', body)),
})}
${pager(visit, list)}
${section('Add a contact', form(visit, { action: '/contacts', submit: 'Add contact', fields: fieldsOf(options, domain) }))}`,
  }
})

async function withMostContacts(visit: Visit, domains: OwnDomain[]): Promise<OwnDomain | undefined> {
  if (domains.length < 2) return undefined
  const [most] = await countByDomain(visit)
  return domains.find(({ id }) => id === most?.domain_id)
}

/** Links to the domains with the most contacts, and keeps the address that was not found at this one. */
async function otherDomains(visit: Visit, { id }: OwnDomain): Promise<Html> {
  const others = (await countByDomain(visit)).filter(({ domain_id }) => domain_id !== id).slice(0, OTHERS)
  if (others.length === 0) return html``
  const { email } = visit.query
  const links = others.map(({ domain, contacts_count }) => {
    const query = new URLSearchParams({ domain, ...(email ? { email } : {}) })
    return html`<li><a href="/contacts?${query}">${unicodeDomain(domain)}</a>: ${counted(contacts_count, 'contact')}</li>`
  })
  return html`<p>Other domains have contacts:</p><ul>${links}</ul>`
}

/** Returns the domains that have contacts, as their default audiences, those with the most first. */
async function countByDomain(visit: Visit): Promise<Wire<Audience>[]> {
  const audiences = await listAll<Wire<Audience>>(visit.call, 'listAudiences')
  const ofDomains = audiences.filter(one => one.id === one.domain_id && one.contacts_count > 0)
  return ofDomains.toSorted((a, b) => b.contacts_count - a.contacts_count)
}

/** Returns the segments of a domain, as options of a select, without the one that all its contacts are in. */
async function segmentsOf(visit: Visit, { id }: OwnDomain): Promise<[string, string][]> {
  const rows = await listAll<Wire<ListedSegment>>(visit.call, 'listSegments')
  return rows.filter(one => one.audience_id === id && one.id !== id).map(one => [one.id, one.name])
}

/** Lists contacts, or finds the one with the address in the query. */
async function find(visit: Visit, { name: domain }: OwnDomain, segments: [string, string][]): Promise<List<Row>> {
  const { email, segment_id } = visit.query
  if (email) {
    const found = await nullIfNotFound(
      visit.call<Row>('getContact', { params: { id: email.trim() }, query: { domain } }),
    )
    return { has_more: false, data: found ? [found] : [] }
  }
  // A segment of the domain that was chosen before is left out.
  const isOwn = segments.some(([id]) => id === segment_id)
  const query = { ...listQuery(visit), domain, ...(segment_id && isOwn ? { segment_id } : {}) }
  return visit.call<List<Row>>('listContacts', { query })
}
