import markdownIt, { type Token } from 'markdown-it'
import { anchorOf } from '#docs/generate/markdown.ts'

/** A heading with the text below it, up to the next heading. */
export type Part = { id: string; level: number; heading: string; text: string }
export type Rendered = { html: string; parts: Part[] }

type Options = {
  /** Returns the address for a link in the text. */
  link(target: string): string
  /** Number of levels by which headings are raised, for a part of a larger page. */
  raiseBy?: number
}

const markdown = markdownIt({ html: false, linkify: false })
const { rules } = markdown.renderer
const { escapeHtml } = markdown.utils

// `tabindex` lets the keyboard scroll the element.
rules.fence = (tokens, index) => codeBlock((tokens[index] as Token).content)
rules.code_block = rules.fence
rules.table_open = (tokens, index) =>
  `<div class="table" tabindex="0" role="region" aria-label="${labelOf(tokens, index)}"><table>\n`
rules.table_close = () => '</table></div>\n'
rules.th_open = (tokens, index) => (isEmpty(tokens, index) ? '<td>' : '<th scope="col">')
rules.th_close = (tokens, index) => (isEmpty(tokens, index - 2) ? '</td>' : '</th>')

export function codeBlock(code: string): string {
  return `<pre tabindex="0"><code>${escapeHtml(code)}</code></pre>\n`
}

/** Returns true for a column without a heading. */
function isEmpty(tokens: Token[], index: number): boolean {
  return tokens[index + 1]?.content === ''
}

/** Returns the label of a table: the heading before it. */
function labelOf(tokens: Token[], index: number): string {
  const heading = tokens.slice(0, index).findLastIndex(({ type }) => type === 'heading_open')
  return escapeHtml(`Table: ${heading === -1 ? 'overview' : textOf(tokens[heading + 1])}`)
}

/** Renders a Markdown text. `parts` are for the search; the first one may have no heading. */
export function render(text: string, { link, raiseBy = 0 }: Options): Rendered {
  const tokens = markdown.parse(text.replaceAll(/<!--.*?-->/gs, ''), {})
  const parts: Part[] = []
  const labels = new Map<string, number>()
  for (const [index, token] of tokens.entries()) {
    if (token.type === 'heading_open' || token.type === 'heading_close')
      token.tag = `h${Number(token.tag[1]) - raiseBy}`
    if (token.type === 'heading_open') {
      const heading = textOf(tokens[index + 1])
      const id = uniqueId(anchorOf(heading), labels)
      token.attrSet('id', id)
      parts.push({ id, level: Number(token.tag[1]), heading, text: '' })
    } else if (tokens[index - 1]?.type !== 'heading_open') {
      const part = parts.at(-1) ?? { id: '', level: 0, heading: '', text: '' }
      if (parts.length === 0) parts.push(part)
      if (token.content) part.text += `${textOf(token)} `
    }
    for (const child of token.children ?? []) {
      if (child.type === 'link_open') child.attrSet('href', link(String(child.attrGet('href') ?? '')))
    }
  }
  return { html: labelTables(markdown.renderer.render(tokens, markdown.options, {})), parts }
}

/** Numbers repeated headings as GitHub does. */
function uniqueId(anchor: string, known: Map<string, number>): string {
  const count = known.get(anchor) ?? 0
  known.set(anchor, count + 1)
  return count === 0 ? anchor : `${anchor}-${count}`
}

/** Returns the text of a token without formatting. */
function textOf(token: Token | undefined): string {
  const textIn = ({ type, content }: Token) => (type === 'softbreak' ? ' ' : content)
  return token?.children ? token.children.map(textIn).join('') : (token?.content ?? '')
}

/** Numbers tables with the same label, since landmarks of a page need different names. */
function labelTables(html: string): string {
  const counts = new Map<string, number>()
  return html.replaceAll(/(<div class="table" [^>]*aria-label=")([^"]*)/g, (_, before, label) => {
    const count = (counts.get(label) ?? 0) + 1
    counts.set(label, count)
    return `${before}${label}${count > 1 ? ` ${count}` : ''}`
  })
}
