import { firstValues, readHeader, splitMessage } from '#lib/mail/mime/header.ts'
import { decodeQuoted, decodeText } from './report_text.ts'

/**
 * A leaf of the tree of parts, decoded. Header names are in lower case, values are unfolded; the first of a repeated name counts.
 */
export type ReportPart = { type: string; headers: Map<string, string>; text: string }

/** Limits of what is read of a report: the notice comes first, and the returned message may be of any length. */
const MAX_BYTES = 512 * 1024
const MAX_HEADERS = 64 * 1024
const MAX_PARTS = 32
const MAX_DEPTH = 4
/** RFC 2046 5.1.1 allows 70 characters. A search for a long one may take minutes in a body that was written for it. */
const MAX_BOUNDARY = 200

/**
 * Returns the headers of a message and its parts, in order. Parsing is lenient, since many programs write incorrect reports:
 * wrong line ends, boundaries that never close, wrong encodings. A returned message (message/rfc822) is one part and is not
 * parsed further, since its parts are not the reporter's. Linear in the bytes that are read.
 */
export function readParts(raw: Uint8Array): { headers: Map<string, string>; parts: ReportPart[] } {
  const parts: ReportPart[] = []
  const { headers, body } = splitHeaders(beginning(raw, MAX_BYTES))
  collect(headers, body, 0, parts)
  return { headers, parts }
}

/** Returns the headers of a message alone, which are enough to tell most messages from reports. */
export function readHeaders(raw: Uint8Array): Map<string, string> {
  return splitHeaders(beginning(raw, MAX_HEADERS)).headers
}

/** Returns the first field of each name, from the beginning of a long header, and the content after the header. */
export function splitHeaders(raw: Buffer): { headers: Map<string, string>; body: Buffer } {
  const { header, body } = splitMessage(raw)
  return { headers: firstValues(readHeader(header.subarray(0, MAX_HEADERS))), body }
}

/** Returns a parameter of a structured field, such as the boundary of a Content-Type. */
export function parameterOf(field: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;]+))`, 'i').exec(field)
  return found?.[1] ?? found?.[2] ?? null
}

/** Returns the beginning of a message with LF alone at the end of each line. */
function beginning(raw: Uint8Array, bytes: number): Buffer {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, bytes)).toString('latin1')
  return Buffer.from(text.replace(/\r\n?/g, '\n'), 'latin1')
}

function collect(headers: Map<string, string>, body: Buffer, depth: number, parts: ReportPart[]): void {
  const field = headers.get('content-type') ?? 'text/plain'
  const type = (/^\s*([^\s;]+)/.exec(field)?.[1] ?? 'text/plain').toLowerCase()
  const boundary = type.startsWith('multipart/') ? (boundaryOf(field) ?? guessBoundary(body)) : null
  if (boundary === null) {
    if (parts.length < MAX_PARTS) parts.push({ type, headers, text: decode(headers, body) })
    return
  }
  if (depth === MAX_DEPTH) return
  const split = splitAt(body, boundary)
  // If the boundary never occurs, the text may still have the notice.
  if (split.length === 0 && parts.length < MAX_PARTS) parts.push({ type: 'text/plain', headers, text: body.toString() })
  for (const part of split) {
    const inner = splitHeaders(part)
    collect(inner.headers, inner.body, depth + 1, parts)
  }
}

function boundaryOf(field: string): string | null {
  const boundary = parameterOf(field, 'boundary')
  return boundary !== null && boundary.length <= MAX_BOUNDARY ? boundary : null
}

/** Returns the boundary of a multipart that names none, for example since its parameter stands on a line of its own. */
function guessBoundary(body: Buffer): string | null {
  return (
    /^--([^\s-][^\n]{0,200}|-{1,200}[^\s-][^\n]{0,200})$/m.exec(body.toString('latin1', 0, 10_000))?.[1]?.trimEnd() ??
    null
  )
}

const LF = 10

/** Splits a body at the lines of a boundary, which may have spaces after it (RFC 2046 5.1.1). */
function splitAt(body: Buffer, boundary: string): Buffer[] {
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Buffer[] = []
  let start = -1
  for (let at = body.indexOf(mark); at !== -1 && parts.length < MAX_PARTS; at = body.indexOf(mark, at + mark.length)) {
    if (at > 0 && body[at - 1] !== LF) continue
    const end = body.indexOf(LF, at)
    const line = end === -1 ? body.length : end
    const rest = body.toString('latin1', at + mark.length, line).trimEnd()
    if (rest !== '' && rest !== '--') continue // a longer boundary with this prefix
    if (start !== -1) parts.push(body.subarray(start, at))
    start = rest === '' ? line + 1 : -1
    if (rest !== '') break
  }
  if (start !== -1 && parts.length < MAX_PARTS) parts.push(body.subarray(start))
  return parts
}

function decode(headers: Map<string, string>, body: Buffer): string {
  const charset = parameterOf(headers.get('content-type') ?? '', 'charset')
  const encoding = (headers.get('content-transfer-encoding') ?? '').toLowerCase()
  if (encoding.startsWith('base64')) {
    return decodeText(Buffer.from(body.toString('latin1'), 'base64'), charset).replace(/\r\n?/g, '\n')
  }
  if (!encoding.startsWith('quoted-printable')) return decodeText(body, charset)
  return decodeText(decodeQuoted(body.toString('latin1').replace(/=[ \t]*\n/g, '')), charset)
}
