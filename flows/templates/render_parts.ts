import { inTurns, type Turns } from '#lib/async/turns.ts'
import { ApiError } from '#lib/errors.ts'
import { MAX_SUBJECT_LENGTH } from '#lib/mail/mail_fields.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import type { CompleteEmail } from '#lib/sending/new_email.ts'
import { type Lookup, type Part, render } from '#lib/templates/render.ts'

/**
 * An email whose `html` and `text` are sources: `variables` are put in when it is sent, as they are now. Without them the
 * sources are sent as they are. `content_id`: other emails have the same source, which is stored once.
 */
export type ResolvedEmail = Omit<CompleteEmail, 'html'> & {
  html?: string | LongHtml | null | undefined
  variables?: Record<string, string> | undefined
  content_id?: string | undefined
  /** Bytes of the rendered parts, of one that is rendered. */
  sizes?: { html: number; text: number } | undefined
}

/** Reads html that was stored while it arrived. */
export type ReadHtml = (html: LongHtml) => Promise<string>

export type Rendering = { readHtml: ReadHtml; turns: Turns }

/** Returns the bytes of a source. */
export function sizeOf(source: string | LongHtml | null | undefined): number {
  return source instanceof LongHtml ? source.size : Buffer.byteLength(source ?? '')
}

/** Puts the variables into the subject, and into the parts to see that it can be done. @throws {ApiError} */
export async function renderParts(
  email: ResolvedEmail,
  lookup: Lookup,
  { readHtml, turns }: Rendering,
): Promise<ResolvedEmail> {
  const subject = await inTurns(render(email.subject, 'subject', lookup), turns)
  if (subject.length > MAX_SUBJECT_LENGTH) {
    throw new ApiError(
      'validation_error',
      `The rendered \`subject\` must have at most ${MAX_SUBJECT_LENGTH} characters.`,
    )
  }
  const values = new Map<string, string>()
  let isTemplate = false
  const recording: Lookup = (key, has_fallback) => {
    isTemplate = true
    const value = lookup(key, has_fallback)
    if (value !== undefined) values.set(key, String(value))
    return value
  }
  const measure = async (source: string | null | undefined, part: Part) =>
    source ? Buffer.byteLength(await inTurns(render(source, part, recording), turns)) : 0
  const html = email.html instanceof LongHtml ? await readHtml(email.html) : email.html
  const sizes = { html: await measure(html, 'html'), text: await measure(email.text, 'text') }
  return { ...email, subject, sizes, variables: isTemplate ? Object.fromEntries(values) : undefined }
}
