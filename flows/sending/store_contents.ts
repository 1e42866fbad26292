import type { SharedSource } from '#flows/contents/share_contents.ts'
import type { ReadHtml } from '#flows/templates/render_parts.ts'
import { LongHtml } from '#lib/sending/long_html.ts'
import { type NewContent, storeContents } from '#sql/contents/contents.ts'
import type { Queryable } from '#sql/pool.ts'
import type { Draft } from '#sql/sending/accept/drafts.ts'

/** Stores the contents that drafts refer to, before the drafts; contents of refused drafts are left out. */
export async function storeReferredContents(
  db: Queryable,
  account_id: string,
  contents: SharedSource[],
  drafts: Draft[],
  readHtml: ReadHtml,
): Promise<void> {
  const referred = new Set(drafts.flatMap(({ refusal, content_id }) => (refusal || !content_id ? [] : [content_id])))
  const kept = contents.filter(({ id }) => referred.has(id))
  const inMemory = kept.filter(hasHtmlInMemory)
  if (inMemory.length > 0) await storeContents(db, account_id, inMemory)
  // One at a time: together they may not fit into the memory of the process.
  for (const { html, ...content } of kept) {
    if (html instanceof LongHtml) await storeContents(db, account_id, [{ ...content, html: await readHtml(html) }])
  }
}

function hasHtmlInMemory(source: SharedSource): source is NewContent {
  return !(source.html instanceof LongHtml)
}
