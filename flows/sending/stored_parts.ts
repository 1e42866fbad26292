import { type ResolvedEmail, sizeOf } from '#flows/templates/render_parts.ts'
import { derivesText, PERSONAL_RENDERER, POLL_RENDERER, RENDERER } from '#lib/contents/compile_content.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import { hasUnsubscribeHeader } from '#lib/topics/list_headers.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** The part of a draft that the parts of its message are made from (flows/contents/render_email.ts). */
export function storedParts(
  email: ResolvedEmail,
): Pick<Draft, 'html' | 'text' | 'content_id' | 'variables' | 'rendered_size' | 'renderer'> {
  const { text = null, content_id, variables } = email
  // Long html is always shared: the email has a content.
  const html = email.html instanceof LongHtml ? null : (email.html ?? null)
  const renderer = email.poll ? POLL_RENDERER : isPersonalMail(email) ? PERSONAL_RENDERER : RENDERER
  if (!content_id && !variables && !email.has_links) {
    // An empty text next to html asks for no text part.
    const isRendered = derivesText(email) || (html && text === '') || renderer === PERSONAL_RENDERER
    return { html, text, renderer: isRendered ? renderer : undefined }
  }
  const source = content_id ? { html: null, text: null, content_id } : { html, text }
  return { ...source, variables, rendered_size: sizeOfParts(email), renderer }
}

/** Mail of a topic has a header to unsubscribe by, unless whoever sends it gives one. */
function isPersonalMail({ has_links, topic_id, headers }: ResolvedEmail): boolean {
  return Boolean(has_links) || (Boolean(topic_id) && !hasUnsubscribeHeader(headers ?? {}))
}

/** Bytes that the parts take at most: a text part that is derived is hardly ever longer than its html. */
function sizeOfParts(email: ResolvedEmail): number {
  const { html, text } = email.sizes ?? { html: sizeOf(email.html), text: sizeOf(email.text) }
  return html + (derivesText(email) ? html : text)
}
