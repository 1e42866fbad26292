/** 39 bytes are 52 base64 characters and a word of 64: after any field name of ours the line has at most 76. */
const WORD_BYTES = 39

/**
 * Returns text as encoded-words in UTF-8 and B encoding, each of at most 64 characters (RFC 2047 sections 2 and 5 allow 75).
 * Separate them by one space or fold, which readers drop. No word splits a code point; a lone surrogate becomes U+FFFD. Empty
 * text gives no words.
 */
export function encodedWords(text: string): string[] {
  const bytes = Buffer.from(text)
  const words: string[] = []
  for (let start = 0; start < bytes.length; ) {
    const end = characterStart(bytes, start + WORD_BYTES)
    words.push(`=?utf-8?B?${bytes.toString('base64', start, end)}?=`)
    start = end
  }
  return words
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
