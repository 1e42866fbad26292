import { timingSafeEqual } from 'node:crypto'
import { bytesOfId, ID_BYTES, idAt } from '#lib/ids.ts'
import { PURPOSES, TAG_BYTES, type TokenKeys } from '#lib/token_keys.ts'

/** The recipient of the email that contains a link or a pixel. */
export type TrackedRecipient = { account_id: string; delivery_id: string }

/**
 * A link of a source. `source_id` is the content that emails share (contents.id), or the email if only that email has it. `link`
 * is its number in the html, from 0.
 */
export type TrackedLink = { source_id: string; link: number; url: string }

/** Tokens of one recipient, for its pixel, its links and the links of its poll. None is valid in place of another. */
export type RecipientTokens = { open: string; click: string; poll: string }

const VERSION = 1
const HEAD_BYTES = 3
const RECIPIENT_BYTES = HEAD_BYTES + 2 * ID_BYTES
const LINK_BYTES = HEAD_BYTES + ID_BYTES + 2

/** Offsets of the tags in the digest of a recipient: one HMAC for all of them. */
const TAG_AT = { open: 0, click: TAG_BYTES, poll: 2 * TAG_BYTES }

/**
 * Returns the tokens of a recipient: base64url of version (1 byte), kid (1), purpose (1), account (16), delivery (16) and a tag
 * (10), 60 characters.
 */
export function writeRecipientTokens({ account_id, delivery_id }: TrackedRecipient, keys: TokenKeys): RecipientTokens {
  const head = Buffer.concat([
    Buffer.of(VERSION, keys.signing, PURPOSES.recipient),
    bytesOfId(account_id),
    bytesOfId(delivery_id),
  ])
  const digest = keys.digest(keys.signing, head)
  const token = (at: number) => Buffer.concat([head, digest.subarray(at, at + TAG_BYTES)]).toString('base64url')
  return { open: token(TAG_AT.open), click: token(TAG_AT.click), poll: token(TAG_AT.poll) }
}

/** Returns the recipient of a token for `use`, or null if the token is not ours. Reads no database. */
export function parseRecipientToken(
  text: string,
  use: keyof RecipientTokens,
  keys: TokenKeys,
): TrackedRecipient | null {
  const bytes = readBytes(text, PURPOSES.recipient, keys)
  if (bytes?.length !== RECIPIENT_BYTES + TAG_BYTES) return null
  const head = bytes.subarray(0, RECIPIENT_BYTES)
  const digest = keys.digest(bytes[1] as number, head)
  const at = TAG_AT[use]
  if (!timingSafeEqual(digest.subarray(at, at + TAG_BYTES), bytes.subarray(RECIPIENT_BYTES))) return null
  return { account_id: idAt(head, HEAD_BYTES), delivery_id: idAt(head, HEAD_BYTES + ID_BYTES) }
}

/**
 * Returns the token of a link, the same for all recipients: base64url of version (1 byte), kid (1), purpose (1), source (16),
 * number (2, big endian), URL and a tag (10).
 */
export function writeLinkToken({ source_id, link, url }: TrackedLink, keys: TokenKeys): string {
  const head = Buffer.concat([
    Buffer.of(VERSION, keys.signing, PURPOSES.link),
    bytesOfId(source_id),
    Buffer.of(link >> 8, link & 255),
    Buffer.from(url),
  ])
  return Buffer.concat([head, keys.sign(keys.signing, head)]).toString('base64url')
}

/** Returns the link of a token, or null if the token is not ours: nobody is ever redirected to a URL that we did not sign. */
export function parseLinkToken(text: string, keys: TokenKeys): TrackedLink | null {
  const bytes = readBytes(text, PURPOSES.link, keys)
  if (!bytes || bytes.length <= LINK_BYTES + TAG_BYTES) return null
  const head = bytes.subarray(0, -TAG_BYTES)
  if (!keys.verify(bytes[1] as number, head, bytes.subarray(-TAG_BYTES))) return null
  const link = bytes.readUInt16BE(HEAD_BYTES + ID_BYTES)
  return { source_id: idAt(head, HEAD_BYTES), link, url: head.toString('utf8', LINK_BYTES) }
}

/** Decodes a token. Accepts one text per token only: Node ignores characters such as `=` and treats `+` as `-`. */
function readBytes(text: string, purpose: number, keys: TokenKeys): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  const isOurs = bytes[0] === VERSION && bytes[2] === purpose && keys.has(bytes[1] as number)
  return isOurs && bytes.toString('base64url') === text ? bytes : null
}
