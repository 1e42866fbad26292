import { findPlaces } from '#lib/contents/find_links.ts'
import type { Placeholder } from '#lib/templates/placeholders.ts'

/** Returns the end of the body that readers see: before a last comment that does not end, such as `<!-- footer ->`. */
export function shownEnd(html: string, slots: Placeholder[]): number {
  const { body_end, comments } = findPlaces(html, slots)
  const last = comments.at(-1)
  return last && last.to === html.length && last.from < body_end ? html.lastIndexOf('<', last.from - 1) : body_end
}
