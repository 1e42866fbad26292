import { type Html, html } from '#web/html.ts'
import type { Visit } from '#web/request/visit.ts'

/** A list as the API returns it. */
export type List<Row> = { has_more: boolean; data: Row[] }

export type Column<Row> = { title: string; cell(row: Row): Html | string | number }

type TableParts<Row> = {
  caption: string
  columns: Column<Row>[]
  rows: Row[]
  /** Returns the path of the page of a row. The first cell links to it. */
  link?: (row: Row) => string
  /** Shown in place of an empty table. */
  empty: Html
}

/** Text of the link of a row without a name, such as an email whose recipient was erased. */
const NO_NAME = '(none)'

/** A table whose rows link to their pages. */
export function table<Row>({ caption, columns, rows, link, empty }: TableParts<Row>): Html {
  if (rows.length === 0) return empty
  const cells = (row: Row) =>
    columns.map(({ cell }, n) =>
      n === 0
        ? html`<th scope="row">${link ? html`<a href="${link(row)}">${cell(row) || NO_NAME}</a>` : cell(row)}</th>`
        : html`<td>${cell(row)}</td>`,
    )
  // `tabindex` lets the keyboard scroll a table that is wider than the screen.
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${columns.map(({ title }) => html`<th scope="col">${title}</th>`)}</tr></thead>
<tbody>
${rows.map(row => html`<tr>${cells(row)}</tr>\n`)}</tbody>
</table></div>`
}

/** An empty list: a sentence, and a command that adds the first record. */
export function empty(sentence: string, command?: string): Html {
  return html`<div class="empty"><p>${sentence}</p>${command ? html`<pre tabindex="0"><code>${command}</code></pre>` : ''}</div>`
}

/** A curl command for a request to the API of this server. */
export function curl(visit: Visit, method: string, path: string, body?: object): string {
  const url = `${visit.ctx.config.BASE_URL}/api${path}`
  const head = `curl ${method === 'GET' ? '' : `-X ${method} `}${PLAIN_URL.test(url) ? url : quote(url)} -H 'Authorization: Bearer mb_...'`
  if (!body) return head
  return `${head} \\\n  -H 'Content-Type: application/json' -d ${quote(JSON.stringify(body))}`
}

/** A URL that a shell takes as it is. In others, such as the path of a logged request, a shell could find a command. */
const PLAIN_URL = /^[\w:/.@%~-]+$/

/** Quotes a text for a shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

/** Links to the newer and the older rows. */
export function pager<Row extends { id: string }>({ path, query }: Visit, { has_more, data }: List<Row>): Html {
  const { after, before } = query
  const [first, last] = [data[0], data.at(-1)]
  const hasNewer = before ? has_more : Boolean(after)
  const hasOlder = before ? true : has_more
  const link = (cursor: 'after' | 'before', id: string) => {
    const { after, before, ...others } = query
    return `${path}?${new URLSearchParams({ ...others, [cursor]: id })}`
  }
  if (!first || !last || (!hasNewer && !hasOlder)) return html``
  return html`<nav class="pager" aria-label="Pages">
${hasNewer ? html`<a rel="prev" href="${link('before', first.id)}">Newer</a>` : ''}
${hasOlder ? html`<a rel="next" href="${link('after', last.id)}">Older</a>` : ''}
</nav>`
}

/** Returns the query for a list operation: the cursors, and the named filters that are not empty. */
export function listQuery(visit: Visit, ...names: string[]): Record<string, string> {
  const filters = ['after', 'before', ...names].flatMap(name => (visit.query[name] ? [[name, visit.query[name]]] : []))
  return { limit: '50', ...Object.fromEntries(filters) }
}
