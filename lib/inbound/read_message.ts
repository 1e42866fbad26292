import { Readable } from 'node:stream'
import { parseContentType, safeFilename } from '../attachment.ts'
import { GrowingBuffer } from '../growing_buffer.ts'
import { makeStorable } from '../storable.ts'
import { repairHeaders } from './guess_text.ts'
import { DECLARED, type Declared, MailReader } from './mail_reader.ts'
import type { FoundFile, FoundText, HeaderValues, Line, Mailbox } from './mailparser_types.ts'
import {
  MAX_ENTRIES,
  MAX_HEADERS,
  MAX_PARTS,
  MAX_TEXT,
  type ParsedAddress,
  type ParsedFile,
  type ParsedMessage,
} from './parsed_message.ts'

/** Why a message cannot be read, in plain words: another try would not help. */
export class UnreadableError extends Error {}

/** Of what is fed to the parser at a time. */
const PIECE = 64 * 1024
/** Characters of an address, a name or an id: a line of RFC 5322 is no longer. */
const MAX_WORD = 998

/** @throws {UnreadableError} */
export async function readMessage(raw: Uint8Array<ArrayBuffer>): Promise<ParsedMessage> {
  const reader = new MailReader()
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  const source = Readable.from(piecesOf(repairHeaders(bytes, MAX_HEADERS)))
  source.pipe(reader as unknown as NodeJS.WritableStream)
  const files: ParsedFile[] = []
  const cuts = new Set<string>()
  let body: FoundText | null = null
  try {
    for await (const found of reader) {
      if (found.type === 'attachment') files.push(await readFile(found, raw.length))
      else body = found
    }
  } catch (error) {
    const why = explain(error as NodeJS.ErrnoException)
    if (!reader.headers) throw new UnreadableError(why)
    cuts.add(why)
  } finally {
    source.destroy()
  }
  const head = Object.fromEntries(reader.headers || []) as HeaderValues
  body ??= reader.getTextContent()
  const authors = listAddresses(head.from, cuts)
  return {
    from: authors[0] ?? null,
    authors,
    sender: listAddresses(head.sender, cuts)[0] ?? null,
    to: listAddresses(head.to, cuts),
    cc: listAddresses(head.cc, cuts),
    bcc: listAddresses(head.bcc, cuts),
    reply_to: listAddresses(head['reply-to'], cuts),
    subject: makeStorable(head.subject ?? ''),
    message_id: messageId(reader.headerLines || []),
    headers: listHeaders(reader.headerLines || [], cuts),
    html: clipText(body.html, cuts),
    text: clipText(body.text, cuts),
    files,
    cut: cuts.size > 0 ? [...cuts].join(' ') : null,
  }
}

function explain(error: NodeJS.ErrnoException): string {
  if (error.code !== 'EMAXLEN') return `It could not be read: ${error.message}`
  return /header/i.test(error.message)
    ? 'The headers of a part are longer than 1 MB: what follows was not read.'
    : `It has more than ${MAX_PARTS} parts: what follows was not read.`
}

function* piecesOf(chunks: Buffer[]): Iterable<Buffer> {
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE) yield chunk.subarray(start, start + PIECE)
  }
}

async function readFile(found: FoundFile, max: number): Promise<ParsedFile> {
  const content = new GrowingBuffer(max)
  for await (const chunk of found.content) content.append(chunk)
  found.release()
  const declared = found.headers.get(DECLARED) as Declared
  const { contentDisposition, related, cid } = found
  const isInline = contentDisposition === 'inline' || (!contentDisposition && related && cid)
  return {
    filename: found.filename ? safeFilename(found.filename) : null,
    content_type: typeOf(declared),
    disposition: isInline ? 'inline' : 'attachment',
    content_id: cid ? clip(cid) : null,
    content: content.take() as Uint8Array<ArrayBuffer>,
  }
}

/** How a calendar is to be taken is in its type (RFC 5546). */
function typeOf({ type, method }: Declared): string {
  if (type === 'text/calendar' && method && /^[A-Za-z-]{1,40}$/.test(method)) return `${type}; method=${method}`
  return parseContentType(type)?.type ?? 'application/octet-stream'
}

/** Members of a group stand for themselves. */
function listAddresses(field: { value: Mailbox[] } | { value: Mailbox[] }[] | undefined, cuts: Set<string>) {
  const all = [field ?? []].flat().flatMap(({ value }) => value.flatMap(entry => entry.group ?? [entry]))
  if (all.length > MAX_ENTRIES)
    cuts.add(`It names more than ${MAX_ENTRIES} addresses in a field: the rest is not shown.`)
  return all
    .slice(0, MAX_ENTRIES)
    .map(({ name, address }): ParsedAddress => ({ name: clip(name), address: clip(address ?? '') }))
}

function listHeaders(lines: Line[], cuts: Set<string>): Record<string, string> {
  const values = new Map<string, string[]>()
  for (const { key, line } of lines) {
    const name = clip(key)
    if (name === '') continue // a message without a header has one line of nothing
    const known = values.get(name)
    if (known) known.push(contentOf(line))
    else if (values.size < MAX_ENTRIES) values.set(name, [contentOf(line)])
    else cuts.add(`It has headers of more than ${MAX_ENTRIES} names: the rest is not shown.`)
  }
  return Object.fromEntries(Array.from(values, ([name, all]) => [name, all.join('\n')]))
}

/** The first one as it was written: mailparser would end it in `>`, whatever it is. */
function messageId(lines: Line[]): string | null {
  const found = lines.find(({ key }) => key === 'message-id')
  return (found && clip(contentOf(found.line))) || null
}

function contentOf(line: string): string {
  const text = Buffer.from(line, 'latin1').toString()
  const value = text.slice(text.indexOf(':') + 1).replace(/\r?\n(?=[ \t])/g, '')
  return makeStorable(value.trim())
}

function clipText(text: string | null, cuts: Set<string>): string | null {
  if (!text) return null
  if (text.length > MAX_TEXT) cuts.add(`Its text is longer than ${MAX_TEXT} characters: the rest is not shown.`)
  return makeStorable(text.slice(0, MAX_TEXT))
}

function clip(word: string): string {
  return makeStorable(word.slice(0, MAX_WORD))
}
