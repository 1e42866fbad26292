/** Links that differ for each recipient of an email, as placeholders name them (contract 8.1). */
export type PersonalLinks = { unsubscribe_url: string }

/** Whoever sends may give a variable of this name another value. */
const OPEN_KEY = 'unsubscribe_url'
const RESERVED_KEYS = ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL']

/** A link that is as long as any, to measure parts with. */
export const LINK_SAMPLE: PersonalLinks = { unsubscribe_url: `https://${'x'.repeat(392)}` }

/** Returns the link that a key stands for; undefined: it stands for none. */
export function personalLink(key: string, { unsubscribe_url }: PersonalLinks): string | undefined {
  return key === OPEN_KEY || RESERVED_KEYS.includes(key) ? unsubscribe_url : undefined
}

/** Whether a key always stands for a link of ours, which needs no escaping in html. */
export function isReservedLink(key: string): boolean {
  return RESERVED_KEYS.includes(key)
}

/** No name of a personal link is longer. */
export const MAX_LINK_KEY = 'RESEND_UNSUBSCRIBE_URL'.length

/** Whether a source, or its bytes, has the name of a personal link, most likely in a placeholder. */
export function mentionsLink(source: { includes(text: string): boolean }): boolean {
  return source.includes(OPEN_KEY) || source.includes('UNSUBSCRIBE_URL')
}
