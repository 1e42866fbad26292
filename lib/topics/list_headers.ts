/** Source of the headers of mail to a list: `id` of the topic, `domain` it is from, and where to unsubscribe. */
type ListMail = { id: string; domain: string; https: string; mailto: string | null }

/**
 * Returns the headers of mail to one recipient of a list: List-Id (RFC 2919) and List-Unsubscribe (RFC 2369), with
 * List-Unsubscribe-Post (RFC 8058), which needs a URI of https.
 */
export function listHeaders({ id, domain, https, mailto }: ListMail): Record<string, string> {
  const uris = [https, ...(mailto === null ? [] : [mailto])]
  const isOneClick = https.startsWith('https:')
  return {
    'List-Id': `<${id}.${domain}>`,
    'List-Unsubscribe': uris.map(uri => `<${uri}>`).join(', '),
    ...(isOneClick && { 'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click' }),
  }
}

/** Tells whether a message has a way to unsubscribe of its own, beside which ours must not stand. */
export function hasUnsubscribeHeader(headers: Record<string, string>): boolean {
  return Object.keys(headers).some(name => name.toLowerCase() === 'list-unsubscribe')
}
