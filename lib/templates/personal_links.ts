/**
 * Links that differ per recipient, by the names of their placeholders. `poll_url` is the beginning of the link of
 * a poll's option, before the option's key, for mail with a poll.
 */
export type PersonalLinks = { unsubscribe_url: string; poll_url?: string }

/** A variable of this name may have another value, which the sender gives. */
const OPEN_KEY = 'unsubscribe_url'
const RESERVED_KEYS = ['UNSUBSCRIBE_URL', 'RESEND_UNSUBSCRIBE_URL']
/** Followed by an option's key; no variable can have such a name. */
export const POLL_URL = 'poll_url:'

/** Maximum characters of a link: a BASE_URL and a token of 442 for the longest address (unsubscribe_token.ts). */
const MAX_LINK = 1_000

/** Links of the greatest length: parts that fit with these fit with the links of any recipient. */
export const LONGEST_LINKS = {
  unsubscribe_url: 'https://'.padEnd(MAX_LINK, 'x'),
  poll_url: 'https://p'.padEnd(MAX_LINK, 'x'),
} satisfies PersonalLinks

/** The same for mail without a poll, whatever its placeholders are named. */
export const LONGEST_WITHOUT_POLL: PersonalLinks = { unsubscribe_url: LONGEST_LINKS.unsubscribe_url }

/** Returns the link that a key stands for, or undefined. */
export function personalLink(key: string, { unsubscribe_url, poll_url }: PersonalLinks): string | undefined {
  if (key === OPEN_KEY || RESERVED_KEYS.includes(key)) return unsubscribe_url
  return key.startsWith(POLL_URL) && poll_url !== undefined ? poll_url + key.slice(POLL_URL.length) : undefined
}

/** Tells whether a key always stands for a link of ours, which html need not escape. */
export function isReservedLink(key: string): boolean {
  return RESERVED_KEYS.includes(key) || key.startsWith(POLL_URL)
}

const LINK_BRACE = new RegExp(String.raw`\{(?=\{\s*(?:${[OPEN_KEY, ...RESERVED_KEYS, POLL_URL].join('|')}))`, 'g')

/**
 * Changes the placeholders of personal links in a part that a stranger wrote, so that they are not replaced. Readers of HTML see
 * them as they were written; in text there is no way to write a brace but itself, so a space is put after it.
 */
export function withoutLinks(source: string, part: 'html' | 'text'): string {
  return source.replace(LINK_BRACE, part === 'html' ? '&#123;' : '{ ')
}

/** Length of the longest name of a personal link. */
export const MAX_LINK_KEY = 'RESEND_UNSUBSCRIBE_URL'.length

/** Tells whether a source, or its bytes, contains the name of a personal link, most likely in a placeholder. */
export function mentionsLink(source: { includes(text: string): boolean }): boolean {
  return source.includes(OPEN_KEY) || source.includes('UNSUBSCRIBE_URL') || source.includes(POLL_URL)
}
