import { Readable } from 'node:stream'
import { sendFile } from '#api/bodies/download.ts'
import type { PresentedDomain } from '#flows/domains/find_domain.ts'
import type { ListedDomain } from '#sql/domains/columns.ts'
import { html } from '#web/html.ts'
import { button, confirmButton, form } from '#web/layout/form.ts'
import { curl, table } from '#web/layout/list.ts'
import { listPage } from '#web/layout/list_page.ts'
import { badge, copyable, facts, section, time, unicodeDomain } from '#web/layout/parts.ts'
import { idOf, recordPage } from '#web/layout/record_page.ts'
import { action, file, type Room } from '#web/request/visit.ts'
import type { Wire } from '#web/request/wire.ts'
import { senderAction, senderHtml } from './sender.ts'

type Found = Wire<PresentedDomain>
type DnsRecord = Found['records'][number]
type Zone = { filename: string; content_type: string; content: string }

const domains = listPage<Wire<ListedDomain>>({
  ...{ path: '/domains', title: 'Domains', operation: 'listDomains' },
  columns: [
    { title: 'Name', cell: ({ name }) => unicodeDomain(name) },
    { title: 'Status', cell: ({ status }) => badge(status) },
    { title: 'Sending', cell: ({ capabilities }) => capabilities.sending },
    { title: 'Receiving', cell: ({ capabilities }) => capabilities.receiving },
    { title: 'Verified', cell: ({ verified_at }) => time(verified_at) },
  ],
  empty: visit => ['No domains yet. Add one:', curl(visit, 'POST', '/domains', { name: 'acme.com' })],
  below: visit =>
    section(
      'Add a domain',
      form(visit, {
        ...{ action: '/domains', submit: 'Add domain' },
        fields: [{ name: 'name', label: 'Name', required: true, placeholder: 'acme.com' }],
      }),
    ),
})

const domain = recordPage<Found>('/domains/:id', 'getDomain', (found, visit) => {
  const { id, name, status, capabilities, open_tracking, click_tracking } = found
  return {
    title: unicodeDomain(name),
    actions: button(visit, `/domains/${id}/verify`, 'Verify now'),
    body: html`${facts([
      ['Status', badge(status)],
      ['Verified', time(found.verified_at)],
      [
        'Tracking',
        open_tracking || click_tracking ? `opens ${onOff(open_tracking)}, clicks ${onOff(click_tracking)}` : 'off',
      ],
      ['TLS', found.tls],
      ['Postal address', found.postal_address],
    ])}
${section('DNS records', recordsOf(found))}
<p><a class="button" href="/domains/${id}/zone" download>Download zone file</a></p>
${section(
  'Settings',
  form(visit, {
    ...{ action: `/domains/${id}`, submit: 'Save' },
    fields: [
      { name: 'sending', label: 'Send from this domain', type: 'checkbox', value: capabilities.sending === 'enabled' },
      {
        name: 'receiving',
        label: 'Receive email at this domain',
        type: 'checkbox',
        value: capabilities.receiving === 'enabled',
      },
      { name: 'open_tracking', label: 'Track opens', type: 'checkbox', value: open_tracking },
      { name: 'click_tracking', label: 'Track clicks', type: 'checkbox', value: click_tracking },
      { name: 'tls', label: 'Never send without TLS', type: 'checkbox', value: found.tls === 'enforced' },
    ],
  }),
)}
${senderHtml(visit, found)}
${button(visit, `/domains/${id}/rotate`, 'Rotate DKIM keys')}
${confirmButton(visit, `/domains/${id}/delete`, 'Delete', 'You will no longer be able to send or receive email with this domain.')}`,
  }
})

const onOff = (isOn: boolean) => (isOn ? 'on' : 'off')

function recordsOf({ name, records }: Found) {
  return table({
    caption: `DNS records of ${unicodeDomain(name)}`,
    rows: records,
    columns: [
      { title: 'Record', cell: ({ record }: DnsRecord) => record },
      { title: 'Status', cell: ({ status }: DnsRecord) => badge(status) },
      { title: 'Type', cell: ({ type }: DnsRecord) => type },
      { title: 'Name', cell: (one: DnsRecord) => copyable(one.name, 'the name') },
      {
        title: 'Value',
        cell: ({ priority, value }: DnsRecord) => copyable(`${priority ?? ''} ${value}`.trim(), 'the value'),
      },
      { title: 'Problem', cell: ({ problem }: DnsRecord) => problem ?? '' },
    ],
    empty: html`<p>This domain needs no records.</p>`,
  })
}

/** The DNS records as a zone file. The operation of the API returns its text in JSON. */
const zone = file('/domains/:id/zone', async visit => {
  const { filename, content_type, content } = await visit.call<Zone>('exportDnsRecords', { params: idOf(visit) })
  const bytes = Buffer.from(content)
  sendFile(visit.ctx, { filename, content_type, size: bytes.length }, Readable.from([bytes]))
})

export const domainRoom: Room = {
  pages: [domains, domain],
  files: [zone],
  actions: [
    action('/domains', domains, async (visit, form) => {
      const { id } = await visit.call<Found>('createDomain', { body: { name: form.text('name') } })
      return { to: `/domains/${id}`, notice: 'Domain added. Publish its DNS records, then verify it.' }
    }),
    action('/domains/:id', domain, async (visit, form) => {
      const capability = (name: string) => (form.has(name) ? 'enabled' : 'disabled')
      const capabilities = { sending: capability('sending'), receiving: capability('receiving') }
      const tls = form.has('tls') ? 'enforced' : 'opportunistic'
      const tracking = { open_tracking: form.has('open_tracking'), click_tracking: form.has('click_tracking') }
      await visit.call('updateDomain', { params: idOf(visit), body: { capabilities, ...tracking, tls } })
      return { to: `/domains/${idOf(visit).id}`, notice: 'Domain updated.' }
    }),
    senderAction(domain),
    action('/domains/:id/verify', domain, async visit => {
      await visit.call('verifyDomain', { params: idOf(visit) })
      return { to: `/domains/${idOf(visit).id}`, notice: 'Checking the DNS records. Reload this page in a moment.' }
    }),
    action('/domains/:id/rotate', domain, async visit => {
      await visit.call('rotateDkimKeys', { params: idOf(visit) })
      return {
        to: `/domains/${idOf(visit).id}`,
        notice: 'New DKIM keys created. They are used once their DNS records are found.',
      }
    }),
    action('/domains/:id/delete', domain, async visit => {
      await visit.call('deleteDomain', { params: idOf(visit) })
      return { to: '/domains', notice: 'Domain deleted.' }
    }),
  ],
}
