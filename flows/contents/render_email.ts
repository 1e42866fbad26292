import { LRUCache } from 'lru-cache'
import { EndedThreadError } from '#lib/async/threads.ts'
import {
  type CompiledContent,
  type Filling,
  isPersonal,
  type Links,
  type Source,
} from '#lib/contents/compile_content.ts'
import { weightOf } from '#lib/contents/content_parts.ts'
import { compile, renderContent } from '#lib/contents/render_content.ts'
import type { Tracking } from '#lib/contents/track_part.ts'
import { SharedLinks, type TrackedBy } from '#lib/contents/write_tracking.ts'
import { ApiError } from '#lib/errors.ts'
import type { PersonalLinks } from '#lib/templates/personal_links.ts'
import { findContent, type StoredParts } from '#sql/contents/contents.ts'
import type { Pool } from '#sql/pool.ts'

/** The parts cannot be rendered from the stored content, now or later. */
export class RenderError extends Error {}

/** `tracking`: as in email_contents.tracking. */
type EmailParts = StoredParts & { account_id: string; id: string; tracking?: number | null }

/** Links in the message of one recipient. `tracked_by` is for emails with tracking. */
export type PersonalParts = { links: PersonalLinks; tracked_by: Omit<TrackedBy, 'source_id'> }

/**
 * Returns the parts of the message of an email, with the links of a recipient if it has personal links. Without
 * `personal` the placeholders of links stay, and nothing is tracked.
 *
 * @throws {RenderError}
 */
export type RenderEmail = (email: EmailParts, personal?: PersonalParts) => Promise<Source>

/**
 * Characters of compiled sources that a process caches. A source longer than MAX_ENTRY is read again for each email.
 */
const CACHE_SIZE = 16 << 20
const MAX_ENTRY = 2 << 20

type Compiled = { content: CompiledContent; shared: SharedLinks }
type Compilation = { account_id: string; content_id: string | null; source: Source; filling: Filling }

/**
 * Renders the parts of messages from stored content: in the worker to send them, in the API to show them. Content that
 * emails or recipients share is read and compiled once; it never changes.
 */
export function createRenderEmail(pool: Pool): RenderEmail {
  const cache = new LRUCache<string, Compiled, Compilation>({
    maxSize: CACHE_SIZE,
    maxEntrySize: MAX_ENTRY,
    sizeCalculation: ({ content: { html, text } }) => 1 + (html ? weightOf(html) : 0) + (text ? weightOf(text) : 0),
    fetchMethod: (_key, _stale, { context }) => compileSource(pool, context),
    // A pending fetch completes even if its entry is evicted from the cache meanwhile.
    ignoreFetchAbort: true,
  })

  const compiledFor = (email: EmailParts, personal: PersonalParts | undefined): Promise<Compiled> => {
    const { account_id, id, content_id, html, text, variables, renderer } = email
    const tracking = personal ? trackingOf(email.tracking ?? 0) : null
    const filling = { has_values: variables !== null, is_personal: isPersonal(renderer), tracking }
    const context = { account_id, content_id, source: { html, text }, filling }
    // The source of a single email is cached only for its other recipients.
    const isKept = content_id !== null || (personal && (html?.length ?? 0) + (text?.length ?? 0) > 0)
    return isKept
      ? cache.forceFetch(`${account_id} ${content_id ?? id} ${JSON.stringify(filling)}`, { context })
      : compileSource(pool, context)
  }

  return async (email, personal) => {
    const { html, text, content_id, id, variables, renderer } = email
    if (renderer === null) return { html, text }
    const links: Links = isPersonal(renderer) ? (personal?.links ?? 'as_written') : null
    try {
      const { content, shared } = await compiledFor(email, personal)
      const tracked = personal && { by: { ...personal.tracked_by, source_id: content_id ?? id }, shared }
      return await renderContent(content, variables, links, email.tracking ? tracked : null)
    } catch (cause) {
      if (!(cause instanceof ApiError || cause instanceof EndedThreadError)) throw cause
      throw new RenderError(`It could not be rendered: ${cause.message}`, { cause })
    }
  }
}

async function compileSource(pool: Pool, { account_id, content_id, source, filling }: Compilation): Promise<Compiled> {
  const found = content_id === null ? source : await findContent(pool, account_id, content_id)
  if (!found) throw new RenderError(`Its content ${content_id} no longer exists.`)
  return { content: await compile(found, filling), shared: new SharedLinks() }
}

const OPENS = 1
const CLICKS = 2

function trackingOf(bits: number): Tracking | null {
  return bits === 0 ? null : { opens: (bits & OPENS) > 0, clicks: (bits & CLICKS) > 0 }
}
