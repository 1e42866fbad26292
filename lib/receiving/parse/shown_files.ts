/**
 * The Content-IDs that an HTML text shows by `cid:` (RFC 2392). Programs that use Python's email package, among others,
 * write such images with the disposition of a file.
 */
export function shownContentIds(html: string | null): Set<string> {
  return new Set(Array.from((html ?? '').matchAll(/\bcid:([^\s"'<>()]{1,1000})/gi), ([, id = '']) => decoded(id)))
}

/** A percent sign that encodes nothing stays as it is. */
function decoded(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
