import { isBlankHtml } from '#lib/mail/mime/blank_html.ts'
import type { Placeholder } from '#lib/templates/placeholders.ts'
import { type CompiledPart, cutAt, type FilledLink, type LinkSlot, type PixelSlot, valueSlot } from './content_parts.ts'
import { type FoundHref, findPlaces } from './find_links.ts'
import { trackedUrl } from './tracked_url.ts'

/** Which events are tracked. */
export type Tracking = { opens: boolean; clicks: boolean }

/** Per html. Further links keep their targets. */
export const MAX_TRACKED_LINKS = 1_000

/** A URL whose host ends before its first placeholder. */
const HAS_HOST = /^[\0- ]*https?:\/\/[^/?#\\{}]+[/?#\\]/i

/** Splits html at its placeholders, its tracked links and the place of the pixel. All other bytes stay. */
export function trackPart(html: string, slots: Placeholder[], { opens, clicks }: Tracking): CompiledPart {
  const { hrefs, body_end } = findPlaces(html, slots)
  const marks: Mark[] = []
  for (const href of clicks ? hrefs : []) {
    const piece = marks.length < MAX_TRACKED_LINKS ? linkOf(html, href, marks.length) : null
    if (piece) marks.push({ from: href.from, to: href.to, piece })
  }
  if (opens && !isBlankHtml(html)) addPixel(marks, body_end)
  return { pieces: cutAtMarks(html, slots, marks), length: html.length }
}

/** Returns the tracked links of html, by number. Placeholders remain in the URLs as they are written. */
export function listTrackedLinks({ pieces }: CompiledPart): { link: number; url: string }[] {
  return pieces.flatMap(piece => {
    if (typeof piece === 'string' || !('link' in piece)) return []
    const { link, url } = piece
    return [
      {
        link,
        url: typeof url === 'string' ? url : url.map(one => (typeof one === 'string' ? one : one.written)).join(''),
      },
    ]
  })
}

/** A piece that replaces a range of the html. */
type Mark = { from: number; to: number; piece: LinkSlot | FilledLink | PixelSlot }

/** Returns null for a link that is not tracked. */
function linkOf(html: string, { from, to, url, is_off }: FoundHref, link: number): LinkSlot | FilledLink | null {
  if (is_off) return null
  const slots = url.filter(piece => typeof piece !== 'string')
  if (slots.length === 0) {
    const target = trackedUrl(url.join(''))
    return target === null ? null : { link, url: target, written: html.slice(from, to), is_shared: true }
  }
  const start = url.slice(0, url.indexOf(slots[0] as Placeholder)).join('')
  if (!HAS_HOST.test(start)) return null
  const pieces = url.map(piece => (typeof piece === 'string' ? piece : valueSlot(html, piece)))
  return { link, url: pieces, written: cutAt(html, slots, from, to) }
}

function addPixel(marks: Mark[], position: number): void {
  const before = marks.findLastIndex(({ from }) => from < position)
  marks.splice(before + 1, 0, { from: position, to: position, piece: { is_pixel: true } })
}

function cutAtMarks(html: string, slots: Placeholder[], marks: Mark[]): CompiledPart['pieces'] {
  const pieces: CompiledPart['pieces'] = []
  let end = 0
  let passed = 0
  /** Returns the placeholders from the last position up to this one. */
  const pass = (position: number) => {
    const first = passed
    while (passed < slots.length && (slots[passed] as Placeholder).start < position) passed++
    return slots.slice(first, passed)
  }
  for (const { from, to, piece } of marks) {
    for (const one of cutAt(html, pass(from), end, from)) pieces.push(one)
    pieces.push(piece)
    pass(to)
    end = to
  }
  for (const one of cutAt(html, pass(html.length), end)) pieces.push(one)
  return pieces
}
