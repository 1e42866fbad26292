import { Readable } from 'node:stream'
import { GrowingBuffer } from '#lib/files/upload/growing_buffer.ts'
import { makeStorable } from '#lib/json/unstorable_json.ts'
import { parseContentType, safeFilename } from '#lib/mail/attachment_limits.ts'
import { MAX_PARTS } from '#lib/mail/parts/limits.ts'
import { rebuildMessage } from '#lib/receiving/rebuild/rebuild_message.ts'
import { DECLARED, type Declared, MailReader } from './mail_reader.ts'
import type { FoundFile, FoundText, HeaderValues } from './mailparser_types.ts'
import { nameFile } from './name_file.ts'
import type { ParsedFile, ParsedMessage } from './parsed_message.ts'
import { clip, clipText, listAddresses, listHeaders, readMessageId } from './read_fields.ts'

/** The message cannot be parsed, and another try would not help. The error's message says why, in plain words. */
export class UnreadableError extends Error {}

/** Bytes that the parser gets at a time. */
const PIECE = 64 * 1024

/** @throws {UnreadableError} */
export async function readMessage(raw: Uint8Array<ArrayBuffer>): Promise<ParsedMessage> {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
  const { pieces, fields, notes } = rebuildMessage(bytes)
  const cuts = new Set(notes)
  const reader = new MailReader(note => cuts.add(note))
  const source = Readable.from(piecesOf(pieces))
  source.pipe(reader as unknown as NodeJS.WritableStream)
  const files: ParsedFile[] = []
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
    message_id: readMessageId(fields),
    headers: listHeaders(fields, cuts),
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

/** Joins small pieces, since each is a separate step for the parser; large ones are not copied. */
function* piecesOf(chunks: Buffer[]): Iterable<Buffer> {
  let small: Buffer[] = []
  let size = 0
  for (const chunk of chunks) {
    for (let start = 0; start < chunk.length; start += PIECE) {
      const piece = chunk.subarray(start, start + PIECE)
      if (size + piece.length > PIECE) {
        yield small.length === 1 ? (small[0] as Buffer) : Buffer.concat(small)
        small = []
        size = 0
      }
      small.push(piece)
      size += piece.length
    }
  }
  if (size > 0) yield small.length === 1 ? (small[0] as Buffer) : Buffer.concat(small)
}

async function readFile(found: FoundFile, max: number): Promise<ParsedFile> {
  const content = new GrowingBuffer(max)
  for await (const chunk of found.content) content.append(chunk)
  found.release()
  const declared = found.headers.get(DECLARED) as Declared
  const bytes = content.take() as Uint8Array<ArrayBuffer>
  return {
    filename: found.filename ? safeFilename(found.filename) : nameFile(declared.type, bytes),
    content_type: typeOf(declared),
    charset: charsetOf(declared),
    disposition: declared.disposition,
    content_id: found.cid ? clip(found.cid) : null,
    content: bytes,
  }
}

function charsetOf({ type, charset }: Declared): string | null {
  return type.startsWith('text/') && charset && /^[\w.:+-]{1,40}$/.test(charset) ? charset : null
}

/** Returns the type, for a calendar with its method, which says how to treat it (RFC 5546). */
function typeOf({ type, method }: Declared): string {
  if (type === 'text/calendar' && method && /^[A-Za-z-]{1,40}$/.test(method)) return `${type}; method=${method}`
  return parseContentType(type)?.type ?? 'application/octet-stream'
}
