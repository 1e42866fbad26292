// RFC 2606 2 and 3, RFC 6761 6.2-6.5: nobody can own a mailbox there, so mail to them only harms the sender's name.
const NAMES = ['example.com', 'example.net', 'example.org', 'test', 'invalid', 'localhost', 'example']
const RESERVED = new RegExp(`(?:^|\\.)(?:${NAMES.join('|').replaceAll('.', '\\.')})$`, 'i')

/** The same for a pattern of Postgres. */
export const RESERVED_PATTERN = RESERVED.source

/** Patterns of LIKE: all of them, in lower case, fit one. They take a tenth of the time. */
export const RESERVED_ENDINGS = NAMES.map(name => `%${name}`)

/** Whether an ASCII domain is example.com, example.net, example.org, .test, .invalid, .localhost, .example or below one. */
export function isReservedDomain(domain: string): boolean {
  return RESERVED.test(domain)
}
