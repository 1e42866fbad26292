import { type Html, html } from '#web/html.ts'
import { part, preformatted, section } from '#web/layout/parts.ts'
import type { Visit } from '#web/request/visit.ts'
import { hasRemoteImages, SANDBOX } from './preview.ts'

export type Mail = {
  /** Path of its page. `/preview` below it is the HTML alone. */
  path: string
  html: string | null | undefined
  text: string | null | undefined
  headers: Record<string, string> | null | undefined
  /** `path` is null for a file that is not stored. */
  files: { name: string; path: string | null; size: number | null }[]
  /** URL of the raw message; null if it is not stored. */
  raw?: string | null
}

/** The content of an email: its HTML in a frame, text, source, headers and attachments. */
export function mailContent(visit: Visit, { path, html: source, text, headers, files, raw }: Mail): Html {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`)
  return html`${section(
    'Content',
    html`${source ? frameOf(visit, path, source) : ''}
${text ? part('Text', !source, preformatted(text, 'Plain text of the email')) : ''}
${source ? part('HTML source', false, preformatted(source, 'HTML source of the email')) : ''}
${lines.length > 0 ? part('Headers', false, preformatted(lines.join('\n'), 'Headers of the email')) : ''}
${source || text ? '' : html`<p>This email has no content, or its content is no longer stored.</p>`}
${raw ? html`<p><a href="${raw}" download>Download the message (.eml)</a></p>` : ''}`,
  )}
${files.length > 0 ? section('Attachments', attachments(files)) : ''}`
}

function frameOf({ query }: Visit, path: string, source: string): Html {
  const isShowing = query.images === '1'
  const note = isShowing
    ? html`<p>Remote images are shown this once. The sender can see when and from where the email was opened.</p>`
    : html`<p><a href="${path}?images=1" data-turbo-prefetch="false">Show remote images</a>. This tells the sender that the email was opened.</p>`
  return html`${hasRemoteImages(source) ? note : ''}
<iframe title="HTML of the email" sandbox="${SANDBOX}" src="${path}/preview${isShowing ? '?images=1' : ''}"></iframe>`
}

function attachments(files: Mail['files']): Html {
  return html`<ul>${files.map(
    ({ name, path, size }) =>
      html`<li>${path ? html`<a href="${path}" download>${name}</a>` : name} (${path ? sizeOf(size) : 'not stored'})</li>`,
  )}</ul>`
}

/** Formats the size of a file. */
export function sizeOf(bytes: number | null): string {
  if (bytes === null) return 'not fetched yet'
  if (bytes < 1_000) return `${bytes} bytes`
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} KB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
