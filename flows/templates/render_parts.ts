import { runInSlices, type TimeSlice } from '#lib/async/time_slice.ts'
import { insertPoll, insertPollText } from '#lib/contents/insert_poll.ts'
import { ApiError } from '#lib/errors.ts'
import { MAX_SUBJECT_LENGTH } from '#lib/mail/mail_fields.ts'
import { pollKeyOf, pollOfContent } from '#lib/polls/poll_of_content.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import type { CompleteEmail } from '#lib/sending/new_email.ts'
import {
  LONGEST_LINKS,
  LONGEST_WITHOUT_POLL,
  mentionsLink,
  type PersonalLinks,
  personalLink,
} from '#lib/templates/personal_links.ts'
import { AS_WRITTEN, type Lookup, type Part, render } from '#lib/templates/render.ts'

/**
 * An email whose `html` and `text` are sources. `variables`: inserted when it is sent, with their current values;
 * without them the sources are sent as they are. `content_id`: set if other emails have the same source, which is then
 * stored once.
 */
export type ResolvedEmail = Omit<CompleteEmail, 'html'> & {
  html?: string | LongHtml | null | undefined
  variables?: Record<string, string> | undefined
  content_id?: string | undefined
  /** Bytes of the rendered parts, if the email is rendered. */
  sizes?: { html: number; text: number } | undefined
  /** True if the parts have links that differ per recipient. */
  has_links?: boolean | undefined
}

/** Inserts the given poll into the parts, which then differ from those of a template. */
export function withPoll(email: ResolvedEmail): ResolvedEmail {
  const { poll, html = null, text = null } = email
  if (!poll) return email
  const parts =
    html instanceof LongHtml
      ? { html: html.withPoll(poll), text: text && insertPollText(text, poll) }
      : insertPoll({ html, text }, poll)
  return { ...email, ...parts, content_id: undefined }
}

/** Reads html that was stored while it arrived. */
export type ReadHtml = (html: LongHtml) => Promise<string>

export type Rendering = { readHtml: ReadHtml; slice: TimeSlice }

/** Returns the bytes of a source. */
export function sizeOf(source: string | LongHtml | null | undefined): number {
  return source instanceof LongHtml ? source.size : Buffer.byteLength(source ?? '')
}

type Renderable = Pick<ResolvedEmail, 'subject' | 'html' | 'text' | 'poll'>
type Measured = Pick<ResolvedEmail, 'sizes' | 'has_links' | 'poll'>

/**
 * Inserts the variables into the subject, and renders the parts once to check that they can be sent. @throws {ApiError}
 */
export async function renderParts<Email extends Renderable>(
  email: Email,
  lookup: Lookup,
  rendering: Rendering,
): Promise<Email & Measured & Pick<ResolvedEmail, 'variables'>> {
  const subject = await runInSlices(render(email.subject, 'subject', lookup), rendering.slice)
  if (subject.length > MAX_SUBJECT_LENGTH) {
    throw new ApiError(
      'validation_error',
      `The rendered \`subject\` must have at most ${MAX_SUBJECT_LENGTH} characters.`,
    )
  }
  const values = new Map<string, string>()
  let isTemplate = false
  const measured = await measureParts({ ...email, subject }, rendering, (key, has_fallback) => {
    isTemplate = true
    const value = lookup(key, has_fallback)
    if (typeof value === 'string' || typeof value === 'number') values.set(key, String(value))
    return value
  })
  return { ...measured, variables: isTemplate ? Object.fromEntries(values) : undefined }
}

/** Measures an email without variables: only placeholders of personal links are replaced. @throws {ApiError} */
export async function findLinks(email: ResolvedEmail, rendering: Rendering): Promise<ResolvedEmail> {
  if (!mayHaveLink(email.html) && !mayHaveLink(email.text)) return email
  const links = linksOf(email)
  const lookup: Lookup = key => (personalLink(key, links) === undefined ? AS_WRITTEN : undefined)
  const measured = await measureParts(email, rendering, lookup, mayHaveLink)
  return measured.has_links ? measured : email
}

/** Returns the longest possible links of recipients. */
function linksOf({ poll }: Renderable): PersonalLinks {
  return poll === null ? LONGEST_WITHOUT_POLL : LONGEST_LINKS
}

type PartSource = ResolvedEmail['html']

function mayHaveLink(source: PartSource): boolean {
  if (source instanceof LongHtml) return source.mentions_link
  return source ? mentionsLink(source) : false
}

/**
 * Measures the rendered parts. A key that `lookup` does not know may be a link of the recipient. `isRendered`: tells
 * which parts are rendered; others are sent as they are.
 */
async function measureParts<Email extends Renderable>(
  email: Email,
  { readHtml, slice }: Rendering,
  lookup: Lookup,
  isRendered: (source: PartSource) => boolean = Boolean,
): Promise<Email & Measured> {
  const links = linksOf(email)
  const pollKeys = new Set<string>()
  let has_links = false
  const recording: Lookup = (key, has_fallback) => {
    const value = lookup(key, has_fallback)
    const link = value === undefined ? personalLink(key, links) : undefined
    has_links ||= link !== undefined
    const option = link === undefined ? null : pollKeyOf(key)
    if (option !== null) pollKeys.add(option)
    return value ?? link
  }
  const measure = async (source: PartSource, part: Part) => {
    if (!source || !isRendered(source)) return sizeOf(source)
    const text = source instanceof LongHtml ? await readHtml(source) : source
    return Buffer.byteLength(await runInSlices(render(text, part, recording), slice))
  }
  const sizes = { html: await measure(email.html, 'html'), text: await measure(email.text, 'text') }
  return { ...email, sizes, has_links, poll: pollOfContent(email.poll ?? null, pollKeys, () => email.subject) }
}
