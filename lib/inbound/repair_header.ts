import { isAscii } from 'node:buffer'
import { type ReadField, readHeader } from '../mime/header.ts'
import { guessText } from './guess_text.ts'

/**
 * An encoded word in Q with whatever stands in it (RFC 2047 2). B has no meaning for 8-bit bytes.
 * Linear: no text of a match contains the `?` that the next one begins with.
 */
const Q_WORD = /=\?([^?\s]{1,60})\?q\?([^?]*)\?=/gi
/** Nothing is gained by these: UTF-8 is found without them, and 8-bit bytes in US-ASCII are a lie. */
const GUESSED = /^(?:utf-?8|us-ascii|ascii)$/i
/** Charsets whose second byte of a character may be an ASCII one, `_` among them, which means a blank in Q. */
const ASCII_SECOND =
  /^(?:x-)?(?:shift|s-?jis|ms_?kanji|windows-?(?:31j|936|949|950)|cp-?(?:932|936|949|950)|gb|big|ks|uhc)/i

/** The fields of a header in UTF-8 (RFC 6532), whatever bytes they were written in, each of them judged by itself. */
export function repairHeader(header: Buffer): Buffer {
  if (isAscii(header)) return header
  return Buffer.concat(readHeader(header).map(repairField))
}

function repairField({ raw }: ReadField): Buffer {
  if (isAscii(raw)) return raw
  const encoded = raw.toString('latin1').replace(Q_WORD, encodeWord)
  return Buffer.from(guessText(Buffer.from(encoded, 'latin1')))
}

/** Writes the 8-bit bytes of a word as Q asks for, so that they are decoded by the charset that the word names. */
function encodeWord(word: string, charset: string, text: string): string {
  const name = charset.replace(/\*.*$/, '')
  if (GUESSED.test(name)) return word
  const bytes = ASCII_SECOND.test(name) ? /[\x80-\xff][\x40-\x7e\x80-\xff]?/g : /[\x80-\xff]/g
  return `=?${charset}?Q?${text.replace(bytes, found => Array.from(found, hexOf).join(''))}?=`
}

function hexOf(char: string): string {
  return `=${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`
}
