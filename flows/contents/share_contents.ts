import { type ResolvedEmail, sizeOf } from '#flows/templates/render_parts.ts'
import { newId } from '#lib/ids.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import type { NewContent } from '#sql/contents/contents.ts'

/** A source that several emails refer to, or that has long html. */
export type SharedSource = Omit<NewContent, 'html'> & { html: string | LongHtml | null }

/** Up to this many bytes, each email stores its own source: a reference to another row takes as much space. */
const SHORT = 1_000

/**
 * Finds the sources that emails of one request share: sources of templates and equal sources. Sets the `content_id` of
 * these emails, and returns the contents to store.
 */
export function shareContents(emails: ResolvedEmail[]): SharedSource[] {
  const contents = new Map<string, SharedSource>()
  for (const [email, ...others] of groupBySource(emails)) {
    if (!email) continue
    const { html = null, text = null } = email
    const isShared = others.length > 0 && sizeOf(html) + sizeOf(text) > SHORT
    const id = email.content_id ?? (isShared || html instanceof LongHtml ? newId() : undefined)
    if (id === undefined) continue
    contents.set(id, { id, html, text })
    for (const one of [email, ...others]) one.content_id = id
  }
  return [...contents.values()]
}

function groupBySource(emails: ResolvedEmail[]): ResolvedEmail[][] {
  const byHtml = Map.groupBy(emails, ({ html }) => (html instanceof LongHtml ? html.sha256 : (html ?? null)))
  return [...byHtml.values()].flatMap(same => [...Map.groupBy(same, ({ text }) => text ?? null).values()])
}
