import { LRUCache } from 'lru-cache'
import { EndedThreadError } from '#lib/async/threads.ts'
import {
  type CompiledContent,
  type Filling,
  isPersonal,
  type Links,
  type Source,
} from '#lib/contents/compile_content.ts'
import { compile, renderContent } from '#lib/contents/render_content.ts'
import { ApiError } from '#lib/errors.ts'
import type { PersonalLinks } from '#lib/templates/personal_links.ts'
import { findContent, type StoredParts } from '#sql/contents/contents.ts'
import type { Pool } from '#sql/pool.ts'

/** The parts cannot be made from what is stored, now or later. */
export class RenderError extends Error {}

/**
 * Returns the parts of the message of an email, with the links of a recipient if it has such links. Without `links` their
 * placeholders stay.
 *
 * @throws {RenderError}
 */
export type RenderEmail = (email: StoredParts & { account_id: string }, links?: PersonalLinks) => Promise<Source>

/** Characters of compiled sources that a process remembers. A longer one than MAX_ENTRY is read for each email. */
const CACHE_SIZE = 16 << 20
const MAX_ENTRY = 2 << 20

type SharedContent = { account_id: string; content_id: string; filling: Filling }

/**
 * Makes the parts of messages from what is stored: in the worker to send them, in the API to show them. What emails share
 * is read and compiled once; it never changes.
 */
export function createRenderEmail(pool: Pool): RenderEmail {
  const cache = new LRUCache<string, CompiledContent, SharedContent>({
    maxSize: CACHE_SIZE,
    maxEntrySize: MAX_ENTRY,
    sizeCalculation: ({ html, text }) => 1 + (html?.length ?? 0) + (text?.length ?? 0),
    fetchMethod: (_key, _stale, { context }) => compileShared(pool, context),
    // A content that is waited for arrives, also when others have taken its place in the cache.
    ignoreFetchAbort: true,
  })

  return async ({ account_id, content_id, html, text, variables, renderer }, links) => {
    if (renderer === null) return { html, text }
    const filling = { has_values: variables !== null, is_personal: isPersonal(renderer) }
    const given: Links = filling.is_personal ? (links ?? 'as_written') : null
    try {
      const content = content_id
        ? await cache.forceFetch(`${account_id} ${content_id} ${JSON.stringify(filling)}`, {
            context: { account_id, content_id, filling },
          })
        : await compile({ html, text }, filling)
      return await renderContent(content, variables, given)
    } catch (cause) {
      if (!(cause instanceof ApiError || cause instanceof EndedThreadError)) throw cause
      throw new RenderError(`It could not be rendered: ${cause.message}`, { cause })
    }
  }
}

async function compileShared(pool: Pool, { account_id, content_id, filling }: SharedContent) {
  const source = await findContent(pool, account_id, content_id)
  if (!source) throw new RenderError(`Its content ${content_id} no longer exists.`)
  return compile(source, filling)
}
