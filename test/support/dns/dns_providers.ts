import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import { unquoteText } from '#lib/domains/export/quote.ts'
import { ALLOWED, startServer } from '#test/support/http/fetching.ts'

/** A record as a provider stores it: `name` is the full name, `value` is as written. */
export type Kept = { id: string; type: string; name: string; value: string; priority?: number }

export type Provider = {
  /** The value for CLOUDFLARE_API and the like. */
  url: string
  records: Kept[]
  /** The requests that changed something. */
  writes: string[]
  /** The response to the next requests that change something. */
  refuse: { status: number; body: string } | null
  /** The email type of Namecheap. */
  email_type: string
}

type Answer = { status?: number; body?: unknown }
type Handle = (provider: Provider, request: { method: string; url: URL; body: string; key: string }) => Answer

async function start(t: Test, path: string, zone: Omit<Kept, 'id'>[], handle: Handle): Promise<Provider> {
  const records = zone.map((record, i) => ({ id: `kept${i}`, ...record }))
  const provider: Provider = { url: '', records, writes: [], refuse: null, email_type: 'NONE' }
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const url = new URL(request.url as string, provider.url)
    const { method = '', headers } = request
    const { status = 200, body = '' } = handle(provider, {
      ...{ method, url, body: await text(request) },
      key: headers.authorization ?? '',
    })
    response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body))
  }
  const port = await startServer(t, (request, response) => void serve(request, response))
  provider.url = `http://${ALLOWED}:${port}${path}`
  return provider
}

/** The response that the test has set; otherwise records the write and returns null. */
function refusalOf(provider: Provider, what: string): Answer | null {
  const { refuse } = provider
  if (!refuse) provider.writes.push(what)
  return refuse
}

export const CLOUDFLARE_TOKEN = 'cfcanary7261xTOKEN/+abc'

/** Behaves like https://developers.cloudflare.com/api: texts are returned in quotes, and duplicates are refused. */
export const startCloudflare = (t: Test, zone_name: string, zone: Omit<Kept, 'id'>[] = []) =>
  start(t, '/client/v4', zone, (provider, { method, url, body, key }) => {
    const fail = (status: number, code: number, message: string) => ({
      status,
      body: { success: false, errors: [{ code, message }], messages: [], result: null },
    })
    const good = (result: unknown) => ({ body: { success: true, errors: [], messages: [], result } })
    const shown = ({ value, ...record }: Kept) => ({ ...record, content: value, ttl: 1, proxied: false })
    if (key !== `Bearer ${CLOUDFLARE_TOKEN}`) return fail(403, 9109, `Invalid access token ${key.slice(7)}`)
    const path = url.pathname.replace('/client/v4', '')
    if (path === '/zones') return good(url.searchParams.get('name') === zone_name ? [{ id: 'zone1' }] : [])
    const [, id] = /^\/zones\/zone1\/dns_records(?:\/(\w+))?$/.exec(path) ?? []
    if (method === 'GET') return good(provider.records.filter(r => r.name === url.searchParams.get('name')).map(shown))

    const given = JSON.parse(body)
    const refusal = refusalOf(provider, `${method} ${given.type ?? ''} ${given.name ?? id}`)
    if (refusal) return refusal
    const before = provider.records.find(record => record.id === id)
    if (before) return good(shown(Object.assign(before, { value: given.content })))
    const { type, name, content: value, priority } = given
    if (provider.records.some(r => r.type === type && r.name === name && r.value === value)) {
      return fail(400, 81058, 'An identical record already exists.')
    }
    const record = { id: `new${provider.records.length}`, type, name, value, priority }
    provider.records.push(record)
    return good(shown(record))
  })

export const GODADDY = { key: 'gdcanary7261xKEY', secret: 'gdcanary7261xSECRET' }

/** Behaves like https://developer.godaddy.com/doc: PATCH adds, PUT replaces, both respond without a body. */
export const startGodaddy = (t: Test, zone_name: string, zone: Omit<Kept, 'id'>[] = []) =>
  start(t, '/v1', zone, (provider, { method, url, body, key }) => {
    const whole = (host: string) => (host === '@' ? zone_name : `${host}.${zone_name}`)
    if (key !== `sso-key ${GODADDY.key}:${GODADDY.secret}`) {
      return { status: 401, body: { code: 'UNABLE_TO_AUTHENTICATE', message: `Could not authenticate ${key}` } }
    }
    const path = decodeURIComponent(url.pathname)
    const [, domain, type = '', host = ''] = /^\/v1\/domains\/([^/]+)\/records(?:\/(\w+)\/(.+))?$/.exec(path) ?? []
    if (domain !== zone_name) {
      return { status: 404, body: { code: 'UNKNOWN_DOMAIN', message: 'The given domain is not registered' } }
    }
    const isAsked = (record: Kept) => record.type === type && record.name === whole(host)
    if (method === 'GET') {
      const found = provider.records.filter(isAsked)
      return {
        body: found.map(({ id: _, value, name: __, ...rest }) => ({ ...rest, name: host, data: value, ttl: 600 })),
      }
    }
    const given = JSON.parse(body)
    const refusal = refusalOf(provider, `${method} ${type || given[0].type} ${host || given[0].name}`)
    if (refusal) return refusal
    const kept = given.map(({ data, name = host, ...rest }: Record<string, string>) => ({
      ...{ id: `new${provider.records.length}`, type, name: whole(name), value: data },
      ...rest,
    }))
    if (method === 'PUT') provider.records = provider.records.filter(record => !isAsked(record))
    provider.records.push(...kept)
    return {}
  })

export const NAMECHEAP = { apiKey: 'nccanary7261xKEY', apiUser: 'nccanary7261xUSER' }

/** Behaves like https://www.namecheap.com/support/api: setHosts replaces all records with the given ones. */
export const startNamecheap = (t: Test, zone_name: string, zone: Omit<Kept, 'id'>[] = []) =>
  start(t, '/xml.response', zone, (provider, { method, url, body }) => {
    const given = new URLSearchParams(body)
    const command = given.get('Command') ?? ''
    const answer = (status: string, inner: string) => ({
      body: `<?xml version="1.0" encoding="utf-8"?>
<ApiResponse Status="${status}" xmlns="http://api.namecheap.com/xml.response">
  <Warnings />
  <RequestedCommand>${command}</RequestedCommand>
  ${inner}
  <Server>PHX01</Server>
</ApiResponse>`,
    })
    const fail = (number: string, message: string) =>
      answer('ERROR', `<Errors><Error Number="${number}">${escapeXml(message)}</Error></Errors>`)
    const good = (inner: string) =>
      answer('OK', `<Errors />\n  <CommandResponse Type="${command}">\n    ${inner}\n  </CommandResponse>`)
    if (method !== 'POST' || url.search) return fail('1', 'a key in a URL is a key in a log')
    if (given.get('ApiKey') !== NAMECHEAP.apiKey) return fail('1011102', `API Key ${given.get('ApiKey')} is invalid`)
    if (given.get('ClientIp') !== '192.0.2.7') return fail('1011150', 'Invalid request IP: 192.0.2.7')
    const [sld, ...tld] = zone_name.split('.')
    if (given.get('SLD') !== sld || given.get('TLD') !== tld.join('.')) return fail('2019166', 'Domain not found')
    if (command.endsWith('getHosts')) {
      const hosts = provider.records.map(
        ({ id, type, name, value, priority = 10 }) =>
          `<host HostId="${id}" Name="${hostOf(zone_name, name)}" Type="${type}" Address="${escapeXml(value)}"
          MXPref="${priority}" TTL="1799" AssociatedAppTitle="" FriendlyName="" IsActive="true" IsDDNSEnabled="false" />`,
      )
      return good(
        `<DomainDNSGetHostsResult Domain="${zone_name}" EmailType="${provider.email_type}" IsUsingOurDNS="true">
        ${hosts.join('\n')}</DomainDNSGetHostsResult>`,
      )
    }
    const refusal = refusalOf(provider, command)
    if (refusal) return refusal
    const field = (name: string, i: number) => given.get(`${name}${i}`) as string
    provider.records = []
    for (let i = 1; given.has(`HostName${i}`); i++) {
      const name = field('HostName', i) === '@' ? zone_name : `${field('HostName', i)}.${zone_name}`
      const record = { id: `set${i}`, type: field('RecordType', i), name, value: field('Address', i) }
      const is_mx = record.type === 'MX'
      if (is_mx && given.get('EmailType') !== 'MX') return fail('2050900', 'MX records need EmailType=MX')
      provider.records.push({ ...record, ...(is_mx ? { priority: Number(field('MXPref', i)) } : {}) })
    }
    provider.email_type = given.get('EmailType') ?? 'NONE'
    return good(
      `<DomainDNSSetHostsResult Domain="${zone_name}" IsSuccess="true"><Warnings /></DomainDNSSetHostsResult>`,
    )
  })

/** The records of a zone as sorted lines: `TXT send.b.co v=spf1 …`. */
export function linesOf({ records }: Provider): string[] {
  return records
    .map(({ type, name, value, priority }) =>
      [type, name, ...(type === 'MX' ? [priority] : []), unquoteText(value).replace(/\.$/, '')].join(' '),
    )
    .sort()
}

function hostOf(zone: string, name: string): string {
  return name === zone ? '@' : name.slice(0, -zone.length - 1)
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"]/g, character => `&#${character.charCodeAt(0)};`)
}
