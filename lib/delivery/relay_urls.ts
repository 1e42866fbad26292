import type { TransportOptions } from './transport.ts'

/** The operator's settings, named as in the environment. */
type Settings = { MAIL_TRANSPORT: string; RELAY_URL?: string | undefined }

type Kind = NonNullable<TransportOptions['transport']>

/** Splits a list at each comma that a URL follows. Other commas belong to a password. */
export function splitUrls(text: string): string[] {
  return text.split(/\s*,\s*(?=smtps?:)/)
}

/** Returns the transport of domains that have not chosen one. */
export function defaultTransport({ MAIL_TRANSPORT }: Pick<Settings, 'MAIL_TRANSPORT'>): Kind {
  return MAIL_TRANSPORT === 'capture' || MAIL_TRANSPORT === 'direct' ? MAIL_TRANSPORT : 'relay'
}

/** Returns the URLs of the relays in the order in which they are tried; an empty list if there is none. */
export function relayUrls({ MAIL_TRANSPORT, RELAY_URL }: Settings): string[] {
  const isListed = !['capture', 'direct', 'relay'].includes(MAIL_TRANSPORT)
  const list = isListed ? MAIL_TRANSPORT : RELAY_URL
  return list === undefined ? [] : splitUrls(list)
}
