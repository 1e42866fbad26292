import { isAscii } from 'node:buffer'
import { type ReadField, readHeader } from '#lib/mail/mime/header.ts'
import { guessText } from './guess_text.ts'

/**
 * An encoded-word in Q encoding with any content (RFC 2047 2). In B encoding 8-bit bytes have no meaning. Linear: no text of a
 * match contains the `?` with which the next match begins.
 */
const Q_WORD = /=\?([^?\s]{1,60})\?q\?([^?]*)\?=/gi
/** Charsets that are not reliable: 8-bit bytes are not US-ASCII, and much text that is declared as UTF-8 is not. */
const GUESSED = /^(?:utf-?8|us-ascii|ascii)$/i
/** Charsets in which the second byte of a character may be ASCII, for example `_`, which means a space in Q encoding. */
const ASCII_SECOND =
  /^(?:x-)?(?:shift|s-?jis|ms_?kanji|windows-?(?:31j|936|949|950)|cp-?(?:932|936|949|950)|gb|big|ks|uhc)/i

const RAW = /[\x80-\xff]+/g
const RAW_PAIRS = /[\x80-\xff][\x40-\x7e\x80-\xff]?/g

const ESCAPE = 0x1b
const japanese = new TextDecoder('iso-2022-jp', { fatal: true })

/** Returns the fields of a header in UTF-8 (RFC 6532), whatever their encoding, which is guessed per field. */
export function repairHeader(header: Buffer): Buffer {
  if (isAscii(header) && !header.includes(ESCAPE)) return header
  return Buffer.concat(readHeader(header).map(repairField))
}

function repairField({ raw }: ReadField): Buffer {
  if (isAscii(raw)) {
    return raw.includes(ESCAPE) ? Buffer.from(raw.toString('latin1').replace(/[^\r\n]+/g, decodeJapanese)) : raw
  }
  const encoded = raw.toString('latin1').replace(Q_WORD, encodeWord)
  return Buffer.from(guessText(Buffer.from(encoded, 'latin1')))
}

/**
 * Decodes a line of ISO-2022-JP (RFC 1468), which is ASCII but for its escapes: its characters may look like quotes or brackets. An
 * encoded-word in Q encoding may have the escapes too.
 */
function decodeJapanese(line: string): string {
  if (!/\$[@B]/.test(line) || /=\?[^?\s]{1,60}\?q\?/i.test(line)) return line
  try {
    return japanese.decode(Buffer.from(line, 'latin1'))
  } catch {
    return line
  }
}

/** Encodes the 8-bit bytes of a word as Q encoding requires, so that they are decoded with the charset that the word names. */
function encodeWord(word: string, charset: string, text: string): string {
  const name = charset.split('*', 1)[0] as string
  if (GUESSED.test(name)) {
    const guessed = Buffer.from(guessText(Buffer.from(text, 'latin1'))).toString('latin1')
    return isAscii(Buffer.from(text, 'latin1')) ? word : `=?utf-8?Q?${guessed.replace(RAW, hexOf)}?=`
  }
  return `=?${charset}?Q?${text.replace(ASCII_SECOND.test(name) ? RAW_PAIRS : RAW, hexOf)}?=`
}

function hexOf(bytes: string): string {
  return Buffer.from(bytes, 'latin1').toString('hex').toUpperCase().replace(/../g, '=$&')
}
