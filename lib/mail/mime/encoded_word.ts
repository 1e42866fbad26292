/** 39 bytes are 52 base64 characters and a word of 64: after any field name of ours the line has at most 76. */
const WORD_BYTES = 39

/**
 * Returns text as encoded-words in UTF-8, each of at most 64 characters (RFC 2047 sections 2 and 5 allow 75). Separate them by one
 * space or fold, which readers drop. No word splits a code point; a lone surrogate becomes U+FFFD. Empty text gives no words.
 *
 * Words are in B encoding, and only the last one is padded: GMime, and so Geary and notmuch, drop whatever follows a padded one.
 * A character after which no such word can end is in Q encoding.
 */
export function encodedWords(text: string): string[] {
  const bytes = Buffer.from(text)
  const words: string[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = wordEnd(bytes, start)
    const next = end ?? characterStart(bytes, start + 4)
    words.push(
      end === null ? quotedWord(bytes.subarray(start, next)) : `=?utf-8?B?${bytes.toString('base64', start, end)}?=`,
    )
    start = next
  }
  return words
}

/** Returns where a word without padding ends: at the end of the text, or after a multiple of 3 bytes; null if there is none. */
function wordEnd(bytes: Buffer, start: number): number | null {
  if (start + WORD_BYTES >= bytes.length) return bytes.length
  for (let end = start + WORD_BYTES; end > start; end -= 3) {
    if (characterStart(bytes, end) === end) return end
  }
  return null
}

/** Encodes every byte, since few characters may stand for themselves in a phrase (RFC 2047 section 5). */
function quotedWord(bytes: Buffer): string {
  return `=?utf-8?Q?${bytes.toString('hex').toUpperCase().replace(/../g, '=$&')}?=`
}

/**
 * Tells whether mail clients may decode the text: they decode anything between these two marks, even in quoted strings, where RFC
 * 2047 section 5 forbids it.
 */
export function looksEncoded(text: string): boolean {
  return text.includes('=?')
}

function characterStart(bytes: Buffer, at: number): number {
  if (at >= bytes.length) return bytes.length
  let start = at
  while (((bytes[start] ?? 0) & 0xc0) === 0x80) start-- // 10xxxxxx continues a character, RFC 3629 section 3
  return start
}
