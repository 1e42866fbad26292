import { LRUCache } from 'lru-cache'
import { EndedThreadError } from '#lib/async/threads.ts'
import type { CompiledContent, Source, Values } from '#lib/contents/compile_content.ts'
import { compile, renderContent } from '#lib/contents/render_content.ts'
import { ApiError } from '#lib/errors.ts'
import { findContent } from '#sql/contents/contents.ts'
import type { Pool } from '#sql/pool.ts'

/** What an email stores of its parts; `html` and `text` are null where `content_id` refers to a shared source. */
type StoredParts = Source & {
  account_id: string
  content_id: string | null
  variables: Values
  /** Null: the parts are `html` and `text` as they are. */
  renderer: number | null
}

/** The parts cannot be made from what is stored, now or later. */
export class RenderError extends Error {}

/** Returns the parts of the message of an email. @throws {RenderError} */
export type RenderEmail = (email: StoredParts) => Promise<Source>

/** Characters of compiled sources that a process remembers. A longer one than MAX_ENTRY is read for each email. */
const CACHE_SIZE = 16 << 20
const MAX_ENTRY = 2 << 20

/**
 * Makes the parts of messages from what is stored: in the worker to send them, in the API to show them. What emails share
 * is read and compiled once; it never changes.
 */
export function createRenderEmail(pool: Pool): RenderEmail {
  const shared = new LRUCache<string, CompiledContent>({
    maxSize: CACHE_SIZE,
    maxEntrySize: MAX_ENTRY,
    sizeCalculation: ({ html, text }) => 1 + (html?.length ?? 0) + (text?.length ?? 0),
  })
  const underWay = new Map<string, Promise<CompiledContent>>()

  const compileShared = async (account_id: string, content_id: string, is_template: boolean) => {
    const source = await findContent(pool, account_id, content_id)
    if (!source) throw new RenderError(`Its content ${content_id} no longer exists.`)
    return compile(source, is_template)
  }

  const findShared = (account_id: string, content_id: string, is_template: boolean) => {
    const key = `${account_id} ${content_id} ${is_template}`
    const known = shared.get(key) ?? underWay.get(key)
    if (known) return known
    const compiling = compileShared(account_id, content_id, is_template)
      .then(content => {
        shared.set(key, content)
        return content
      })
      .finally(() => underWay.delete(key))
    underWay.set(key, compiling)
    return compiling
  }

  return async ({ account_id, content_id, html, text, variables, renderer }) => {
    if (renderer === null) return { html, text }
    const is_template = variables !== null
    try {
      const content = content_id
        ? await findShared(account_id, content_id, is_template)
        : await compile({ html, text }, is_template)
      return await renderContent(content, variables)
    } catch (cause) {
      if (!(cause instanceof ApiError || cause instanceof EndedThreadError)) throw cause
      throw new RenderError(`It could not be rendered: ${cause.message}`, { cause })
    }
  }
}
