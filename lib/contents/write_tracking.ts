import type { TokenKeys } from '#lib/token_keys.ts'
import { type RecipientTokens, writeLinkToken } from '#lib/tracking/tracking_tokens.ts'
import type { FilledLink, FilledPiece } from './content_parts.ts'
import { MAX_TRACKED_LINKS } from './track_part.ts'

/**
 * How a recipient's opens and clicks are tracked.
 *
 * origin     `https://host` before the paths: BASE_URL or the tracking host of the domain
 * source_id  contents.id, or the id of the email if only that email has this html
 */
export type TrackedBy = { origin: string; keys: TokenKeys; source_id: string; tokens: RecipientTokens }

/** Characters of the shortest tracked link, `<a href=http://x>`. */
const SHORTEST_LINK = 16
/** Characters that tracking adds to a link besides its URL, which becomes a third longer as base64url. */
const LINK_TOKENS = 110
/** Characters of the pixel besides its origin. */
const PIXEL = 200

const STYLE = 'width:1px;height:1px;border:0'

/** Tokens of links that are the same for all recipients of a content, by link number, so that each is signed once. */
export class SharedLinks {
  readonly #tokens: string[] = []
  #signing = 0

  tokenOf({ link, url }: FilledLink, source_id: string, keys: TokenKeys): string {
    if (this.#signing !== keys.signing) {
      this.#signing = keys.signing
      this.#tokens.length = 0
    }
    this.#tokens[link] ??= writeLinkToken({ source_id, link, url }, keys)
    return this.#tokens[link]
  }
}

/** Estimates the most bytes that tracking adds to html of this size. */
export function sizeOfTracking(html_size: number, origin: string): number {
  const links = Math.min(MAX_TRACKED_LINKS, Math.floor(html_size / SHORTEST_LINK))
  return Math.ceil(links * (origin.length + LINK_TOKENS) + html_size / 3 + origin.length + PIXEL)
}

/** Returns html with the tracked links and the pixel of a recipient. */
export function writeTracking(pieces: FilledPiece[], tracked_by: TrackedBy, shared: SharedLinks): string {
  const { origin, keys, source_id, tokens } = tracked_by
  const tokenOf = (link: FilledLink) =>
    link.is_shared ? shared.tokenOf(link, source_id, keys) : writeLinkToken({ ...link, source_id }, keys)
  return pieces
    .map(piece => {
      if (typeof piece === 'string') return piece
      if ('is_pixel' in piece) return pixel(`${origin}/t/o/${tokens.open}.gif`)
      return `${origin}/t/c/${tokenOf(piece)}/${tokens.click}`
    })
    .join('')
}

function pixel(url: string): string {
  return `<img src="${url}" alt="" width="1" height="1" style="${STYLE}">`
}
