import type { Source } from '#lib/contents/compile_content.ts'
import { findPlaces } from '#lib/contents/find_links.ts'
import { readTokens } from '#lib/contents/html_tokens.ts'
import { ApiError } from '#lib/errors.ts'
import { LONGEST_LINKS, personalLink } from '#lib/templates/personal_links.ts'
import { type Placeholder, placeholders } from '#lib/templates/placeholders.ts'
import { writtenNames } from './recipient_values.ts'

/** Gmail shows at most this many bytes of html. */
const CLIPPED_AT = 102 * 1024

/** Rejects html in which a value determines the scheme of a link, which could become `javascript:`. @throws {ApiError} */
export function refuseVariableSchemes(html: string): void {
  for (const { fixed, written } of listVariableLinks(html)) {
    if (/[:/?#]/.test(fixed)) continue
    throw new ApiError(
      'validation_error',
      `The link \`${written}\` must begin with a scheme, such as \`https://\`, and not with a placeholder.`,
    )
  }
}

/** A link with a value. `fixed`: what comes before the value. */
type VariableLink = { fixed: string; written: string }

function listVariableLinks(html: string): VariableLink[] {
  return findPlaces(html, slotsOf(html)).hrefs.flatMap(({ url, from, to }) => {
    const first = url.findIndex(piece => typeof piece !== 'string')
    if (first < 0) return []
    return [{ fixed: url.slice(0, first).join(''), written: writtenNames(html.slice(from, to)).slice(0, 200) }]
  })
}

/** Returns the same for a plain text, in which mail clients show URLs as links: up to the end of the value. */
function listVariableUrls(text: string): VariableLink[] {
  return slotsOf(text).flatMap(({ start, next }) => {
    const [fixed] = /\bhttps?:\/\/[^\s<>{}]{0,200}$/i.exec(text.slice(Math.max(0, start - 210), start)) ?? []
    return fixed === undefined ? [] : [{ fixed, written: writtenNames(fixed + text.slice(start, next)) }]
  })
}

function slotsOf(source: string): Placeholder[] {
  const slots = [...placeholders(source)].filter(slot => slot !== null)
  return slots.filter(({ key }) => personalLink(key, LONGEST_LINKS) === undefined)
}

/** The beginning of a URL up to a place in its host; browsers accept any number of slashes (WHATWG URL 4.4). */
const IN_HOST = /^[\0- ]*(?:https?:[/\\]*|[/\\]{2,})[^/\\?#]*$/i
/** Maximum number of links that warnings name. */
const MAX_NAMED = 5

/** Warns of links whose host a value could change: `https://acme.com{{path}}` with `.evil.com`. */
function hostWarnings({ html, text }: Source): string[] {
  const links = [...(html ? listVariableLinks(html) : []), ...(text ? listVariableUrls(text) : [])]
  const open = links.filter(({ fixed }) => IN_HOST.test(fixed.replace(/[\t\n\r]/g, '')))
  return [...new Set(open.map(({ written }) => written))]
    .slice(0, MAX_NAMED)
    .map(
      link =>
        `The host of the link \`${link}\` depends on a value, which could lead to another site: write the host in full, with a \`/\` after it.`,
    )
}

/** Returns warnings for the sender about the frozen content of a campaign, as sentences. */
export function listContentWarnings({ html, text }: Source, postal_address: string | null): string[] {
  const bytes = Buffer.byteLength(html ?? '')
  return [
    ...(bytes > CLIPPED_AT
      ? [`The html has ${Math.ceil(bytes / 1024)} KB: Gmail hides what is beyond ${CLIPPED_AT / 1024} KB.`]
      : []),
    ...hostWarnings({ html, text }),
    ...addressWarnings([html && textIn(html), text], postal_address),
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

/** Returns the text of html, decoded and without tags and comments. */
function textIn(html: string): string {
  const pieces: string[] = []
  readTokens(html, { open: () => {}, close: () => {}, text: text => pieces.push(text) })
  return pieces.join('')
}

/** Returns the letters and digits of a text, in which an address is found however it is formatted. */
function lettersOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]/gu, '').toLowerCase()
}
