const strict = new TextDecoder('utf-8', { fatal: true })
const western = new TextDecoder('windows-1252')

/**
 * Decodes text with a missing or wrong charset: as UTF-8 if it is valid, which is hardly ever by chance, else as Windows-1252.
 */
export function guessText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return western.decode(bytes)
  }
}
