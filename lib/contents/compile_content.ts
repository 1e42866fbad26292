import { type Part, render } from '#lib/templates/render.ts'
import { deriveText } from './derive_text.ts'
import { textTemplate } from './text_template.ts'

/**
 * Version of what turns a source into the parts of a message: `render` and `deriveText`. Each email keeps the version it
 * was accepted with, so that it keeps its bytes; a change of either that changes what they return needs another version.
 */
export const RENDERER = 1

/** The parts as they were given, or as the version of a template has them. */
export type Source = { html: string | null; text: string | null }

/** Says whether the text part is derived from the html. */
export function derivesText({ html, text }: { html?: unknown; text?: string | null | undefined }): boolean {
  return Boolean(html) && (text ?? null) === null
}

/** Values by key, as they were when the email was accepted; null: the source is sent as it is. */
export type Values = Record<string, string> | null

/** `is_text_late`: the text part is derived from each rendered html. */
export type CompiledContent = Source & { is_text_late: boolean }

/**
 * Does what is the same for all emails of a source. HTML without `text` gets a derived text part; an empty `text` next
 * to HTML means that there is to be none.
 */
export function compileContent({ html, text }: Source, is_template: boolean): CompiledContent {
  if (!html || text) return { html, text, is_text_late: false }
  if (text === '') return { html, text: null, is_text_late: false }
  const derived = is_template ? textTemplate(html) : deriveText(html)
  return { html, text: derived || null, is_text_late: derived === null }
}

/** @throws {ApiError} when a placeholder has no value, or a part is too long, which accepting the email has ruled out */
export function renderCompiled({ html, text, is_text_late }: CompiledContent, values: Values): Source {
  if (!values) return { html, text }
  const rendered = html && renderPart(html, 'html', values)
  if (is_text_late) return { html: rendered, text: deriveText(rendered ?? '') || null }
  return { html: rendered, text: text && renderPart(text, 'text', values) }
}

function renderPart(source: string, part: Part, values: Record<string, string>): string {
  const steps = render(source, part, key => (Object.hasOwn(values, key) ? values[key] : undefined))
  for (;;) {
    const { done, value } = steps.next()
    if (done) return value
  }
}
