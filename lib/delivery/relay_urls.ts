import type { Wishes } from './transport.ts'

/** The operator's settings, named as in the environment. */
type Settings = { MAIL_TRANSPORT: string; RELAY_URL?: string | undefined }

type Kind = NonNullable<Wishes['transport']>

/** Splits a list at its commas. A comma within a password is not one of them: no URL begins after it. */
export function splitUrls(text: string): string[] {
  return text.split(/\s*,\s*(?=smtps?:)/)
}

/** The transport of domains that have not chosen one. */
export function defaultTransport({ MAIL_TRANSPORT }: Pick<Settings, 'MAIL_TRANSPORT'>): Kind {
  return MAIL_TRANSPORT === 'capture' || MAIL_TRANSPORT === 'direct' ? MAIL_TRANSPORT : 'relay'
}

/** The relays, in the order they are tried; none when there is no relay. */
export function relayUrls({ MAIL_TRANSPORT, RELAY_URL }: Settings): string[] {
  const isListed = !['capture', 'direct', 'relay'].includes(MAIL_TRANSPORT)
  const list = isListed ? MAIL_TRANSPORT : RELAY_URL
  return list === undefined ? [] : splitUrls(list)
}
