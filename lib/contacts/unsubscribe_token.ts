import { NIL } from 'uuid'
import { bytesOfId, ID_BYTES, idAt } from '#lib/ids.ts'
import { parseSignedLocal, writeSignedLocal } from '#lib/mail/return_path.ts'
import { PURPOSES, TAG_BYTES, type TokenKeys } from '#lib/token_keys.ts'

/**
 * The content of the unsubscribe link of one recipient: everything that an opt-out needs, so that the link still works after the
 * email is deleted.
 */
export type UnsubscribeToken = {
  account_id: string
  domain_id: string
  /** The recipient, in lower case. */
  address: string
  /** The email that has the link. */
  email_id: string
  /** Topic that the link unsubscribes from; null: from everything. */
  topic_id: string | null
}

const VERSION = 1

const TAG_AT = 3 + 4 * ID_BYTES
const ADDRESS_AT = TAG_AT + TAG_BYTES
/** In bytes. RFC 5321 4.5.3.1.3 allows 254; addresses in UTF-8 may be slightly longer here. */
const MAX_ADDRESS = 512

/**
 * Returns the token of a link, as base64url: version (1 byte), kid (1), purpose (1), account, domain, email and topic (16 each;
 * zeros for no topic), a tag (10) and the encrypted address. The tag signs everything before it, and the address.
 */
export function writeUnsubscribeToken(token: UnsubscribeToken, keys: TokenKeys): string {
  const kid = keys.signing
  const head = Buffer.concat([
    Buffer.of(VERSION, kid, PURPOSES.unsubscribe),
    ...[token.account_id, token.domain_id, token.email_id, token.topic_id ?? NIL].map(bytesOfId),
  ])
  const address = Buffer.from(token.address)
  const tag = keys.sign(kid, signed(head, address))
  return Buffer.concat([head, tag, keys.hide(kid, tag, address)]).toString('base64url')
}

/** Returns the token that was given to `writeUnsubscribeToken`, or null if this text is not ours. */
export function parseUnsubscribeToken(text: string, keys: TokenKeys): UnsubscribeToken | null {
  const bytes = Buffer.from(text, 'base64url')
  const [version, kid, purpose] = bytes
  if (bytes.length <= ADDRESS_AT || bytes.length > ADDRESS_AT + MAX_ADDRESS) return null
  if (version !== VERSION || purpose !== PURPOSES.unsubscribe || kid === undefined || !keys.has(kid)) return null
  // Accepts one text per token only: Node ignores characters such as `=` and treats `+` as `-`.
  if (bytes.toString('base64url') !== text) return null
  const head = bytes.subarray(0, TAG_AT)
  const tag = bytes.subarray(TAG_AT, ADDRESS_AT)
  const address = keys.hide(kid, tag, bytes.subarray(ADDRESS_AT))
  if (!keys.verify(kid, signed(head, address), tag)) return null
  const [account_id, domain_id, email_id, topic_id] = [0, 1, 2, 3].map(n => idAt(head, 3 + n * ID_BYTES)) as Ids
  return { account_id, domain_id, email_id, topic_id: topic_id === NIL ? null : topic_id, address: `${address}` }
}

type Ids = [string, string, string, string]

/**
 * Returns the bytes that the tag signs. The version and the purpose come first, and only the address, at the end, has a variable
 * length.
 */
function signed(head: Buffer, address: Buffer): Buffer {
  return Buffer.concat([head, address])
}

/** Returns the local part of the address for unsubscribing by email: `u-` and the signed id of the delivery. */
export function unsubscribeLocal(delivery_id: string, keys: TokenKeys): string {
  return writeSignedLocal('u', delivery_id, signWith(keys, keys.signing))
}

/** Returns the id that was given to `unsubscribeLocal`, ignoring case, or null if this local part is not ours. */
export function parseUnsubscribeLocal(local: string, keys: TokenKeys): string | null {
  for (const kid of keys.kids) {
    const id = parseSignedLocal('u', local, signWith(keys, kid))
    if (id !== null) return id
  }
  return null
}

/** A local part has no room for the kid, so each key is tried. */
function signWith(keys: TokenKeys, kid: number) {
  return (id: Buffer) => keys.sign(kid, Buffer.concat([Buffer.of(VERSION, kid, PURPOSES.unsubscribe_by_email), id]))
}
