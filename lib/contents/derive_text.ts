import { CLOSED_BY_NEXT, HIDDEN, isBlock, isHidden, LINES, PARAGRAPHS, VOID } from './html_elements.ts'
import { readTokens } from './html_tokens.ts'
import { TextWriter } from './text_writer.ts'

/** Links that work in an email, or begin with the token of a placeholder (text_template.ts). Others keep only their text. */
const KEPT_LINK = /^(?:https?:|mailto:|tel:)|^[\u{F0000}-\u{FFFFD}]/iu

/** Levels below this one are not indented further, since each line repeats the indents of all levels. */
const MAX_LEVELS = 20

type Link = { href: string; start: number }
/** `next` numbers the items of an ordered list. */
type Level = { kind: 'quote' | 'list'; indent: string; next: number | null }
/** `depth` counts the open elements of this name, including the hidden one itself. */
type Hidden = { name: string; depth: number }

/**
 * Returns the plain text of HTML for the text part of a message (RFC 2046 section 5.1.4): paragraphs as blocks, marked list
 * items, links as their text followed by `<address>` (RFC 3986 appendix C). Lines are not wrapped.
 *
 * It takes one pass over the tokens, without a tree, so the time is linear in the length and nesting may be of any depth.
 */
export function deriveText(html: string): string {
  const reader = new HtmlReader()
  readTokens(html, reader)
  return reader.end()
}

class HtmlReader {
  readonly #writer = new TextWriter()
  #link: Link | null = null
  readonly #levels: Level[] = []
  #hidden: Hidden | null = null
  #preformatted = 0

  open(name: string, attributes: Record<string, string>): void {
    if (this.#hidden && !this.#endsHidden(name)) return
    if (HIDDEN.has(name) || isHidden(attributes)) {
      if (!VOID.has(name)) this.#hidden = { name, depth: 1 }
      return
    }
    this.#break(name)
    if (name === 'br') this.#writer.newline()
    else if (name === 'hr') this.#rule()
    else if (name === 'img') this.text(attributes.alt ?? '')
    else if (name === 'td' || name === 'th') this.#writer.space()
    else if (name === 'a') this.#openLink(attributes.href)
    else if (name === 'pre') this.#preformatted++
    else if (name === 'blockquote') this.#openLevel('quote', '> ', null)
    else if (name === 'ul' || name === 'ol') this.#openList(name, attributes.start)
    else if (name === 'li') this.#writer.mark(this.#nextMark())
  }

  close(name: string): void {
    if (this.#hidden) {
      if (name === this.#hidden.name && --this.#hidden.depth === 0) this.#hidden = null
      return
    }
    if (name === 'a') this.#closeLink()
    else if (name === 'pre') this.#preformatted = Math.max(0, this.#preformatted - 1)
    else if (name === 'blockquote') this.#closeLevel('quote')
    else if (name === 'ul' || name === 'ol') this.#closeLevel('list')
    this.#break(name)
  }

  text(text: string): void {
    if (this.#hidden) return
    if (this.#preformatted > 0) this.#writer.putLines(text)
    else this.#writer.putWords(text)
  }

  end(): string {
    this.#closeLink()
    return this.#writer.end()
  }

  /** Tells whether a start tag ends the hidden element, whose end tag is missing. */
  #endsHidden(name: string): boolean {
    const hidden = this.#hidden as Hidden
    const isSame = name === hidden.name
    if (CLOSED_BY_NEXT.has(hidden.name) && (isSame || (hidden.name === 'p' && isBlock(name)))) {
      this.#hidden = null
      return true
    }
    if (isSame) hidden.depth++
    return false
  }

  #break(name: string): void {
    // A list inside a list continues without a blank line.
    const isInner = (name === 'ul' || name === 'ol') && this.#list() !== undefined
    if (PARAGRAPHS.has(name) && !isInner) this.#writer.breakLines(2)
    else if (isInner || LINES.has(name)) this.#writer.breakLines(1)
  }

  #rule(): void {
    this.#writer.put('----------')
    this.#writer.breakLines(2)
  }

  #openLink(href: string | undefined): void {
    this.#closeLink() // a link inside a link ends it
    const target = href?.trim() ?? ''
    if (KEPT_LINK.test(target)) this.#link = { href: target, start: this.#writer.position() }
  }

  #closeLink(): void {
    if (!this.#link) return
    const { href, start } = this.#link
    this.#link = null
    if (!showsTarget(this.#writer.since(start).trim(), href)) this.#writer.putBehind(`<${href}>`)
  }

  #openList(name: string, start: string | undefined): void {
    const first = Number.parseInt(start ?? '1', 10)
    this.#openLevel('list', this.#list() ? '  ' : '', name === 'ul' ? null : Number.isNaN(first) ? 1 : first)
  }

  #nextMark(): string {
    const list = this.#list()
    return list && list.next !== null ? `${list.next++}. ` : '- '
  }

  #list(): Level | undefined {
    return this.#levels.findLast(({ kind }) => kind === 'list')
  }

  #openLevel(kind: Level['kind'], indent: string, next: number | null): void {
    if (this.#levels.length >= MAX_LEVELS) return
    this.#levels.push({ kind, indent, next })
    this.#indent()
  }

  #closeLevel(kind: Level['kind']): void {
    const index = this.#levels.findLastIndex(level => level.kind === kind)
    if (index < 0) return
    this.#levels.length = index
    this.#indent()
  }

  #indent(): void {
    this.#writer.indent = this.#levels.map(({ indent }) => indent).join('')
  }
}

/** Tells whether a link shows its target as its text. */
function showsTarget(label: string, href: string): boolean {
  const bare = (text: string) => text.replace(/^(?:mailto|tel):|\/$/gi, '').toLowerCase()
  return bare(label) === bare(href)
}
