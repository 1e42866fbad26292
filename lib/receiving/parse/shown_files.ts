/**
 * Returns the Content-IDs that an HTML text shows by `cid:` (RFC 2392). Programs that use Python's email package, among others,
 * declare such images as attachments.
 */
export function shownContentIds(html: string | null): Set<string> {
  return new Set(Array.from((html ?? '').matchAll(/\bcid:([^\s"'<>()]{1,1000})/gi), ([, id = '']) => decoded(id)))
}

/** Decodes an id; one with an invalid percent sign stays as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
