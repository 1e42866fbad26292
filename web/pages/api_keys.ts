import { uuid } from '#api/operations/ids.ts'
import { type ApiKey, findApiKey } from '#sql/accounts/api_keys.ts'
import { html } from '#web/html.ts'
import { type Field, withValue } from '#web/layout/field.ts'
import { confirmButton, form, shownValue } from '#web/layout/form.ts'
import { curl, empty, type List, listQuery, pager, table } from '#web/layout/list.ts'
import { badge, copyable, facts, preformatted, section, time, unicodeDomain } from '#web/layout/parts.ts'
import type { Form } from '#web/request/form.ts'
import { action, page, type Room, type Visit } from '#web/request/visit.ts'
import { type Wire, wire } from '#web/request/wire.ts'
import { findDomains, nameOfDomain } from './domains/own_domains.ts'

type Key = Wire<ApiKey>

const PERMISSIONS = [
  ['full_access', 'Full access, except to API keys and members'],
  ['sending_access', 'Sending access'],
] as const

const apiKeys = page('/api-keys', async visit => {
  const list = await visit.call<List<Key>>('listApiKeys', { query: listQuery(visit) })
  const domains = await findDomains(visit)
  const columns = [
    { title: 'Name', cell: ({ name }: Key) => name },
    { title: 'Key', cell: ({ prefix }: Key) => html`<code>${prefix}…</code>` },
    { title: 'Permission', cell: ({ permission }: Key) => permission.replace('_', ' ') },
    { title: 'Domain', cell: ({ domain_id }: Key) => unicodeDomain(nameOfDomain(domains, domain_id) ?? 'all domains') },
    { title: 'Last used', cell: ({ last_used_at }: Key) => time(last_used_at) },
    { title: 'Expires', cell: ({ expires_at }: Key) => expiry(expires_at) },
  ]
  return {
    title: 'API keys',
    body: html`${table({
      ...{ caption: 'API keys, newest first', columns, rows: list.data, link: ({ id }: Key) => `/api-keys/${id}` },
      empty: empty('No API keys yet. Create one, then use it in a request:', curl(visit, 'GET', '/emails')),
    })}
${pager(visit, list)}
${section('Create an API key', form(visit, { action: '/api-keys', submit: 'Create key', isSecret: true, fields: await fieldsOf(visit) }))}`,
  }
})

function expiry(expires_at: string | null) {
  if (expires_at && new Date(expires_at) < new Date()) return badge('expired')
  return time(expires_at, 'never')
}

const apiKey = page('/api-keys/:id', async visit => {
  const id = uuid(visit.params.id ?? '')
  const key = id && wire(await findApiKey(visit.ctx.pool, visit.session.account_id, id))
  if (!key) return { title: 'Not found', status: 404, body: html`<p>This API key does not exist or was revoked.</p>` }
  const { name, prefix, created_at, last_used_at } = key
  return {
    title: name,
    body: html`${facts([
      ['Key', html`<code>${prefix}…</code>`],
      ['Created', time(created_at)],
      ['Last used', time(last_used_at)],
      ['Expires', expiry(key.expires_at)],
    ])}
${section('Edit', form(visit, { action: `/api-keys/${id}`, submit: 'Save', fields: await fieldsOf(visit, key), extra: shownValue(visit, 'shown_expires_at', dayOf(key)) }))}
${confirmButton(visit, `/api-keys/${id}/revoke`, 'Revoke', 'Requests with this key will be rejected within 5 seconds. This cannot be undone.')}`,
  }
})

async function fieldsOf(visit: Visit, key?: Key): Promise<Field[]> {
  const domains = (await findDomains(visit)).map(({ id, name }) => [id, unicodeDomain(name)] as const)
  return [
    { name: 'name', label: 'Name', required: true, value: key?.name },
    { name: 'permission', label: 'Permission', type: 'select', options: PERMISSIONS, value: key?.permission },
    {
      ...{ name: 'domain_id', label: 'Domain', type: 'select', value: key?.domain_id },
      ...{
        options: [['', 'All domains'], ...withValue(domains, key?.domain_id)],
        hint: 'With sending access, the key can be restricted to one domain.',
      },
    },
    {
      ...{ name: 'default_domain_id', label: 'Default domain', type: 'select', value: key?.default_domain_id },
      ...{
        options: [['', 'None'], ...withValue(domains, key?.default_domain_id)],
        hint: 'Used for requests that need a domain but do not name one.',
      },
    },
    {
      ...{ name: 'expires_at', label: 'Expires on', type: 'date', value: key ? dayOf(key) : '' },
      hint: 'At midnight UTC. Leave empty for a key that never expires.',
    },
  ]
}

function dayOf({ expires_at }: Key): string {
  return expires_at?.slice(0, 10) ?? ''
}

/** Reads a change. An unchanged day is left out: the key may expire at any time of that day. */
function readChange(form: Form) {
  const { expires_at, ...fields } = readKey(form)
  return form.text('expires_at') === form.text('shown_expires_at') ? fields : { ...fields, expires_at }
}

function readKey(form: Form) {
  return {
    ...{ name: form.text('name'), permission: form.text('permission'), domain_id: form.textOrNull('domain_id') },
    ...{ default_domain_id: form.textOrNull('default_domain_id'), expires_at: form.textOrNull('expires_at') },
  }
}

export const apiKeyRoom: Room = {
  pages: [apiKeys, apiKey],
  actions: [
    action('/api-keys', apiKeys, async (visit, form) => {
      const { token } = await visit.call<{ token: string }>('createApiKey', { body: readKey(form) })
      const command = curl(visit, 'GET', '/emails').replace('mb_...', token)
      return {
        title: 'Your new API key',
        body: html`<p>Copy it now. It will not be shown again.</p><p>${copyable(token, 'the key')}</p>
${preformatted(command, 'Example request with this key')}<p><a href="/api-keys">Back to API keys</a></p>`,
      }
    }),
    action('/api-keys/:id', apiKey, async (visit, form) => {
      await visit.call('updateApiKey', { params: { id: visit.params.id as string }, body: readChange(form) })
      return { to: '/api-keys', notice: 'API key updated.' }
    }),
    action('/api-keys/:id/revoke', apiKey, async visit => {
      await visit.call('deleteApiKey', { params: { id: visit.params.id as string } })
      return { to: '/api-keys', notice: 'API key revoked.' }
    }),
  ],
}
