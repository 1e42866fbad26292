import { isIP } from 'node:net'
import { hostOf } from '#lib/net/fetch/policy.ts'

/** Tells whether a URL is a base for links that anyone can open: HTTPS with a public host name. */
export function isPublicHttps(url: string): boolean {
  const { protocol } = new URL(url)
  const host = hostOf(new URL(url))
  return protocol === 'https:' && isIP(host) === 0 && host.includes('.') && !host.endsWith('.localhost')
}
