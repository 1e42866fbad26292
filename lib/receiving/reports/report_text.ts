import { guessText } from '#lib/mail/parts/guess_text.ts'

/** Decodes text by its charset. If that is missing or unknown, or the text is UTF-8 all the same, it is guessed. */
export function decodeText(bytes: Buffer, charset: string | null): string {
  const decoder = charset && !/^(?:utf-?8|us-ascii|ascii)$/i.test(charset) ? findDecoder(charset) : null
  return decoder ? decoder.decode(bytes) : guessText(bytes)
}

function findDecoder(charset: string): InstanceType<typeof TextDecoder> | null {
  try {
    return new TextDecoder(charset)
  } catch {
    return null
  }
}

const WORD = /=\?([^?*\s]{1,40})(?:\*[^?\s]{1,40})?\?([bq])\?([^?\s]{0,2000})\?=(?:\s+(?==\?))?/gi

/** Decodes the encoded words of a field (RFC 2047), whose value has one character per byte. */
export function decodeField(value: string): string {
  const text = guessText(Buffer.from(value, 'latin1'))
  return text.replace(WORD, (_, charset: string, encoding: string, word: string) =>
    decodeText(/b/i.test(encoding) ? Buffer.from(word, 'base64') : decodeQuoted(word.replaceAll('_', ' ')), charset),
  )
}

/** Decodes `=41` in a text with one character per byte. */
export function decodeQuoted(text: string): Buffer {
  const plain = text.replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1')
}
