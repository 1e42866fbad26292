import { isIP } from 'node:net'
import { hostOf } from '#lib/net/fetch/policy.ts'

/** Tells whether mail clients and recipients anywhere can open links that begin with a URL, by TLS. */
export function isPublicHttps(url: string): boolean {
  const { protocol } = new URL(url)
  const host = hostOf(new URL(url))
  return protocol === 'https:' && isIP(host) === 0 && host.includes('.') && !host.endsWith('.localhost')
}
