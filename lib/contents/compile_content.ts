import { LONGEST_LINKS, mentionsLink, type PersonalLinks, personalLink } from '#lib/templates/personal_links.ts'
import { AS_WRITTEN, type Lookup, type Part, render } from '#lib/templates/render.ts'
import { deriveText } from './derive_text.ts'
import { textTemplate } from './text_template.ts'

/**
 * Version of what turns a source into the parts of a message: `render` and `deriveText`. Each email keeps the version it
 * was accepted with, so that it keeps its bytes; a change of either that changes what they return needs another version.
 */
export const RENDERER = 1

/**
 * Version 1 with links of the recipient: the message of each recipient is composed by itself. It is a version of its own,
 * so that workers of an earlier release leave such mail to others.
 */
export const PERSONAL_RENDERER = 2
export const NEWEST_RENDERER = PERSONAL_RENDERER

/** Tells whether the messages of an email differ from recipient to recipient. */
export function isPersonal(renderer: number | null): boolean {
  return renderer === PERSONAL_RENDERER
}

/** The parts as they were given, or as the version of a template has them. */
export type Source = { html: string | null; text: string | null }

/** Says whether the text part is derived from the html. */
export function derivesText({ html, text }: { html?: unknown; text?: string | null | undefined }): boolean {
  return Boolean(html) && (text ?? null) === null
}

/** Values by key, as they were when the email was accepted; null: the source is sent as it is. */
export type Values = Record<string, string> | null

/** How a source becomes parts: with `values`, with links of the recipient (`personal`), both or neither. */
export type Filling = { has_values: boolean; is_personal: boolean }

/** Links of the recipient, for mail that has some. `as_written`: their placeholders stay, for nobody gets these parts. */
export type Links = PersonalLinks | 'as_written' | null

/** `is_text_late`: the text part is derived from each rendered html. */
export type CompiledContent = Source & { is_text_late: boolean }

/**
 * Does what is the same for all emails of a source. HTML without `text` gets a derived text part; an empty `text` next
 * to HTML means that there is to be none.
 */
export function compileContent({ html, text }: Source, { has_values, is_personal }: Filling): CompiledContent {
  if (!html || text) return { html, text, is_text_late: false }
  if (text === '') return { html, text: null, is_text_late: false }
  const isTemplate = has_values || (is_personal && mentionsLink(html))
  const derived = isTemplate ? textTemplate(html, is_personal) : deriveText(html)
  return { html, text: derived || null, is_text_late: derived === null }
}

/** @throws {ApiError} when a placeholder has no value, or a part is too long, which accepting the email has ruled out */
export function renderCompiled(content: CompiledContent, values: Values, links: Links = null): Source {
  const { html, text, is_text_late } = content
  if (!values && !links) return { html, text }
  const lookup = lookupIn(values, links)
  // Mail without values may be full of braces that are no placeholders of ours.
  const fill = (source: string | null, part: Part) =>
    source && (values || mentionsLink(source)) ? renderPart(source, part, lookup) : source
  const rendered = fill(html, 'html')
  if (is_text_late && links === 'as_written') {
    // A placeholder is no link that a text part would show.
    const { text } = renderCompiled(content, values, LONGEST_LINKS)
    return { html: rendered, text: text?.replaceAll(LONGEST_LINKS.unsubscribe_url, '{{unsubscribe_url}}') ?? null }
  }
  if (is_text_late) return { html: rendered, text: deriveText(rendered ?? '') || null }
  return { html: rendered, text: fill(text, 'text') }
}

function lookupIn(values: Values, links: Links): Lookup {
  const linkOf = (key: string) => {
    if (links === null) return undefined
    if (links === 'as_written') return personalLink(key, { unsubscribe_url: '' }) === undefined ? undefined : AS_WRITTEN
    return personalLink(key, links)
  }
  return key => {
    if (values && Object.hasOwn(values, key)) return values[key]
    return linkOf(key) ?? (values ? undefined : AS_WRITTEN)
  }
}

function renderPart(source: string, part: Part, lookup: Lookup): string {
  const steps = render(source, part, lookup)
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
