import type { ResolvedEmail } from '#flows/templates/resolve_templates.ts'
import { newId } from '#lib/ids.ts'
import type { NewContent } from '#sql/contents/contents.ts'

/** Characters of a source up to which each email keeps its own: to refer to another row takes as much. */
const SHORT = 1_000

/**
 * Finds the sources that emails of one request share: those of templates, and those that are equal. Marks these emails
 * with their `content_id`, and returns the contents to store.
 */
export function shareContents(emails: ResolvedEmail[]): NewContent[] {
  const contents = new Map<string, NewContent>()
  for (const [email, ...others] of groupBySource(emails)) {
    if (!email) continue
    const { html = null, text = null } = email
    const isLong = (html?.length ?? 0) + (text?.length ?? 0) > SHORT
    const id = email.content_id ?? (others.length > 0 && isLong ? newId() : undefined)
    if (id === undefined) continue
    contents.set(id, { id, html, text })
    for (const one of [email, ...others]) one.content_id = id
  }
  return [...contents.values()]
}

function groupBySource(emails: ResolvedEmail[]): ResolvedEmail[][] {
  const byHtml = Map.groupBy(emails, ({ html }) => html ?? null)
  return [...byHtml.values()].flatMap(same => [...Map.groupBy(same, ({ text }) => text ?? null).values()])
}
