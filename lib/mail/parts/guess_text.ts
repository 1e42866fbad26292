import { isUtf8 } from 'node:buffer'

const utf8 = new TextDecoder('utf-8')
const western = new TextDecoder('windows-1252')

/** Decodes text with a missing or wrong charset: as UTF-8 if that is what it mostly is, else as Windows-1252. */
export function guessText(bytes: Uint8Array): string {
  return (isMostlyUtf8(bytes) ? utf8 : western).decode(bytes)
}

/**
 * Tells whether most characters beyond ASCII are valid UTF-8, which is hardly ever by chance. A character that was cut in two, or a
 * line in another charset that a server has added, makes no other text unreadable.
 */
export function isMostlyUtf8(bytes: Uint8Array): boolean {
  if (isUtf8(bytes)) return true
  let valid = 0
  let invalid = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte < 0x80) continue
    const more = continuations(byte)
    if (more > 0 && isContinued(bytes, i, more)) {
      valid++
      i += more
    } else invalid++
  }
  return valid > invalid
}

/** Returns the number of bytes that follow the first byte of a character; 0 for any other byte. */
function continuations(byte: number): number {
  if (byte < 0xc2 || byte > 0xf4) return 0
  return byte < 0xe0 ? 1 : byte < 0xf0 ? 2 : 3
}

function isContinued(bytes: Uint8Array, at: number, more: number): boolean {
  for (let i = at + 1; i <= at + more; i++) if (((bytes[i] ?? 0) & 0xc0) !== 0x80) return false
  return true
}
