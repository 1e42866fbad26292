import type { Source } from '#lib/contents/compile_content.ts'
import { findPlaces } from '#lib/contents/find_links.ts'
import { ApiError } from '#lib/errors.ts'
import { LONGEST_LINKS, personalLink } from '#lib/templates/personal_links.ts'
import { placeholders } from '#lib/templates/placeholders.ts'

/** Gmail shows at most this many bytes of html. */
const CLIPPED_AT = 102 * 1024

/** Rejects html in which a value determines the scheme of a link, which could become `javascript:`. @throws {ApiError} */
export function refuseVariableSchemes(html: string): void {
  const slots = [...placeholders(html)].filter(slot => slot !== null)
  const values = slots.filter(({ key }) => personalLink(key, LONGEST_LINKS) === undefined)
  for (const { url, from, to } of findPlaces(html, values).hrefs) {
    const first = url.findIndex(piece => typeof piece !== 'string')
    if (first < 0 || /[:/?#]/.test(url.slice(0, first).join(''))) continue
    throw new ApiError(
      'validation_error',
      `The link \`${html.slice(from, to).slice(0, 200)}\` must begin with a scheme, such as \`https://\`, and not with a placeholder.`,
    )
  }
}

/** Returns warnings for the sender about the frozen content of a campaign, as sentences. */
export function listContentWarnings({ html, text }: Source, postal_address: string | null): string[] {
  const bytes = Buffer.byteLength(html ?? '')
  return [
    ...(bytes > CLIPPED_AT
      ? [`The html has ${Math.ceil(bytes / 1024)} KB: Gmail hides what is beyond ${CLIPPED_AT / 1024} KB.`]
      : []),
    ...addressWarnings([html, text], postal_address),
  ]
}

function addressWarnings(parts: (string | null)[], postal_address: string | null): string[] {
  if (!postal_address) return ['There is no postal address for the footer, which the law of many countries requires.']
  if (parts.some(part => part && lettersOf(part).includes(lettersOf(postal_address)))) return []
  return [
    'The postal address is left out: with a link of its own to unsubscribe, the content gets no footer. The law of many countries ' +
      'requires the address, so write it into the content.',
  ]
}

/** Returns a text without tags, entities, spaces and punctuation, in which an address is found however it is formatted. */
function lettersOf(source: string): string {
  return source.replace(/<[^<>]*>|&#?\w+;|[^\p{L}\p{N}<>&]|[<>&]/gu, '').toLowerCase()
}
