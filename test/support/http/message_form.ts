/** Messages of zod, and of a former style. */
const FOREIGN = /Invalid (?:input|body|`)|expected .+, received|Too (?:small|big)|Unrecognized key|undefined/

/** The beginnings of messages that quote a DNS provider. */
const PROVIDER = /^(?:Cloudflare|GoDaddy|Namecheap): /

/** Returns whether an error message is a sentence with a period, or says which resource was not found. */
export function isPlainMessage(message: string): boolean {
  const text = message.replace(/^emails\[\d+\]: /, '')
  if (PROVIDER.test(text) || /^[A-Z][a-z ]+ not found$/.test(text)) return true
  return /^[A-Z`"].*\.$/s.test(text) && !FOREIGN.test(text)
}
