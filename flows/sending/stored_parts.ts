import { type ResolvedEmail, sizeOf } from '#flows/templates/render_parts.ts'
import { derivesText, PERSONAL_RENDERER, POLL_RENDERER, RENDERER } from '#lib/contents/compile_content.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import { hasUnsubscribeHeader } from '#lib/topics/list_headers.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** Returns the fields of a draft from which the parts of its message are rendered (flows/contents/render_email.ts). */
export function storedParts(
  email: ResolvedEmail,
): Pick<Draft, 'html' | 'text' | 'content_id' | 'variables' | 'rendered_size' | 'renderer'> {
  const { text = null, content_id, variables } = email
  // Long html is always shared: the email has a content.
  const html = email.html instanceof LongHtml ? null : (email.html ?? null)
  const renderer = email.poll ? POLL_RENDERER : isPersonalMail(email) ? PERSONAL_RENDERER : RENDERER
  if (!content_id && !variables && !email.has_links) {
    // With html, an empty text means that there is no text part.
    const isRendered = derivesText(email) || (html && text === '') || renderer === PERSONAL_RENDERER
    return { html, text, renderer: isRendered ? renderer : undefined }
  }
  const source = content_id ? { html: null, text: null, content_id } : { html, text }
  return { ...source, variables, rendered_size: sizeOfParts(email), renderer }
}

/**
 * Returns true if the message differs per recipient. Mail of a topic has a header to unsubscribe, unless its sender
 * gives one.
 */
function isPersonalMail({ has_links, topic_id, headers }: ResolvedEmail): boolean {
  return Boolean(has_links) || (Boolean(topic_id) && !hasUnsubscribeHeader(headers ?? {}))
}

/** Returns the most bytes that the parts take: a derived text part is hardly ever longer than its html. */
function sizeOfParts(email: ResolvedEmail): number {
  const { html, text } = email.sizes ?? { html: sizeOf(email.html), text: sizeOf(email.text) }
  return html + (derivesText(email) ? html : text)
}
