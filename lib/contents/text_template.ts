import { isReservedLink } from '#lib/templates/personal_links.ts'
import { placeholders } from '#lib/templates/placeholders.ts'
import { deriveText } from './derive_text.ts'

/** Private use characters (Unicode 23.5). One stands for each placeholder while the text is derived. */
const FIRST_TOKEN = 0xf0000
const TOKEN = /[\u{F0000}-\u{FFFFD}]/gu

/**
 * Returns the text of HTML with its placeholders intact, as a template of the text part. Returns null if the text depends on the
 * values: if one is inserted unescaped (`{{{key}}}`), or if tags are between the braces of a placeholder. Our own links
 * (`is_personal`) contain nothing that would be escaped.
 */
export function textTemplate(html: string, is_personal: boolean): string | null {
  if (html.search(TOKEN) >= 0) return null
  const tokens = new Map<string, string>() // by the placeholder as it is written
  const pieces: string[] = []
  let end = 0
  for (const found of placeholders(html)) {
    if (!found) continue
    if (found.is_raw && !(is_personal && isReservedLink(found.key))) return null
    const written = html.slice(found.start, found.next)
    const token = tokens.get(written) ?? String.fromCodePoint(FIRST_TOKEN + tokens.size)
    tokens.set(written, token)
    pieces.push(html.slice(end, found.start), token)
    end = found.next
  }
  pieces.push(html.slice(end))
  const text = deriveText(pieces.join(''))
  for (const found of placeholders(text)) if (found) return null // a placeholder in the text that is not in the html
  const written = [...tokens.keys()]
  return text.replace(TOKEN, token => written[(token.codePointAt(0) as number) - FIRST_TOKEN] as string)
}
