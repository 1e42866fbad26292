const strict = new TextDecoder('utf-8', { fatal: true })
const western = new TextDecoder('windows-1252')

/** Text whose charset was not said, or not truly: UTF-8 is hard to be by chance, all else was written in the west. */
export function guessText(bytes: Uint8Array): string {
  try {
    return strict.decode(bytes)
  } catch {
    return western.decode(bytes)
  }
}
