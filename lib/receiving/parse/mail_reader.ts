import type { Transform } from 'node:stream'
import { MailParser } from 'mailparser'
import { MAX_HEADERS, MAX_PARTS } from '#lib/mail/parts/limits.ts'
import { Base64PartDecoder, type Note } from '#lib/receiving/rebuild/base64_part.ts'
import { dispositionOf } from './disposition_of.ts'
import { prepareLine } from './header_line.ts'
import type { Decoder, FoundText, Internals, Line, Mailbox, Node, Split } from './mailparser_types.ts'
import { mixedName } from './mixed_name.ts'
import { QuotedDecoder } from './quoted_decoder.ts'
import { PlatformDecoder, TextPartDecoder } from './text_decoder.ts'
import { unflow } from './unflow.ts'

const Base = MailParser as unknown as new (options: object) => Internals

const OPTIONS = {
  skipHtmlToText: true,
  skipTextToHtml: true,
  skipImageLinks: true,
  skipTextLinks: true,
  keepDeliveryStatus: true, // it becomes a file, which is parsed elsewhere
  ignoreEmbedded: true, // messages within a message are files, so their nesting does not matter
  maxHeadSize: MAX_HEADERS,
  maxChildNodes: MAX_PARTS,
}

/** Only these header fields of the message are read, and of the first kind only the first occurrence. */
const SINGLE_FIELDS = new Set(['from', 'sender', 'reply-to', 'subject'])
const REPEATABLE_FIELDS = new Set(['to', 'cc', 'bcc'])
const GUESSED = 'guessed'
const JAPANESE = /^(cs)?iso-?2022-?jp|^jis/i

/** Name under which the headers of a part keep the sender's declarations, since mailparser guesses by the file's name. */
export const DECLARED = ':declared'
export type Declared = {
  type: string
  method: string | undefined
  charset: string | undefined
  disposition: 'attachment' | 'inline'
}

/** mailparser without its costly features, and with the first of two headers instead of the last (reliability F13). */
export class MailReader extends Base {
  readonly #note: Note
  /** Number of children so far, per multipart. */
  readonly #children = new WeakMap<Split, number>()

  constructor(note: Note) {
    super(OPTIONS)
    this.#note = note
  }

  override getDecoder(): Decoder {
    const known = super.getDecoder()
    const find = (charset: string): Transform | null => {
      if (charset === GUESSED) return null
      if (JAPANESE.test(charset)) return new PlatformDecoder('iso-2022-jp')
      try {
        return known.decodeStream(charset)
      } catch {
        return null // an unknown charset
      }
    }
    return { decodeStream: charset => new TextPartDecoder(charset, find) }
  }

  override processHeaders(lines: Line[]): Map<string, unknown> {
    const isRoot = !this.tree
    const seen = new Set<string>()
    const wanted = lines.filter(({ key }) => {
      if (key === 'content-id') return true
      if (!isRoot || seen.has(key)) return isRoot && REPEATABLE_FIELDS.has(key)
      seen.add(key)
      return SINGLE_FIELDS.has(key) || REPEATABLE_FIELDS.has(key)
    })
    return super.processHeaders(wanted.map(prepareLine))
  }

  /**
   * Keeps punycode as it was written: all other domains are stored in ASCII, and in Unicode one may look like another.
   */
  override decodeAddresses(mailboxes: Mailbox[]): void {
    const written = mailboxes.map(({ address = '' }) => address)
    super.decodeAddresses(mailboxes)
    for (const [n, address] of written.entries())
      if (address.lastIndexOf('@xn--') > address.lastIndexOf('?')) (mailboxes[n] as Mailbox).address = address
  }

  override createNode(split: Split): Node {
    const type = split.contentType || ''
    // An invalid type counts as text (RFC 2045 section 5.2).
    if (!type.includes('/')) split.contentType = 'text/plain'
    split.filename = mixedName(split) ?? split.filename
    const isText = this.#isText(split)
    const disposition = dispositionOf(split)
    // This makes mailparser treat the part as a file.
    if (!isText) split.disposition = 'attachment'
    if (split.encoding === 'quoted-printable') split.getDecoder = () => new QuotedDecoder()
    if (split.encoding === 'base64') split.getDecoder = () => new Base64PartDecoder(isText, this.#note)
    const node = super.createNode(split)
    node.flow = split.flowed ? { delSp: split.delSp } : null
    split.flowed = false // else mailparser would unflow it
    const charset = (split.charset || 'utf-8').toLowerCase().replace(/[^a-z0-9]+/g, '')
    if (['utf8', 'ascii', 'usascii'].includes(charset)) node.charset = GUESSED
    const { method, charset: declared } = split._parsedContentType.params
    node.headers.set(DECLARED, { type, method, charset: declared, disposition } satisfies Declared)
    return node
  }

  /**
   * Tells whether a part belongs to the text of the message (RFC 8621 4.1.4, `isInline`). An inline part with a file name is a
   * file even as the first part, or its name would be lost.
   */
  #isText(split: Split): boolean {
    const { parentNode, contentType, disposition, filename } = split
    const position = parentNode ? (this.#children.get(parentNode) ?? 0) : 0
    if (parentNode) this.#children.set(parentNode, position + 1)
    if (contentType !== 'text/plain' && contentType !== 'text/html') return false
    if (disposition && disposition !== 'inline') return false
    if (!parentNode) return true
    if (filename && (disposition === 'inline' || position > 0)) return false
    return position === 0 || parentNode.contentType !== 'multipart/related'
  }

  /** Joins the texts. Plain texts are part of the HTML too, unless they are an alternative to it. */
  override getTextContent(): FoundText {
    const texts: string[] = []
    const htmls: { isPlain: boolean; html: string }[] = []
    const visit = (node: Node, isAlternative: boolean) => {
      const { contentType, flow } = node
      const textContent = flow ? unflow(node.textContent ?? '', flow.delSp) : node.textContent
      if (textContent && contentType === 'text/html') htmls.push({ isPlain: false, html: textContent })
      if (textContent && contentType === 'text/plain') {
        texts.push(textContent)
        if (!isAlternative) htmls.push({ isPlain: true, html: textContent })
      }
      for (const child of node.children) visit(child, isAlternative || contentType === 'multipart/alternative')
    }
    if (this.tree) visit(this.tree, false)
    const html = htmls.some(part => !part.isPlain)
      ? htmls.map(part => (part.isPlain ? asHtml(part.html) : part.html)).join('\n')
      : null
    return { type: 'text', text: texts.length > 0 ? texts.join('\n') : null, html }
  }
}

function asHtml(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return `<div style="white-space: pre-wrap">${escaped}</div>`
}
