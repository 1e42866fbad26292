import { type Html, html } from '#web/html.ts'
import { table } from './list.ts'
import { count } from './parts.ts'

/** `tone`: a class of the style sheet, which tells good from bad; the names do it, too. `link`: of its row in the table. */
export type Bar = { name: string; value: number; tone?: string; link?: string }

type Bars = {
  caption: string
  rows: readonly Bar[]
  /** The value of a full bar; default: the greatest. */
  whole?: number
  unit?: string
}

const ROW = 44

/** Bars beside each other's names, drawn by the server, and the same as a table. */
export function bars({ caption, rows, whole = 0, unit = '' }: Bars): Html {
  const most = Math.max(whole, ...rows.map(({ value }) => value), 1)
  const shown = rows.map(
    (
      { name, value, tone = 'plain' },
      n,
    ) => html`<text x="0" y="${n * ROW + 14}">${clip(name)}: ${count(value)}${unit}</text>
<rect class="rest" x="0" y="${n * ROW + 20}" width="100%" height="12" rx="2"></rect>
<rect class="${tone}" x="0" y="${n * ROW + 20}" width="${((value / most) * 100).toFixed(2)}%" height="12" rx="2"></rect>\n`,
  )
  const columns = [
    { title: 'Name', cell: ({ name, link }: Bar) => (link ? html`<a href="${link}">${name}</a>` : name) },
    { title: 'Number', cell: ({ value }: Bar) => `${count(value)}${unit}` },
    ...(whole > 0 ? [{ title: 'Share', cell: ({ value }: Bar) => percent(value, whole) }] : []),
  ]
  return html`<figure class="chart"><figcaption>${caption}</figcaption>
<svg role="img" aria-label="${caption}; the table below has the figures" width="100%" height="${rows.length * ROW}">
${shown}</svg>
${figures(table({ caption, columns, rows: [...rows], empty: html`` }))}</figure>`
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

/** Columns of parts on top of each other, from left to right in the order of time, and the same as a table. */
export function columns({ caption, series, rows }: Columns): Html {
  const most = Math.max(...rows.map(({ values }) => sum(values)), 1)
  const wide = 100 / Math.max(rows.length, 1)
  const parts = rows.map(({ name, values }, n) =>
    values.map((value, k) => {
      const height = (value / most) * HEIGHT
      const y = HEIGHT - (sum(values.slice(0, k + 1)) / most) * HEIGHT
      if (value === 0) return ''
      return html`<rect class="${series[k]?.tone ?? ''}" x="${(n * wide).toFixed(2)}%" y="${y.toFixed(1)}" width="${(wide * 0.8).toFixed(2)}%" height="${height.toFixed(1)}"><title>${name}: ${count(value)} ${series[k]?.name ?? ''}</title></rect>\n`
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
<svg role="img" aria-label="${caption}; the table below has the figures" width="100%" height="${HEIGHT}">
${parts}</svg>
<p class="axis"><span>${rows[0]?.name ?? ''}</span> <span>at most ${count(most)}</span> <span>${rows.at(-1)?.name ?? ''}</span></p>
<ul class="legend">${series.map(({ name, tone }) => html`<li><svg width="12" height="12" aria-hidden="true"><rect class="${tone}" width="12" height="12"></rect></svg> ${name}</li>`)}</ul>
${figures(table({ caption, columns: titles, rows, empty: html`` }))}</figure>`
}

function figures(shown: Html): Html {
  return html`<details><summary>Figures</summary>${shown}</details>`
}

/** A share in percent with one decimal; of nothing it is none. */
export function percent(part: number, whole: number): string {
  return whole > 0 ? `${((part / whole) * 100).toFixed(1)} %` : 'none'
}

function sum(values: number[]): number {
  return values.reduce((all, value) => all + value, 0)
}

/** The whole name is in the table. */
function clip(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60).toWellFormed()}…` : name
}
