import { escapeHtml } from '#lib/escape_html.ts'
import type { Placeholder } from '#lib/templates/placeholders.ts'
import { AS_WRITTEN, type Lookup, MAX_PART, missingValue, tooLong } from '#lib/templates/render.ts'
import { readTokens } from './html_tokens.ts'
import { trackedUrl } from './tracked_url.ts'

/** A placeholder. `written` is its text in the source. */
export type ValueSlot = Pick<Placeholder, 'key' | 'fallback' | 'is_raw'> & { written: string }
type Filler = string | ValueSlot

/**
 * The value of an `href` whose clicks are tracked, with placeholders in it. `link` is its number in the html, from 0; `url` is
 * its target, `written` its text in the html.
 */
export type LinkSlot = { link: number; url: Filler[]; written: Filler[] }

/** The place of the pixel that tracks opens. */
export type PixelSlot = { is_pixel: true }

/** A source, split into pieces once, so that it is not searched again for each recipient. `length`: characters of the source. */
export type CompiledPart = { pieces: (Filler | LinkSlot | FilledLink | PixelSlot)[]; length: number }

/** A link of one recipient, or the same link of all (`is_shared`). `written` is its `href` in the html without tracking. */
export type FilledLink = { link: number; url: string; written: string; is_shared: boolean }
export type FilledPiece = string | FilledLink | PixelSlot

const PIECE_WEIGHT = 256

/** Characters that end an attribute or its tag. If a value has one, the target of the link is unknown. */
const ENDS_ATTRIBUTE = /["'<>`\s]/

/** Returns a part without placeholders. */
export function plainPart(source: string): CompiledPart {
  return { pieces: [source], length: source.length }
}

/** Splits a source at its placeholders. */
export function cutAt(source: string, slots: Placeholder[], from = 0, to = source.length): Filler[] {
  const pieces: Filler[] = []
  let end = from
  for (const slot of slots) {
    if (slot.start > end) pieces.push(source.slice(end, slot.start))
    pieces.push(valueSlot(source, slot))
    end = slot.next
  }
  if (end < to) pieces.push(source.slice(end, to))
  return pieces
}

export function valueSlot(source: string, { start, next, key, fallback, is_raw }: Placeholder): ValueSlot {
  return { key, fallback, is_raw, written: source.slice(start, next) }
}

/** Returns the number of placeholders. */
export function countSlots({ pieces }: CompiledPart): number {
  let count = 0
  for (const piece of pieces) {
    if (typeof piece === 'string') continue
    if ('key' in piece) count++
    else if ('written' in piece && typeof piece.written !== 'string') count += piece.written.length
  }
  return count
}

/** Returns the memory that a compiled part takes, in characters, including its signed links. */
export function weightOf({ pieces, length }: CompiledPart): number {
  return length + PIECE_WEIGHT * pieces.length
}

/**
 * Fills in values. Tracked links and the pixel remain separate pieces (write_tracking.ts). @throws {ApiError} as `render` does
 */
export function fillPart(compiled: CompiledPart, part: 'html' | 'text', lookup: Lookup): FilledPiece[] {
  // A part without placeholders keeps its length, so there is nothing to check.
  if (countSlots(compiled) === 0) return compiled.pieces as FilledPiece[]
  let length = 0
  const count = (text: string) => {
    length += text.length
    if (length > MAX_PART) throw tooLong(part)
    return text
  }
  const fill = (piece: Filler) =>
    count(typeof piece === 'string' ? piece : writeSlot(piece, part === 'html' && !piece.is_raw, lookup))
  return compiled.pieces.map(piece => {
    if (typeof piece === 'string' || 'key' in piece) return fill(piece)
    if ('is_pixel' in piece) return piece
    if ('is_shared' in piece) {
      count(piece.written)
      return piece
    }
    const written = piece.written.map(fill).join('')
    const url = urlOf(piece.url, lookup)
    return url === null ? written : { link: piece.link, url, written, is_shared: false }
  })
}

/** Returns the part without tracking. */
export function untracked(pieces: FilledPiece[]): string {
  return pieces.map(piece => (typeof piece === 'string' ? piece : 'is_pixel' in piece ? '' : piece.written)).join('')
}

function writeSlot({ key, fallback, written }: ValueSlot, isEscaped: boolean, lookup: Lookup): string {
  const value = lookup(key, fallback !== undefined) ?? fallback
  if (value === AS_WRITTEN) return written
  if (value === undefined) throw missingValue(key)
  return isEscaped ? escapeHtml(String(value)) : String(value)
}

/** Returns the URL of a link for this recipient, or null if it cannot be tracked. */
function urlOf(url: Filler[], lookup: Lookup): string | null {
  let text = ''
  for (const piece of url) {
    const value = typeof piece === 'string' ? piece : writeSlot(piece, false, lookup)
    const isHtml = typeof piece !== 'string' && piece.is_raw
    if (isHtml && ENDS_ATTRIBUTE.test(value)) return null
    text += isHtml && value.includes('&') ? decodeAttribute(value) : value
  }
  return trackedUrl(text)
}

/** Decodes the entities of a value without quotes as mail clients do. */
function decodeAttribute(value: string): string {
  let decoded = ''
  const open = (_name: string, attributes: Record<string, string>) => {
    decoded = attributes.href ?? ''
  }
  readTokens(`<a href="${value}">`, { open, close: () => {}, text: () => {} })
  return decoded
}
