import { escapeHtml } from '#lib/escape_html.ts'
import { POLL_URL } from '#lib/templates/personal_links.ts'
import type { PollForm } from './new_poll.ts'

const COLOR = '#1f4fa3'
const FONT = 'font:16px/1.4 sans-serif'

/**
 * Returns a poll as html for mail clients: the question, and a button per option. Table cells provide the borders and spacing,
 * since Outlook ignores those of links.
 */
export function pollHtml({ question, options }: PollForm): string {
  const rows = options.map(
    ({ key, label }) =>
      `<tr><td style="padding:10px 16px;border:1px solid ${COLOR};border-radius:4px;background:#ffffff"><a href="{{${POLL_URL}${key}}}" data-track="off" style="${FONT};color:${COLOR};text-decoration:none">${toHtml(label)}</a></td></tr>`,
  )
  return `<div style="margin:24px 0"><p style="margin:0 0 8px;${FONT};font-weight:bold">${toHtml(question)}</p>
<table role="presentation" cellspacing="8" cellpadding="0" border="0">
${rows.join('\n')}
</table></div>`
}

/** As `pollHtml`, for a text part. */
export function pollText({ question, options }: PollForm): string {
  const lines = options.map(({ key, label }) => `${withoutSlots(label)}: {{${POLL_URL}${key}}}`)
  return `${withoutSlots(question)}\n\n${lines.join('\n')}\n`
}

/** Escapes braces, so that they form no placeholder with the text around them. */
function toHtml(text: string): string {
  return escapeHtml(text).replaceAll('{', '&#123;')
}

function withoutSlots(text: string): string {
  return text.replace(/\{(?=\{)/g, '{ ')
}
