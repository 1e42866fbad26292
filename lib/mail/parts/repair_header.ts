import { isAscii } from 'node:buffer'
import { type ReadField, readHeader } from '#lib/mail/mime/header.ts'
import { guessText } from './guess_text.ts'

/**
 * An encoded word in Q with whatever stands in it (RFC 2047 2). B has no meaning for 8-bit bytes.
 * Linear: no text of a match contains the `?` that the next one begins with.
 */
const Q_WORD = /=\?([^?\s]{1,60})\?q\?([^?]*)\?=/gi
/** These say little: 8-bit bytes are no US-ASCII, and many that are said to be UTF-8 are not. */
const GUESSED = /^(?:utf-?8|us-ascii|ascii)$/i
/** Charsets whose second byte of a character may be an ASCII one, `_` among them, which means a blank in Q. */
const ASCII_SECOND =
  /^(?:x-)?(?:shift|s-?jis|ms_?kanji|windows-?(?:31j|936|949|950)|cp-?(?:932|936|949|950)|gb|big|ks|uhc)/i

const RAW = /[\x80-\xff]+/g
const RAW_PAIRS = /[\x80-\xff][\x40-\x7e\x80-\xff]?/g

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
  if (GUESSED.test(name)) {
    const guessed = Buffer.from(guessText(Buffer.from(text, 'latin1'))).toString('latin1')
    return isAscii(Buffer.from(text, 'latin1')) ? word : `=?utf-8?Q?${guessed.replace(RAW, hexOf)}?=`
  }
  return `=?${charset}?Q?${text.replace(ASCII_SECOND.test(name) ? RAW_PAIRS : RAW, hexOf)}?=`
}

function hexOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('hex').toUpperCase().replace(/../g, '=$&')
}
