import type { ResolvedEmail } from '#flows/templates/resolve_templates.ts'
import { derivesText, RENDERER } from '#lib/contents/compile_content.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** The part of a draft that the parts of its message are made from (flows/contents/render_email.ts). */
export function storedParts(
  email: ResolvedEmail,
): Pick<Draft, 'html' | 'text' | 'content_id' | 'variables' | 'rendered_size' | 'renderer'> {
  const { html = null, text = null, content_id, variables } = email
  if (!content_id && !variables) {
    // An empty text next to html asks for no text part.
    const isRendered = derivesText(email) || (html && text === '')
    return { html, text, renderer: isRendered ? RENDERER : undefined }
  }
  const source = content_id ? { html: null, text: null, content_id } : { html, text }
  return { ...source, variables, rendered_size: sizeOf(email), renderer: RENDERER }
}

/** Bytes that the parts take at most: a text part that is derived is hardly ever longer than its html. */
function sizeOf(email: ResolvedEmail): number {
  const { html, text } = email.sizes ?? {
    html: Buffer.byteLength(email.html ?? ''),
    text: Buffer.byteLength(email.text ?? ''),
  }
  return html + (derivesText(email) ? html : text)
}
