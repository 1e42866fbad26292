import { type ResolvedEmail, sizeOf } from '#flows/templates/render_parts.ts'
import { derivesText, RENDERER } from '#lib/contents/compile_content.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** The part of a draft that the parts of its message are made from (flows/contents/render_email.ts). */
export function storedParts(
  email: ResolvedEmail,
): Pick<Draft, 'html' | 'text' | 'content_id' | 'variables' | 'rendered_size' | 'renderer'> {
  const { text = null, content_id, variables } = email
  // Long html is always shared: the email has a content.
  const html = email.html instanceof LongHtml ? null : (email.html ?? null)
  if (!content_id && !variables) {
    // An empty text next to html asks for no text part.
    const isRendered = derivesText(email) || (html && text === '')
    return { html, text, renderer: isRendered ? RENDERER : undefined }
  }
  const source = content_id ? { html: null, text: null, content_id } : { html, text }
  return { ...source, variables, rendered_size: sizeOfParts(email), renderer: RENDERER }
}

/** Bytes that the parts take at most: a text part that is derived is hardly ever longer than its html. */
function sizeOfParts(email: ResolvedEmail): number {
  const { html, text } = email.sizes ?? { html: sizeOf(email.html), text: sizeOf(email.text) }
  return html + (derivesText(email) ? html : text)
}
