import { html } from '#web/html.ts'
import { orNull } from '#web/request/ask.ts'
import { type Page, page, type Shown, type Visit } from '#web/request/visit.ts'

/** A page of one record of the API, which the parameters of the path name; 404 if there is none. */
export function recordPage<Row>(
  path: string,
  operation: string,
  show: (row: Row, visit: Visit) => Shown | Promise<Shown>,
): Page {
  return page(path, async visit => {
    const row = await orNull(visit.ask<Row>(operation, { params: visit.params }))
    if (row) return show(row, visit)
    return { title: 'Not found', status: 404, body: html`<p>There is no such record, or it was deleted.</p>` }
  })
}

/** The parameter of the path, as operations take it. */
export function idOf(visit: Visit): { id: string } {
  return { id: visit.params.id as string }
}
