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

/** A message in pieces, with headers in UTF-8 (RFC 6532), whatever bytes they were written in. */
export function repairHeaders(raw: Buffer, max: number): Buffer[] {
  const end = [raw.indexOf('\r\n\r\n'), raw.indexOf('\n\n'), Math.min(raw.length, max)]
  const length = Math.min(...end.filter(position => position >= 0))
  const headers = raw.subarray(0, length)
  return [Buffer.from(guessText(headers)), raw.subarray(length)]
}
