import {
  LONGEST_LINKS,
  mentionsLink,
  type PersonalLinks,
  POLL_URL,
  personalLink,
} from '#lib/templates/personal_links.ts'
import { type Placeholder, placeholders } from '#lib/templates/placeholders.ts'
import { AS_WRITTEN, type Lookup } from '#lib/templates/render.ts'
import { type CompiledPart, cutAt, type FilledPiece, fillPart, plainPart, untracked } from './content_parts.ts'
import { deriveText } from './derive_text.ts'
import { textTemplate } from './text_template.ts'
import { type Tracking, trackPart } from './track_part.ts'

/**
 * Version of the code that turns a source into the parts of a message: `render` and `deriveText`. Each email is rendered with the
 * version that it was accepted with, so that its bytes stay the same. A change of their results needs a new version.
 */
export const RENDERER = 1

/**
 * Version 1 with links of the recipient: each recipient's message is composed separately. It has its own number so that workers
 * of an earlier release leave such mail to newer ones.
 */
export const PERSONAL_RENDERER = 2

/** Version 2 with tracking. The same number is in sql/sending/accept/store_drafts.sql. */
export const TRACKED_RENDERER = 3

/** Version 3 with links to answer a poll, tracked or not. */
export const POLL_RENDERER = 4
export const NEWEST_RENDERER = POLL_RENDERER

/** Tells whether the messages of an email differ from recipient to recipient. */
export function isPersonal(renderer: number | null): boolean {
  return renderer !== null && renderer >= PERSONAL_RENDERER
}

/** Tells whether the messages of an email have links to answer a poll. */
export function hasPollLinks(renderer: number | null): boolean {
  return renderer !== null && renderer >= POLL_RENDERER
}

/** The parts as they were given, or as the version of a template defines them. */
export type Source = { html: string | null; text: string | null }

/** Tells whether the text part is derived from the html. */
export function derivesText({ html, text }: { html?: unknown; text?: string | null | undefined }): boolean {
  return Boolean(html) && (text ?? null) === null
}

/** Values by key at the time when the email was accepted; null: the source is sent as it is. */
export type Values = Record<string, string> | null

/**
 * How a source becomes parts: with `values`, with links of the recipient (`personal`), with both or neither; and which tracking.
 */
export type Filling = { has_values: boolean; is_personal: boolean; tracking?: Tracking | null }

/** Links of the recipient, for mail that has some. `as_written`: keeps their placeholders, for parts that nobody receives. */
export type Links = PersonalLinks | 'as_written' | null

/** `is_text_late`: the text part is derived from each rendered html. */
export type CompiledContent = { html: CompiledPart | null; text: CompiledPart | null; is_text_late: boolean }

/** A content with the values of a recipient. Tracked links in the html are still separate pieces (write_tracking.ts). */
export type FilledContent = { html: FilledPiece[] | null; text: string | null }

/**
 * Does the work that is the same for all emails of a source. HTML without `text` gets a derived text part; an empty `text` beside
 * HTML means no text part.
 *
 * @throws {ApiError} if a part has too many placeholders
 */
export function compileContent(source: Source, filling: Filling): CompiledContent {
  const { text, is_text_late } = compileText(source, filling)
  return { html: compilePart(source.html, filling, true), text: compilePart(text, filling, false), is_text_late }
}

function compileText({ html, text }: Source, { has_values, is_personal }: Filling) {
  if (!html || text) return { text, is_text_late: false }
  if (text === '') return { text: null, is_text_late: false }
  const isTemplate = has_values || (is_personal && mentionsLink(html))
  const derived = isTemplate ? textTemplate(html, is_personal) : deriveText(html)
  return { text: derived || null, is_text_late: derived === null }
}

function compilePart(source: string | null, filling: Filling, isHtml: boolean): CompiledPart | null {
  if (!source) return source === null ? null : plainPart(source)
  const slots = findSlots(source, filling)
  if (isHtml && filling.tracking) return trackPart(source, slots, filling.tracking)
  return { pieces: cutAt(source, slots), length: source.length }
}

/** Finds the placeholders to fill. Mail without values may be full of braces that are not ours. */
function findSlots(source: string, { has_values, is_personal }: Filling): Placeholder[] {
  if (!has_values && !(is_personal && mentionsLink(source))) return []
  const found = [...placeholders(source)].filter(slot => slot !== null)
  return has_values ? found : found.filter(({ key }) => personalLink(key, LONGEST_LINKS) !== undefined)
}

/**
 * Fills in a recipient's values and links. @throws {ApiError} if a placeholder has no value or a part is too long, which is ruled
 * out when the email is accepted
 */
export function fillContent(content: CompiledContent, values: Values, links: Links = null): FilledContent {
  const lookup = lookupIn(values, links)
  const html = content.html && fillPart(content.html, 'html', lookup)
  if (content.is_text_late && links === 'as_written') {
    // Derives the text with the longest links, since deriveText keeps no placeholder as the target of a link.
    const { text } = fillContent(content, values, LONGEST_LINKS)
    return { html, text: text && withPlaceholders(text) }
  }
  if (content.is_text_late) return { html, text: deriveText(untracked(html ?? [])) || null }
  return { html, text: content.text && untracked(fillPart(content.text, 'text', lookup)) }
}

/** Returns the parts without tracking. @throws {ApiError} as `fillContent` does */
export function renderCompiled(content: CompiledContent, values: Values, links: Links = null): Source {
  const { html, text } = fillContent(content, values, links)
  return { html: html && untracked(html), text }
}

const LONGEST_POLL_URL = new RegExp(`${LONGEST_LINKS.poll_url}([\\w-]{1,80})`, 'g')

/** Replaces the longest links with the placeholders they stand for. */
function withPlaceholders(text: string): string {
  return text
    .replaceAll(LONGEST_LINKS.unsubscribe_url, '{{unsubscribe_url}}')
    .replace(LONGEST_POLL_URL, `{{${POLL_URL}$1}}`)
}

function lookupIn(values: Values, links: Links): Lookup {
  const linkOf = (key: string) => {
    if (links === null) return undefined
    if (links === 'as_written') return personalLink(key, LONGEST_LINKS) === undefined ? undefined : AS_WRITTEN
    return personalLink(key, links)
  }
  return key => {
    if (values && Object.hasOwn(values, key)) return values[key]
    return linkOf(key) ?? (values ? undefined : AS_WRITTEN)
  }
}
