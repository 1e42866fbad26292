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
  /** A function if the columns depend on the member or on other records. */
  columns: Column<Row>[] | ((visit: Visit) => Column<Row>[] | Promise<Column<Row>[]>)
  filters?: readonly Field[]
  /** The sentence for an empty list, and a command that adds the first record. */
  empty: (visit: Visit) => Empty | Promise<Empty>
  /** Forms below the list, for members who may change something. */
  below?: (visit: Visit) => Html | Promise<Html>
  actions?: Html
  /** False if the rows have no pages of their own. Default: true. */
  hasPages?: boolean
}

/** Declares a page for a list of the API: filters, a table, and links to older and newer rows. */
export function listPage<Row extends { id: string }>(parts: ListPage<Row>): Page {
  const { path, title, operation, columns, filters: fields = [], hasPages = true } = parts
  const show: Page['show'] = async visit => {
    const list = await visit.call<List<Row>>(operation, { query: listQuery(visit, ...fields.map(({ name }) => name)) })
    const visibleColumns = typeof columns === 'function' ? await columns(visit) : columns
    const emptyHtml = list.data.length === 0 ? empty(...(await parts.empty(visit))) : html``
    const rows = { caption: `${title}, newest first`, columns: visibleColumns, rows: list.data, empty: emptyHtml }
    return {
      title,
      ...(parts.actions ? { actions: parts.actions } : {}),
      body: html`${fields.length > 0 ? filters(visit, path, fields) : ''}
${hasPages ? table({ ...rows, link: ({ id }: Row) => `${path}/${id}` }) : table(rows)}
${pager(visit, list)}
${visit.mayChange ? ((await parts.below?.(visit)) ?? '') : ''}`,
    }
  }
  return fields.length > 0 ? page(path, show, filtersOf(path, title, fields)) : page(path, show)
}

/** Keeps the filters on the page if one of them is rejected. */
export function filtersOf(path: string, title: string, fields: readonly Field[]): Required<Pick<Page, 'showFilters'>> {
  return { showFilters: visit => ({ title, body: filters(visit, path, fields) }) }
}
