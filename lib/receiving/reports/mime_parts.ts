import { firstValues, readHeader, splitMessage } from '#lib/mail/mime/header.ts'

/** A leaf of the tree of parts, decoded. Header names are in lower case, values unfolded; the first of a name counts. */
export type ReportPart = { type: string; headers: Map<string, string>; text: string }

/** What of a report is read: the notice comes first in it, and what was returned may be as long as it likes. */
const MAX_BYTES = 512 * 1024
const MAX_HEADERS = 64 * 1024
const MAX_PARTS = 32
const MAX_DEPTH = 4

/**
 * The headers of a message and its parts, in order. Lenient, as reports are written by programs that are not: wrong ends
 * of lines, boundaries that never close, encodings that are not kept. What was returned (message/rfc822) is one part,
 * which is not looked into: what it says is somebody else's word. Linear in the bytes that are read.
 */
export function readParts(raw: Uint8Array): { headers: Map<string, string>; parts: ReportPart[] } {
  const parts: ReportPart[] = []
  const { headers, body } = splitHeaders(beginning(raw, MAX_BYTES))
  collect(headers, body, 0, parts)
  return { headers, parts }
}

/** Its headers alone, which tell most messages from a report. */
export function readHeaders(raw: Uint8Array): Map<string, string> {
  return splitHeaders(beginning(raw, MAX_HEADERS)).headers
}

/** The first field of each name, of those that begin a long header, and what follows the header. */
export function splitHeaders(raw: Buffer): { headers: Map<string, string>; body: Buffer } {
  const { header, body } = splitMessage(raw)
  return { headers: firstValues(readHeader(header.subarray(0, MAX_HEADERS))), body }
}

/** A parameter of a structured field, such as the boundary of a Content-Type. */
export function parameterOf(field: string, name: string): string | null {
  const found = new RegExp(`;\\s*${name}\\s*=\\s*(?:"([^"]*)"|([^\\s;]+))`, 'i').exec(field)
  return found?.[1] ?? found?.[2] ?? null
}

/** With LF alone at the end of each line. */
function beginning(raw: Uint8Array, bytes: number): Buffer {
  const text = Buffer.from(raw.buffer, raw.byteOffset, Math.min(raw.byteLength, bytes)).toString('latin1')
  return Buffer.from(text.replace(/\r\n?/g, '\n'), 'latin1')
}

function collect(headers: Map<string, string>, body: Buffer, depth: number, parts: ReportPart[]): void {
  const field = headers.get('content-type') ?? 'text/plain'
  const type = (/^\s*([^\s;]+)/.exec(field)?.[1] ?? 'text/plain').toLowerCase()
  const boundary = type.startsWith('multipart/') ? parameterOf(field, 'boundary') : null
  if (boundary === null) {
    if (parts.length < MAX_PARTS) parts.push({ type, headers, text: decode(headers, body) })
    return
  }
  if (depth === MAX_DEPTH) return
  const split = splitAt(body, boundary)
  // A boundary that is nowhere in it: what there is may still say what became of the message.
  if (split.length === 0 && parts.length < MAX_PARTS) parts.push({ type: 'text/plain', headers, text: body.toString() })
  for (const part of split) {
    const inner = splitHeaders(part)
    collect(inner.headers, inner.body, depth + 1, parts)
  }
}

const LF = 10

/** The parts between lines of a boundary, which may have blanks behind it (RFC 2046 5.1.1). */
function splitAt(body: Buffer, boundary: string): Buffer[] {
  const mark = Buffer.from(`--${boundary}`, 'latin1')
  const parts: Buffer[] = []
  let start = -1
  for (let at = body.indexOf(mark); at !== -1 && parts.length < MAX_PARTS; at = body.indexOf(mark, at + mark.length)) {
    if (at > 0 && body[at - 1] !== LF) continue
    const end = body.indexOf(LF, at)
    const line = end === -1 ? body.length : end
    const rest = body.toString('latin1', at + mark.length, line).trimEnd()
    if (rest !== '' && rest !== '--') continue // a longer boundary, which begins like this one
    if (start !== -1) parts.push(body.subarray(start, at))
    start = rest === '' ? line + 1 : -1
    if (rest !== '') break
  }
  if (start !== -1 && parts.length < MAX_PARTS) parts.push(body.subarray(start))
  return parts
}

function decode(headers: Map<string, string>, body: Buffer): string {
  const encoding = (headers.get('content-transfer-encoding') ?? '').toLowerCase()
  if (encoding.startsWith('base64'))
    return Buffer.from(body.toString('latin1'), 'base64').toString().replace(/\r\n?/g, '\n')
  if (!encoding.startsWith('quoted-printable')) return body.toString()
  const plain = body
    .toString('latin1')
    .replace(/=[ \t]*\n/g, '')
    .replace(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return Buffer.from(plain, 'latin1').toString()
}
