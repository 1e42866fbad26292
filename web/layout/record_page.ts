import { type Html, html } from '#web/html.ts'
import { nullIfNotFound } from '#web/request/call_api.ts'
import { type Page, type PageContent, page, type Visit } from '#web/request/visit.ts'

/** Declares a page for the record that the parameters of the path name. Responds with 404 if it does not exist. */
export function recordPage<Row>(
  path: string,
  operation: string,
  show: (row: Row, visit: Visit) => PageContent | Promise<PageContent>,
): Page {
  return page(path, async visit => {
    const row = await nullIfNotFound(visit.call<Row>(operation, { params: visit.params }))
    if (row) return show(row, visit)
    return { title: 'Not found', status: 404, body: html`<p>This record does not exist or was deleted.</p>` }
  })
}

/** A link to a record with its name, which the operation finds. */
export async function recordLink(visit: Visit, operation: string, path: string, id: string): Promise<Html> {
  const found = await nullIfNotFound(visit.call<{ name: string }>(operation, { params: { id } }))
  return found
    ? html`<a href="${path}/${id}">${found.name || '(no name)'}</a>`
    : html`<span class="missing">deleted</span>`
}

/** Returns the id in the path, as the parameters of an operation. */
export function idOf(visit: Visit): { id: string } {
  return { id: visit.params.id as string }
}
