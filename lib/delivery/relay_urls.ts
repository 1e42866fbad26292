import type { Config } from '#lib/config.ts'
import type { Wishes } from './transport.ts'

type Kind = NonNullable<Wishes['transport']>

/** The URLs of a list, separated by commas. A comma of a password is none: no URL begins behind it. */
export function splitUrls(text: string): string[] {
  return text.split(/\s*,\s*(?=smtps?:)/)
}

/** How mail leaves of domains that ask for nothing else. */
export function defaultTransport({ MAIL_TRANSPORT }: Pick<Config, 'MAIL_TRANSPORT'>): Kind {
  return MAIL_TRANSPORT === 'capture' || MAIL_TRANSPORT === 'direct' ? MAIL_TRANSPORT : 'relay'
}

/** The relays, in the order they are tried; none when there is no relay. */
export function relayUrls({ MAIL_TRANSPORT, RELAY_URL }: Pick<Config, 'MAIL_TRANSPORT' | 'RELAY_URL'>): string[] {
  const isListed = !['capture', 'direct', 'relay'].includes(MAIL_TRANSPORT)
  const list = isListed ? MAIL_TRANSPORT : RELAY_URL
  return list === undefined ? [] : splitUrls(list)
}
