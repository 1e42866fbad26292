import { ApiError } from '#lib/errors.ts'
import { type Html, html } from '#web/html.ts'
import type { Visit } from '#web/request/visit.ts'
import { respondMail, SANDBOX } from './preview.ts'

type Rendered = { subject: string; html: string | null; text: string | null }

/** The frame beside an editor, into which its form can send its fields. `path`: of the page; `/preview` below it is shown. */
export function previewFrame(path: string): Html {
  return html`<iframe name="preview" title="Preview" sandbox="${SANDBOX}" src="${path}/preview"></iframe>`
}

/** A frame with content that is not edited. It is loaded once it is in sight. */
export function contentFrame(path: string, title: string, query: Record<string, string>): Html {
  return html`<iframe title="${title}" sandbox="${SANDBOX}" loading="lazy" src="${path}/preview?${new URLSearchParams(query)}"></iframe>`
}

/**
 * A button that shows the fields of the editor in that frame. `name` and `value`: what the form says in addition. `isLive`: the
 * script of the page presses it while somebody types, in its fieldset or else in the form.
 */
export function previewButton(path: string, label: string, name: string, value: string, isLive = false): Html {
  return html`<button formaction="${path}/preview" formtarget="preview" formnovalidate name="${name}" value="${value}"${isLive ? html` data-preview` : ''}>${label}</button>`
}

/** Responds with rendered content for that frame, or with the reason why it cannot be rendered. */
export async function respondContent(visit: Visit, isText: boolean, render: () => Promise<Rendered>): Promise<void> {
  await respondMail(visit, await show(isText, render))
}

async function show(isText: boolean, render: () => Promise<Rendered>): Promise<string> {
  try {
    const { subject, html: whole, text } = await render()
    const head = html`<p><strong>Subject:</strong> ${subject}</p><hr>`
    return `${head}${isText || whole === null ? html`<pre>${text ?? ''}</pre>` : whole}`
  } catch (error) {
    if (error instanceof ApiError) return String(html`<p>${error.message}</p>`)
    throw error
  }
}
