import { isIP } from 'node:net'
import { z } from 'zod'
import { splitUrls } from '#lib/delivery/relay_urls.ts'
import { parseS3Url } from '#lib/files/s3_url.ts'
import { parseNetworks } from '#lib/net/client_address.ts'

export const port = z.coerce.number().int().min(1).max(65535)
export const listenPort = z.coerce.number().int().min(0).max(65535)
export const domain = z
  .string()
  .toLowerCase()
  .regex(/^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z][a-z0-9-]*$/, 'must be a domain name such as mail.acme.com')
/** A name for EHLO, or an address in brackets (RFC 5321 section 4.1.3). Names of hosts on a local network have fewer rules. */
export const hostName = z
  .string()
  .regex(/^(?:[\w-]+(?:\.[\w-]+)*|\[[\w:.]+\])$/, 'must be a host name such as mail.acme.com')
export const count = z.coerce.number().int().min(0)
export const percent = z.coerce.number().min(0).max(100)

const anyHttpUrl = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' })
const withoutSlashes = (url: string) => url.replace(/(?<!\/)\/+$/, '')
export const httpUrl = anyHttpUrl.transform(withoutSlashes)
/** A URL that paths are appended to. */
export const baseUrl = anyHttpUrl
  .refine(url => !/[?#@]/.test(url), 'must have no query, no fragment and no user')
  .transform(withoutSlashes)
// pg would look up a list of hosts, as libpq takes it, as one name.
export const databaseUrl = z.url({
  protocol: /^postgres(ql)?$/,
  hostname: /^[^,]*$/,
  error: 'must be a postgres:// URL of one host, with special characters of the password percent-encoded',
})
// Rejects a comma in the host name: it would come from a list in which a scheme is missing.
const relayUrl = z.url({ protocol: /^smtps?$/, hostname: /^[\w.:%\-[\]]+$/ })
const isRelays = (text: string) => splitUrls(text).every(url => relayUrl.safeParse(url).success)
const SWITCHES = ['requireTLS', 'ignoreTLS', 'tls.rejectUnauthorized']
/** Returns false for an option that is misspelled, such as requireTls=true, or would have another effect, such as ignoreTLS=no. */
const hasValidOptions = (text: string) =>
  !isRelays(text) ||
  splitUrls(text).every(url =>
    Array.from(new URL(url).searchParams).every(([name, value]) =>
      SWITCHES.includes(name) ? /^(?:true|false|[01])$/.test(value) : name.startsWith('tls.'),
    ),
  )
const OPTIONS =
  'may have the options requireTLS, ignoreTLS and tls.rejectUnauthorized, each true or false, and tls.servername'
export const relays = z
  .string()
  .refine(isRelays, 'must be smtp://user:pass@host:port or smtps://user:pass@host:port, several separated by commas')
  .refine(hasValidOptions, OPTIONS)
export const transport = z
  .string()
  .refine(
    value => ['capture', 'direct', 'relay'].includes(value) || isRelays(value),
    'must be capture, direct, relay, smtp://user:pass@host:port or smtps://user:pass@host:port',
  )
  .refine(hasValidOptions, OPTIONS)

export const networks = parsed(parseNetworks)

export const ports = parsed(text =>
  text.split(',').map(part => {
    const { success, data } = port.safeParse(part.trim() || undefined)
    if (!success) throw new RangeError(`"${part}" is not a port`)
    return data
  }),
)

export const servers = parsed(text =>
  text.split(',').map(part => {
    const server = part.trim()
    // The format of node:dns: [::1]:53 for an IPv6 address with a port.
    const [, bracketed, v4, number] = /^(?:\[([^\]]+)\]|([^:]+))(?::(\d+))?$/.exec(server) ?? []
    if (!isIP(bracketed ?? v4 ?? server) || (number && !port.safeParse(number).success))
      throw new RangeError(`"${part}" is not an address such as 9.9.9.9 or 127.0.0.1:5353`)
    return server
  }),
)

export const blobStore = parsed(text => {
  if (text === 'postgres') return text
  if (!text.startsWith('s3:')) throw new RangeError('must be postgres or s3://ACCESS_KEY:SECRET@bucket/prefix')
  parseS3Url(text)
  return text
})

export const clamd = parsed((text): { path: string } | { host: string; port: number } => {
  const [, path] = /^unix:(\/.+)$/.exec(text) ?? []
  if (path) return { path }
  const [, bracketed, plain, number] = /^tcp:(?:\[([0-9a-f:.]+)\]|([\w.-]+)):(\d+)$/i.exec(text) ?? []
  const host = bracketed ?? plain
  const { success, data } = port.safeParse(number)
  if (!host || !success) throw new RangeError('must be unix:/path/to/clamd.ctl or tcp:host:port')
  return { host, port: data }
})

/** Text that is parsed by a function, whose RangeError becomes the issue. */
function parsed<Value>(read: (text: string) => Value) {
  return z.string().transform((text, context) => {
    try {
      return read(text)
    } catch (error) {
      if (!(error instanceof RangeError)) throw error
      context.addIssue(error.message)
      return z.NEVER
    }
  })
}
