import { type Html, html } from '#web/html.ts'
import { table } from './list.ts'
import { count } from './parts.ts'

/**
 * `tone`: a class of the style sheet that colors the bar. `link`: target of its row in the table. `limit`: the value of its full bar,
 * if the bars have different ones.
 */
export type Bar = { name: string; value: number; tone?: string; link?: string; limit?: number }

type Bars = {
  caption: string
  rows: readonly Bar[]
  /** The value of a full bar. Default: the greatest value. */
  total?: number
  unit?: string
}

/** A bar chart with one bar per name, and its data as a table. */
export function bars({ caption, rows, total = 0, unit = '' }: Bars): Html {
  const highest = Math.max(total, ...rows.map(({ value }) => value), 1)
  const hasShares = total > 0 || rows.some(({ limit }) => limit !== undefined)
  const textOf = ({ value, limit }: { value: number; limit?: number | undefined }) =>
    `${count(value)}${unit}${limit === undefined ? '' : ` of ${count(limit)}`}`
  // The text is not part of the drawing: it wraps on a narrow screen, and names may be in a language written from right to left.
  const shapes = rows.map(
    ({ name, value, tone = 'plain', limit }) => html`<li><bdi>${name}</bdi>: ${textOf({ value, limit })}
<svg aria-hidden="true" width="100%" height="12"><rect class="rest" width="100%" height="12" rx="2"></rect>
<rect class="${tone}" width="${Math.min((value / (limit || highest)) * 100, 100).toFixed(2)}%" height="12" rx="2"></rect></svg></li>\n`,
  )
  const columns = [
    { title: 'Name', cell: ({ name, link }: Bar) => (link ? html`<a href="${link}">${name}</a>` : name) },
    { title: 'Value', cell: textOf },
    ...(hasShares ? [{ title: 'Share', cell: ({ value, limit = total }: Bar) => percent(value, limit) }] : []),
  ]
  return html`<figure class="chart"><figcaption>${caption}</figcaption>
<ul class="bars">
${shapes}</ul>
${dataTable(table({ caption, columns, rows: [...rows], empty: html`` }))}</figure>`
}

/** One series of a chart of columns. */
export type Series = { name: string; tone: string }

type Columns = {
  caption: string
  series: readonly Series[]
  /** Values in the order of the series. */
  rows: { name: string; values: number[] }[]
}

const HEIGHT = 160

/** A chart of stacked columns in the order of time, drawn as SVG, and its data as a table. */
export function columns({ caption, series, rows }: Columns): Html {
  const most = Math.max(...rows.map(({ values }) => sum(values)), 0)
  const highest = Math.max(most, 1)
  const width = 100 / Math.max(rows.length, 1)
  const parts = rows.map(({ name, values }, n) =>
    values.map((value, k) => {
      const height = (value / highest) * HEIGHT
      const y = HEIGHT - (sum(values.slice(0, k + 1)) / highest) * HEIGHT
      if (value === 0) return ''
      return html`<rect class="${series[k]?.tone ?? ''}" x="${(n * width).toFixed(2)}%" y="${y.toFixed(1)}" width="${(width * 0.8).toFixed(2)}%" height="${height.toFixed(1)}"><title>${name}: ${count(value)} ${series[k]?.name ?? ''}</title></rect>\n`
    }),
  )
  const titles = [
    { title: 'Time', cell: ({ name }: (typeof rows)[number]) => name },
    ...series.map(({ name }, k) => ({
      title: name,
      cell: ({ values }: (typeof rows)[number]) => count(values[k] ?? 0),
    })),
  ]
  return html`<figure class="chart"><figcaption>${caption}</figcaption>
<svg role="img" aria-label="${caption}; the table below has the data" width="100%" height="${HEIGHT}">
${parts}</svg>
<p class="axis"><span>${rows[0]?.name ?? ''}</span> <span>highest: ${count(most)}</span> <span>${rows.at(-1)?.name ?? ''}</span></p>
<ul class="legend">${series.map(({ name, tone }) => html`<li><svg width="12" height="12" aria-hidden="true"><rect class="${tone}" width="12" height="12"></rect></svg> ${name}</li>`)}</ul>
${dataTable(table({ caption, columns: titles, rows, empty: html`` }))}</figure>`
}

function dataTable(data: Html): Html {
  return html`<details><summary>View as table</summary>${data}</details>`
}

/** Formats a share as a percentage with one decimal. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((part / whole) * 100).toFixed(1)}%` : 'n/a'
}

function sum(values: number[]): number {
  return values.reduce((all, value) => all + value, 0)
}
