import { type Html, html } from '#web/html.ts'
import { type Page, page, type Visit } from '#web/request/visit.ts'
import type { Field } from './field.ts'
import { filters } from './form.ts'
import { type Column, empty, type List, listQuery, pager, table } from './list.ts'

type Empty = [sentence: string, command?: string]

type ListPage<Row> = {
  path: string
  title: string
  /** Id of the operation that lists the rows. */
  operation: string
  /** By the visit where they depend on what the member may do. */
  columns: Column<Row>[] | ((visit: Visit) => Column<Row>[])
  filters?: readonly Field[]
  /** Sentence in place of an empty list, and the command that fills it. */
  empty: (visit: Visit) => Empty | Promise<Empty>
  /** Forms below the list. */
  below?: (visit: Visit) => Html | Promise<Html>
  actions?: Html
  /** Rows without pages of their own have no link. */
  hasPages?: boolean
}

/** A page of a list of the API: its filters, a table whose rows lead to their pages, and links to older and newer rows. */
export function listPage<Row extends { id: string }>(parts: ListPage<Row>): Page {
  const { path, title, operation, columns, filters: fields = [], hasPages = true } = parts
  return page(path, async visit => {
    const list = await visit.ask<List<Row>>(operation, { query: listQuery(visit, ...fields.map(({ name }) => name)) })
    const shown = typeof columns === 'function' ? columns(visit) : columns
    const nothing = list.data.length === 0 ? empty(...(await parts.empty(visit))) : html``
    const rows = { caption: `${title}, newest first`, columns: shown, rows: list.data, empty: nothing }
    return {
      title,
      ...(parts.actions ? { actions: parts.actions } : {}),
      body: html`${fields.length > 0 ? filters(visit, path, fields) : ''}
${hasPages ? table({ ...rows, link: ({ id }: Row) => `${path}/${id}` }) : table(rows)}
${pager(visit, list, path)}
${(await parts.below?.(visit)) ?? ''}`,
    }
  })
}
