import type { Source } from '#lib/contents/compile_content.ts'
import { cutAt } from '#lib/contents/content_parts.ts'
import { findPlaces } from '#lib/contents/find_links.ts'
import { escapeHtml } from '#lib/escape_html.ts'
import { LONGEST_WITHOUT_POLL, mentionsLink, personalLink } from '#lib/templates/personal_links.ts'
import { type Placeholder, placeholders } from '#lib/templates/placeholders.ts'
import { renameBareKeys } from './recipient_values.ts'
import { shownEnd } from './shown_end.ts'

/** Parts that are added to a content. `postal_address`: lines of text. */
type Additions = { preview_text: string | null; postal_address: string | null }

const LINK = '{{{UNSUBSCRIBE_URL}}}'
const HIDDEN = 'display:none;max-height:0;overflow:hidden;mso-hide:all'
const FOOTER = 'margin:24px 0;font:12px/1.5 sans-serif;color:#666;text-align:center'
/** Fills the preview with invisible characters: after a short preview, mail clients show the text that follows. */
const PADDING = '&nbsp;&zwnj;'.repeat(80)

/**
 * Returns the content of a campaign as it is frozen when it is sent: with its preview text, and with an unsubscribe footer if
 * neither part has an unsubscribe link that readers see. Its values come from `recipientValues`.
 */
export function freezeContent({ html, text }: Source, { preview_text, postal_address }: Additions): Source {
  const needsFooter = !hasUnsubscribeLink(html, true) && !hasUnsubscribeLink(text, false)
  const shown = html && preview_text ? insertPreview(html, preview_text) : html
  if (!needsFooter) return renameBareKeys({ html: shown, text })
  return renameBareKeys({
    html: shown && insertFooter(shown, postal_address),
    // An empty text beside html means no text part.
    text: text && `${text.trimEnd()}\n\n-- \n${textLines(postal_address)}Unsubscribe: ${LINK}\n`,
  })
}

function hasUnsubscribeLink(source: string | null, isHtml: boolean): boolean {
  if (!source || !mentionsLink(source)) return false
  const slots = slotsOf(source)
  const links = slots.filter(({ key }) => personalLink(key, LONGEST_WITHOUT_POLL) !== undefined)
  const hidden = isHtml && links.length > 0 ? findPlaces(source, slots).comments : []
  let passed = 0 // both are in order
  return links.some(({ start }) => {
    while ((hidden[passed]?.to ?? Number.POSITIVE_INFINITY) <= start) passed++
    return start < (hidden[passed]?.from ?? Number.POSITIVE_INFINITY)
  })
}

function slotsOf(source: string): Placeholder[] {
  return [...placeholders(source)].filter(slot => slot !== null)
}

function insertPreview(html: string, preview_text: string): string {
  // Keeps its placeholders as they are written.
  const shown = cutAt(preview_text, slotsOf(preview_text))
    .map(piece => (typeof piece === 'string' ? escapeHtml(piece) : piece.written))
    .join('')
  const { body_start } = findPlaces(html, slotsOf(html))
  return insert(html, body_start, `<div style="${HIDDEN}">${shown}${PADDING}</div>`)
}

function insertFooter(html: string, postal_address: string | null): string {
  const address = postal_address ? `${escapeHtml(withoutSlots(postal_address)).replace(/\r?\n/g, '<br>')}<br>` : ''
  return insert(
    html,
    shownEnd(html, slotsOf(html)),
    `<p style="${FOOTER}">${address}<a href="${LINK}">Unsubscribe</a></p>`,
  )
}

function textLines(postal_address: string | null): string {
  return postal_address ? `${withoutSlots(postal_address)}\n` : ''
}

/** Breaks up double braces, since an address has no placeholders. */
function withoutSlots(text: string): string {
  return text.replace(/\{(?=\{)/g, '{ ')
}

function insert(html: string, position: number, piece: string): string {
  return html.slice(0, position) + piece + html.slice(position)
}
