/**
 * Links that differ for each recipient of an email, as placeholders name them (contract 8.1). `poll_url` is that of an option
 * of its poll up to the key of the option, for mail with a poll.
 */
export type PersonalLinks = { unsubscribe_url: string; poll_url?: string }

/** A variable of this name may have another value, given by the sender. */
const OPEN_KEY = 'unsubscribe_url'
const RESERVED_KEYS = ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL']
/** The name of an option's key follows; no variable can have such a name. */
export const POLL_URL = 'poll_url:'

/** Characters that a link has at most: a token of 442 for the longest address (unsubscribe_token.ts) behind a BASE_URL. */
const MAX_LINK = 1_000

/** A link of the greatest length: parts that fit with it fit with the link of any recipient. */
export const LONGEST_LINKS = {
  unsubscribe_url: 'https://'.padEnd(MAX_LINK, 'x'),
  poll_url: 'https://p'.padEnd(MAX_LINK, 'x'),
} satisfies PersonalLinks

/** The same of mail that has no poll, whatever its placeholders are named. */
export const LONGEST_WITHOUT_POLL: PersonalLinks = { unsubscribe_url: LONGEST_LINKS.unsubscribe_url }

/** Returns the link that a key stands for; undefined: it stands for none. */
export function personalLink(key: string, { unsubscribe_url, poll_url }: PersonalLinks): string | undefined {
  if (key === OPEN_KEY || RESERVED_KEYS.includes(key)) return unsubscribe_url
  return key.startsWith(POLL_URL) && poll_url !== undefined ? poll_url + key.slice(POLL_URL.length) : undefined
}

/** Tells whether a key always stands for a link of ours, which needs no escaping in html. */
export function isReservedLink(key: string): boolean {
  return RESERVED_KEYS.includes(key) || key.startsWith(POLL_URL)
}

/** No name of a personal link is longer. */
export const MAX_LINK_KEY = 'RESEND_UNSUBSCRIBE_URL'.length

/** Tells whether a source, or its bytes, has the name of a personal link, most likely in a placeholder. */
export function mentionsLink(source: { includes(text: string): boolean }): boolean {
  return source.includes(OPEN_KEY) || source.includes('UNSUBSCRIBE_URL') || source.includes(POLL_URL)
}
