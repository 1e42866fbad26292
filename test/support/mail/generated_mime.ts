import fc from 'fast-check'

/** A part as its sender meant it. Contents are unique, so that none can be mistaken for another. */
export type MeantFile = { filename: string | null; content_type: string; disposition: string; content: string }
export type MeantMessage = { raw: Buffer; texts: string[]; htmls: string[]; files: MeantFile[]; hasLoss: boolean }

type Leaf = {
  kind: 'text' | 'html' | 'pdf' | 'partial'
  name: boolean
  disposition: '' | 'inline' | 'attachment'
  encoding: '7bit' | 'base64' | 'quoted-printable'
  length: number
  hasNoEmptyLine: boolean
  hasWordsBehind: boolean
}
type Multipart = {
  subtype: 'mixed' | 'alternative' | 'related'
  children: (Leaf | Multipart)[]
  hasOuterBoundary: boolean
  hasEnd: boolean
  hasPreamble: boolean
  hasEpilogue: boolean
  padding: string
}
type Part = Leaf | Multipart

const leaf: fc.Arbitrary<Leaf> = fc.record({
  kind: fc.constantFrom('text', 'text', 'html', 'pdf', 'partial'),
  name: fc.boolean(),
  disposition: fc.constantFrom('', '', 'inline', 'attachment'),
  encoding: fc.constantFrom('7bit', 'base64', 'quoted-printable'),
  // Some are longer than the pieces in which a message is read.
  length: fc.oneof({ weight: 9, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: fc.integer({ min: 900, max: 960 }) }),
  hasNoEmptyLine: fc.boolean(),
  hasWordsBehind: fc.boolean(),
})

const { part } = fc.letrec<{ part: Part; multipart: Multipart }>(tie => ({
  part: fc.oneof({ depthSize: 'small', withCrossShrink: true }, leaf, tie('multipart')),
  multipart: fc.record({
    subtype: fc.constantFrom('mixed', 'alternative', 'related'),
    children: fc.array(tie('part'), { minLength: 1, maxLength: 4 }),
    hasOuterBoundary: fc.boolean(),
    hasEnd: fc.boolean(),
    hasPreamble: fc.boolean(),
    hasEpilogue: fc.boolean(),
    padding: fc.constantFrom('', ' ', '\t', ' \t  ', ' '.repeat(300)),
  }),
}))

/** Messages that break the rules of RFC 2046 5.1 as real senders do, with their correct contents. */
export const mimeMessages: fc.Arbitrary<MeantMessage> = fc
  .tuple(part, fc.constantFrom('\n', '\r\n'))
  .map(([root, end]) => new Writer(end).write(root))

/** Nesting in the sense of RFC 8621 4.1.4: the subtype of the parent, and the position in it. */
type Place = { parent: string | null; position: number; boundary: string | null }

class Writer {
  readonly #end: string
  readonly #meant: Omit<MeantMessage, 'raw'> = { texts: [], htmls: [], files: [], hasLoss: false }
  #count = 0

  constructor(end: string) {
    this.#end = end
  }

  write(root: Part): MeantMessage {
    const entity = this.#entity(root, { parent: null, position: 0, boundary: null })
    const head = ['From: Ann <ann@y.com>', 'Subject: Hello', 'MIME-Version: 1.0']
    return { raw: Buffer.from([...head, ...entity].join(this.#end), 'latin1'), ...this.#meant }
  }

  #entity(node: Part, place: Place): string[] {
    return 'children' in node ? this.#multipart(node, place) : this.#leaf(node, place)
  }

  #multipart(node: Multipart, { boundary: outer }: Place): string[] {
    const { subtype, children, hasPreamble, hasEpilogue, padding } = node
    const isSame = node.hasOuterBoundary && outer !== null
    const boundary = isSame ? outer : `b${this.#count++}`
    const parts = children.flatMap((child, position) => [
      `--${boundary}${padding}`,
      ...this.#entity(child, { parent: subtype, position, boundary }),
    ])
    // Two multiparts with the same boundary can only be distinguished by their ends.
    const hasEnd = node.hasEnd || isSame || children.some(child => 'children' in child && child.hasOuterBoundary)
    const last = hasEnd ? [`--${boundary}--${padding}`, ...(hasEpilogue ? ['behind the parts'] : [])] : []
    const type = `Content-Type: multipart/${subtype}; boundary="${boundary}"`
    return [type, '', ...(hasPreamble ? ['before the parts', '--no delimiter'] : []), ...parts, ...last]
  }

  #leaf(node: Leaf, place: Place): string[] {
    const n = this.#count++
    const kind = place.parent === null && node.kind === 'partial' ? 'text' : node.kind
    const types = { text: 'text/plain', html: 'text/html', pdf: 'application/pdf', partial: 'message/partial' }
    const content_type = types[kind]
    const filename = node.name ? `n${n}.x` : null
    const lines = [
      `first ${n}`,
      ...Array.from({ length: node.length }, (_, i) => `line ${i} of ${n} ${'w'.repeat(60)}`),
    ]
    const isText = isBody(content_type, { ...node, disposition: node.disposition, filename }, place)
    const behind = node.encoding === 'base64' && node.hasWordsBehind ? ['-- ', `words behind ${n}`] : []
    this.#note(content_type, lines, isText, node, filename, behind)
    const named = filename && !node.disposition ? `; name="${filename}"` : ''
    const hasNoEmptyLine = node.hasNoEmptyLine && place.parent !== null
    return [
      `Content-Type: ${content_type}${named}`,
      ...(node.disposition
        ? [`Content-Disposition: ${node.disposition}${filename ? `; filename="${filename}"` : ''}`]
        : []),
      `Content-Transfer-Encoding: ${node.encoding}`,
      ...(hasNoEmptyLine ? [] : ['']),
      ...encode(lines.join(this.#end), node.encoding),
      ...behind,
    ]
  }

  #note(type: string, lines: string[], isText: boolean, node: Leaf, filename: string | null, behind: string[]): void {
    if (!isText) {
      const disposition = node.disposition || 'attachment'
      this.#meant.files.push({ filename, content_type: type, disposition, content: lines.join(this.#end) })
      if (behind.length > 0) this.#meant.hasLoss = true
      return
    }
    const all = type === 'text/html' ? this.#meant.htmls : this.#meant.texts
    all.push([...lines, ...behind].join('\n'))
  }
}

function isBody(type: string, leaf: { disposition: string; filename: string | null }, { parent, position }: Place) {
  if (!type.startsWith('text/') || leaf.disposition === 'attachment') return false
  if (parent === null) return true
  if (leaf.filename && leaf.disposition === 'inline') return false
  return position === 0 || (parent !== 'related' && !leaf.filename)
}

function encode(text: string, encoding: string): string[] {
  // Padded, since words after it would be taken for its continuation.
  const bytes = Buffer.from(text)
  if (encoding === 'base64') return bytes.toString('base64').match(/.{1,76}/g) ?? []
  return text.split(/\r?\n/)
}
