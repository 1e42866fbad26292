/** Maximum bytes of one string of a TXT record (RFC 1035 section 3.3). */
const MAX_STRING = 255

/** Returns a text as the quoted strings of a TXT record in a zone file (RFC 1035 section 5.1). */
export function quoteText(text: string): string {
  const bytes = Buffer.from(text)
  const strings = Array.from({ length: Math.max(1, Math.ceil(bytes.length / MAX_STRING)) }, (_, i) =>
    bytes.subarray(i * MAX_STRING, (i + 1) * MAX_STRING),
  )
  return strings.map(string => `"${Array.from(string, escapeByte).join('')}"`).join(' ')
}

function escapeByte(byte: number): string {
  if (byte < 0x20 || byte > 0x7e) return `\\${String(byte).padStart(3, '0')}`
  const character = String.fromCharCode(byte)
  return character === '"' || character === '\\' ? `\\${character}` : character
}

/** Returns the text of such strings, which some providers return; text without quotes stays as it is. */
export function unquoteText(text: string): string {
  if (!/^\s*"/.test(text)) return text
  const strings = Array.from(text.matchAll(/"((?:[^"\\]|\\.)*)"/gs), ([, string = '']) => string)
  return Buffer.concat(strings.map(unescapeString)).toString()
}

function unescapeString(string: string): Buffer {
  const parts = string.match(/\\\d{3}|\\.|[^\\]+/gs) ?? []
  return Buffer.concat(
    parts.map(part => {
      if (/^\\\d{3}$/.test(part)) return Buffer.from([Number(part.slice(1)) & 0xff])
      return Buffer.from(part.replace(/^\\/, ''))
    }),
  )
}
