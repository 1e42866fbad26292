import { extractStrings, type StringPart } from '#lib/files/upload/extract_strings.ts'

/** Paths of the content of attachments, in one email or a batch, and of the html in a batch. */
export const mailPaths = [
  ['attachments', '*', 'content'],
  ['*', 'attachments', '*', 'content'],
  ['*', 'html'],
]

/** Stands for text that JSON.parse, or the decoding before it, refuses. */
export const NOT_JSON = 'not JSON'

/** Cuts text into pieces of these lengths, used in turn. */
export async function* cut(bytes: Buffer, lengths: number[]): AsyncGenerator<Buffer> {
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const end = at + (lengths[turn % lengths.length] as number)
    yield bytes.subarray(at, end)
    at = end
  }
}

/** The value from JSON.parse, with every lone surrogate in content replaced and marked, like extraction does. */
export function readWhole(text: Buffer): unknown {
  const value = parse(text)
  mapContents(value, content => (typeof content === 'string' ? extracted(content, content.isWellFormed()) : content))
  return value
}

/** The value from extraction: the parsed skeleton, with each string in place of its placeholder. */
export async function readExtracted(text: AsyncIterable<Buffer>): Promise<unknown> {
  const strings: Buffer[][] = []
  const ended: boolean[] = []
  const whole: boolean[] = []
  const take = ({ index, bytes, is_last, is_well_formed }: StringPart) => {
    if (ended[index]) throw new Error(`a part of string ${index} came after its end`)
    strings[index] ??= []
    strings[index].push(Buffer.from(bytes))
    ended[index] = is_last
    whole[index] = is_well_formed
  }
  try {
    const skeleton = await extractStrings(text, { paths: mailPaths, max_bytes: 20e6, max_strings: 1e6 }, take)
    const value = parse(skeleton.bytes)
    mapContents(value, content => {
      if (typeof content !== 'string') return content
      const index = skeleton.indexOf(content)
      if (index === null || !ended[index]) throw new Error(`${content} was not extracted`)
      return extracted(String(Buffer.concat(strings[index] as Buffer[])), whole[index])
    })
    return value
  } catch (error) {
    if (error instanceof SyntaxError) return NOT_JSON
    throw error
  }
}

function extracted(content: string, is_well_formed = false) {
  return { content: content.toWellFormed(), is_well_formed }
}

function parse(text: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(text))
  } catch {
    return NOT_JSON
  }
}

function mapContents(value: unknown, change: (content: unknown) => unknown): void {
  for (const email of Array.isArray(value) ? value : [value]) {
    if (isObject(email) && Object.hasOwn(email, 'html') && Array.isArray(value)) email.html = change(email.html)
    if (!isObject(email) || !Object.hasOwn(email, 'attachments') || !Array.isArray(email.attachments)) continue
    for (const attachment of email.attachments) {
      if (isObject(attachment) && Object.hasOwn(attachment, 'content')) attachment.content = change(attachment.content)
    }
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
