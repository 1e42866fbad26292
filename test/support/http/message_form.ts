/** Words of zod, and of a style of messages that is gone. */
const FOREIGN = /Invalid (?:input|body|`)|expected .+, received|Too (?:small|big)|Unrecognized key|undefined/

/** Their words follow, as they gave them. */
const PROVIDER = /^(?:Cloudflare|GoDaddy|Namecheap): /

/** Tells whether an error message is a sentence with a period at its end, or says which resource was not found. */
export function isPlainMessage(message: string): boolean {
  const text = message.replace(/^emails\[\d+\]: /, '')
  if (PROVIDER.test(text) || /^[A-Z][a-z ]+ not found$/.test(text)) return true
  return /^[A-Z`"].*\.$/s.test(text) && !FOREIGN.test(text)
}
